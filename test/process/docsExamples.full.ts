/** The programs of docs/examples: each compiles, prints what its comments show, and ends by itself. */
import { readFileSync, readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { checkExamples, type Fence } from '../support/examples.ts'

const folder = fileURLToPath(new URL('../../docs/examples/', import.meta.url))
const files = readdirSync(folder).filter((file) => file.endsWith('.ts'))
const programs = files.map((file): Fence => {
  return { file, line: 1, language: 'ts', flags: [], text: readFileSync(folder + file, 'utf8') }
})

describe('docs/examples', () => {
  // They run one after the other, each in a process of its own, so that no example sees what another one left.
  const checked = checkExamples(programs, 120_000, { programs: true })

  test('there are eleven, each shorter than 90 lines and listed in the README', () => {
    expect(files).toHaveLength(11)
    const readme = readFileSync(`${folder}README.md`, 'utf8')
    for (const { file, text } of programs) {
      expect(text.split('\n').length).toBeLessThan(90)
      expect(readme).toContain(`(${file})`)
    }
  })

  test.each(files.map((file, at) => [file, at] as const))('%s', async (_, at) => {
    expect((await checked)[at]).toEqual([])
  })
})
