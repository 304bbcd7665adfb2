import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import { checkCommands, checkExamples, collectExamples, type Fence } from './support/examples.ts'

const fences = collectExamples()
const isConsole = ({ language }: Fence): boolean => language === 'sh' || language === 'console'
const placeOf = ({ file, line }: Fence): string => `${file}:${line}`
const code = fences.filter(({ language }) => language === 'ts')
const consoles = fences.filter((fence) => isConsole(fence) && !fence.flags.includes('no-run'))

/** Examples that must be found wrong, checked with the others. */
const wrong: ReadonlyArray<readonly [text: string, fault: RegExp]> = [
  ['1 + 1 // => 3', /shows '3', but printed/],
  ['console.log(1) // => 1\nconsole.log(2)', /does not show '2'/],
  ["setTimeout(() => { throw new Error('late') }, 1)", /Error: late/],
  ['process.exit(3)', /ended with 3/],
  ['export {}\nconst a: string = 1', /planted:2 .*not assignable/],
  ["import 'headrace/core/heap'", /Cannot find module/],
]
const planted = wrong.map(([text]): Fence => ({ file: 'planted', line: 1, language: 'ts', flags: [], text }))

describe('what the docs show is true', () => {
  const checked = checkExamples([...code, ...planted], 120_000)

  test('there are examples, and every fence is of a kind that is checked or is no code', () => {
    expect(code.length).toBeGreaterThan(30)
    const data = ['json', 'ndjson', 'http', 'text', 'mermaid', '']
    const others = fences.filter((fence) => fence.language !== 'ts' && !isConsole(fence))
    expect(others.filter(({ language }) => !data.includes(language)).map(placeOf)).toEqual([])
  })

  test.each(code.map((fence, at) => [placeOf(fence), at] as const))('%s', async (_, at) => {
    expect((await checked)[at]).toEqual([])
  })

  const told = wrong.map(([text, fault], at) => [text, fault, at] as const)
  test.each(told)('is told: %s', async (_, fault, at) => {
    expect((await checked)[code.length + at]?.join('\n')).toMatch(fault)
  })

  test.each(consoles.map((fence) => [placeOf(fence), fence.text] as const))('%s', async (_, text) => {
    expect(await checkCommands(text, 240_000)).toEqual([])
  })

  test('a command that shows something else, or fails, is told', async () => {
    expect(await checkCommands('$ echo a b | cat || headrace x\na …', 60_000)).toEqual([])
    expect(await checkCommands('$ echo a b | cat || headrace x\nb', 60_000)).toHaveLength(1)
    expect(await checkCommands('$ false && headrace x', 60_000)).toHaveLength(1)
  })
})

describe('README.md', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
  const ci = readFileSync(new URL('../.ci/run', import.meta.url), 'utf8')

  test('has two set-up commands, and CI runs what they run', () => {
    const commands = readme.split('\n').filter((line) => /^npm (?!install)/.test(line))
    expect(commands).toEqual(['npm ci && npm run demo', 'npm ci && npm test'])
    for (const command of ['npm ci', 'npm run demo', 'npm test']) expect(ci).toContain(command)
  })

  test('names a test for every promise', () => {
    const rows = readme.split('\n').filter((line) => /^\| [^|]+ \|[^|]*\|[^|]*\|$/.test(line))
    const promises = rows.filter((row) => !/^\| *(promise|-+)/i.test(row))
    expect(promises.length).toBeGreaterThanOrEqual(11)
    for (const row of promises) expect(row).toMatch(/`test\//)
  })

  test('names files that are there', () => {
    const named = [...readme.matchAll(/(?:`|\()((?:test|src|docs)\/[\w./-]+)/g)].map(([, path]) => path ?? '')
    const known = (path: string): boolean => {
      try {
        return path.endsWith('/') || readFileSync(new URL(`../${path}`, import.meta.url)).length > 0
      } catch {
        return false
      }
    }
    expect(named.filter((path) => !known(path))).toEqual([])
  })
})

describe('links between the pages', () => {
  const root = new URL('..', import.meta.url)
  const pages = [
    'README.md',
    ...readdirSync(new URL('docs', root), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.md'))
      .map((path) => `docs/${path}`),
  ]
  /** Without code, because `](` stands in code too. */
  const proseOf = (page: string): string =>
    readFileSync(new URL(page, root), 'utf8').replaceAll(/^ *(`{3,})[^]*?^ *\1 *$/gm, '')
  /** The anchors of a page, as GitHub makes them of its headings. */
  const anchorsOf = (page: string): ReadonlyArray<string> =>
    [...proseOf(page).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{Nd}\p{M} _-]/gu, '')
        .replaceAll(' ', '-'),
    )
  const isDead = (page: string, link: string): boolean => {
    const [path = '', anchor] = link.split('#')
    const target = path === '' ? page : posix.join(posix.dirname(page), path)
    if (!existsSync(new URL(target, root))) return true
    return anchor !== undefined && !anchorsOf(target).includes(anchor)
  }
  const linksOf = (page: string): ReadonlyArray<string> =>
    [...proseOf(page).matchAll(/\]\((?![a-z]+:)([^)\s]+)\)/g)].map(([, link = '']) => link)

  test.each(pages)('%s', (page) => expect(linksOf(page).filter((link) => isDead(page, link))).toEqual([]))

  test('a dead link is found', () => {
    for (const to of ['docs/none.md', 'docs/cli.md#none', '#none']) expect(isDead('README.md', to)).toBe(true)
    expect(isDead('docs/cli.md', '../README.md#read-on')).toBe(false)
  })

  test('README.md has at most 200 lines and leads to every page', () => {
    const readme = proseOf('README.md')
    expect(readFileSync(new URL('README.md', root), 'utf8').split('\n').length).toBeLessThanOrEqual(201)
    for (const page of pages) if (page !== 'README.md') expect(readme).toMatch(new RegExp(`[(\`]${page}`))
  })
})
