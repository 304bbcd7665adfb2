// The site of these pages: `npm install --no-save vitepress@1.6.4 && npx vitepress build docs`. Its first page is README.md.
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const docs = fileURLToPath(new URL('..', import.meta.url))
const readme = readFileSync(`${docs}../README.md`, 'utf8')
// The tests are no pages of the site.
const page = readme.replaceAll(/\[(`test\/[^\]]+)\]\([^)]+\)/g, '$1')
writeFileSync(`${docs}index.md`, page.replaceAll('](docs/', '](').replaceAll('](../', ']('))

// Programs that pages link to are files of the site as they are.
const FILES = ['receivers', 'examples', 'images']
process.env.VITE_EXTRA_EXTENSIONS = 'py,go,php,ndjson'

const section = (text, ...pages) => ({
  text,
  items: pages.map((page) => ({ text: page, link: `/${page === 'examples' ? 'examples/README' : page}` })),
})

export default {
  title: 'headrace',
  description: 'Delivers user-data events from inside a Node application',
  // A page elsewhere sets it, such as /headrace/.
  base: process.env.SITE_BASE ?? '/',
  lastUpdated: false,
  markdown: {
    config: (md) => {
      md.core.ruler.push('site', ({ tokens }) => {
        for (const token of tokens.flatMap(({ children }) => children ?? [])) {
          const href = token.attrGet('href')
          if (href === null || token.type !== 'link_open') continue
          if (/^(\.\.\/)+README\.md/.test(href)) token.attrSet('href', '/')
          // A folder of an example has its program in it.
          if (href === 'sqlite') token.attrSet('href', 'sqlite/sqliteOutbox.ts')
        }
      })
    },
  },
  buildEnd: ({ outDir }) => {
    for (const folder of FILES) cpSync(`${docs}${folder}`, `${outDir}/${folder}`, { recursive: true })
  },
  themeConfig: {
    search: { provider: 'local' },
    nav: [{ text: 'Reference', link: '/reference/', target: '_self' }],
    sidebar: [
      section('Start', 'tutorial', 'migrate', 'faq', 'examples'),
      section('Send', 'destination', 'receivers', 'client', 'policies'),
      section('Receive', 'collector', 'audiences', 'brokers'),
      section('Compose', 'pipelines', 'sinks', 'schema'),
      section('Keep', 'outbox', 'scale'),
      section('Operate', 'deploy', 'frameworks', 'observability', 'inspector', 'cli', 'security', 'cases'),
      section('Test', 'testing', 'laws'),
      section('More', 'performance', 'bundling', 'changelog', 'decisions', 'architecture', 'contributing'),
    ],
  },
}
