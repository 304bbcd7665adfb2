import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const root = new URL('../', import.meta.url)
const readme = readFileSync(new URL('README.md', root), 'utf8')

describe('README.md', () => {
  it('names files that are there', () => {
    const named = [...readme.matchAll(/(?:`|\()((?:test|src|docs)\/[\w./-]+)/g)].map(([, path]) => path ?? '')
    expect(named.length).toBeGreaterThan(15)
    expect(named.filter((path) => !existsSync(new URL(path, root)))).toEqual([])
  })

  it('has exactly two commands to set it up', () => {
    const commands = readme.split('\n').filter((line) => line.startsWith('npm '))
    expect(commands).toEqual(['npm ci && npm run demo', 'npm ci && npm test'])
  })

  it('has a test for every promise', () => {
    const rows = readme.split('\n').filter((line) => /^\| [^|]+ \|[^|]*\|[^|]*\|$/.test(line))
    const promises = rows.filter((row) => !/^\| *(promise|-+)/.test(row))
    expect(promises.length).toBeGreaterThanOrEqual(11)
    for (const row of promises) expect(row).toMatch(/`test\//)
  })
})
