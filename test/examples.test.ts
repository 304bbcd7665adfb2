import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { checkExamples } from './examples/check.ts'
import { collect } from './examples/collect.ts'
import { checkCommands } from './examples/commands.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const fences = collect(root)
const isCode = (language: string): boolean => language === 'ts'
const isConsole = (language: string): boolean => language === 'sh' || language === 'console'
const placeOf = ({ file, line }: { file: string; line: number }): string => `${file}:${line}`

const code = fences.filter(({ language }) => isCode(language))
const consoles = fences.filter(({ language, flags }) => isConsole(language) && !flags.includes('no-run'))

describe('what the docs show is true', () => {
  let faults: ReadonlyArray<ReadonlyArray<string>> = []

  beforeAll(async () => {
    expect(existsSync(`${root}dist/index.js`), 'the package is built: npm run build').toBe(true)
    faults = await checkExamples(code, { limit: 20_000, children: 2 })
  }, 300_000)

  test('every fence is of a kind that is checked, or is not code', () => {
    const data = ['json', 'ndjson', 'http', 'text', 'mermaid', '']
    const others = fences.filter(({ language }) => !isCode(language) && !isConsole(language))
    expect(others.filter(({ language }) => !data.includes(language)).map(placeOf)).toEqual([])
  })

  test('what a line is said to print is said with =>, so that it is compared', () => {
    const unproved = /\bconsole\.log\(.*\/\/ (?!=>)/
    const lines = code.flatMap((fence) => fence.text.split('\n').map((line) => `${placeOf(fence)} ${line}`))
    expect(lines.filter((line) => unproved.test(line))).toEqual([])
  })

  test('every example has a verdict', () => {
    expect(code.length).toBeGreaterThan(0)
    expect(faults).toHaveLength(code.length)
  })

  test.each(code.map((fence, at) => [placeOf(fence), at] as const))('%s', (_, at) => {
    expect(faults[at]).toEqual([])
  })

  test.each(consoles.map((fence) => [placeOf(fence), fence.text] as const))('%s', async (_, text) => {
    expect(await checkCommands(text, 50_000)).toEqual([])
  })
})

describe('what the README tells people to type', () => {
  const typed = fences
    .filter(({ file, language }) => file === 'README.md' && isConsole(language))
    .flatMap(({ text }) => text.split(/\n|&&/))
    .map((line) => line.replace(/#.*$/, '').trim())
    .filter((line) => /^npm (ci|test|run)\b/.test(line))
  const ci = readFileSync(`${root}.ci/run`, 'utf8')

  test('is two set-up commands: one for the main job, one for the tests', () => {
    expect(typed).toEqual(expect.arrayContaining(['npm ci', 'npm run demo', 'npm test']))
  })

  test.each([...new Set(typed)])('is run in CI: %s', (line) => {
    expect(ci).toContain(line)
  })
})
