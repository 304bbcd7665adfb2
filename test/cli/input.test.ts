import { appendFileSync, renameSync, writeFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { markFromText, markToText, openInput, type Cursor } from '../../src/cli/input.ts'
import { forAll } from '../support/check.ts'
import { headrace, hostOf, scratch } from './inProcess.ts'

const read = async (path: string, from?: Cursor) => {
  const input = await openInput(path, hostOf())
  const found: Array<{ readonly line: number; readonly value: unknown; readonly mark: Cursor }> = []
  for await (const each of input.lines(new AbortController().signal, from)) {
    const mark = input.mark?.()
    if (mark !== undefined && each._tag === 'Right')
      found.push({ line: (from?.line ?? 0) + each.right.line, value: each.right.value, mark })
  }
  return found
}

const has = async (path: string, mark: Cursor): Promise<boolean | undefined> =>
  (await openInput(path, hostOf())).has?.(mark)

it('reads on behind the mark of any line', async () => {
  const path = `${scratch()}/in.ndjson`
  // Long lines cross the chunks of the file, and empty and bad ones count.
  const line = fc.oneof(
    fc.string({ maxLength: 20 }).map((text) => JSON.stringify(text)),
    fc.nat(70_000).map((length) => JSON.stringify('x'.repeat(length))),
    fc.constantFrom('', 'oops', ' '),
  )
  const written = fc.array(line, { minLength: 1, maxLength: 8 })
  const readsOn = fc.asyncProperty(written, fc.boolean(), async (lines, isCut) => {
    writeFileSync(path, lines.join('\n') + (isCut ? '' : '\n'))
    const all = await read(path)
    for (const [at, { mark }] of all.entries())
      expect([await has(path, mark), await read(path, mark)]).toEqual([true, all.slice(at + 1)])
  })
  await fc.assert(readsOn, { numRuns: 30 })
})

it('knows a mark of another file, and of one that has changed', async () => {
  const path = `${scratch()}/in.ndjson`
  writeFileSync(path, '1\n2\n3\n')
  const mark = (await read(path))[1]?.mark
  if (mark === undefined) throw new Error('it has three lines')
  appendFileSync(path, '4\n')
  expect(await has(path, mark)).toBe(true)
  for (const changed of ['1\n9\n3\n', '1\n']) {
    writeFileSync(path, changed)
    expect(await has(path, mark)).toBe(false)
  }
  writeFileSync(`${path}.new`, '1\n2\n3\n')
  renameSync(`${path}.new`, path)
  expect(await has(path, mark)).toBe(false)
})

it('writes a mark as text and reads it back', () => {
  const inode = fc.bigInt({ min: 0n, max: 2n ** 64n }).map(String)
  const numbers = { line: fc.nat(), offset: fc.maxSafeNat(), checksum: fc.nat() }
  forAll(fc.record({ ...numbers, inode, isEnd: fc.boolean() }), (each) => {
    expect(markFromText(markToText(each))).toEqual(each)
  })
  for (const text of ['', '1 2 3', 'all:1:2', '1 2 3 4 5']) expect(markFromText(text)).toBeUndefined()
})

it('names a JSON document that is not NDJSON', async () => {
  for (const input of ['{\n  "a": 1\n}\n', '[{"a":1},\n{"a":2}]\n']) {
    const { stderr, code } = await headrace(['send', '--to', 'http://127.0.0.1:9/'], { input })
    expect(`${code} ${stderr}`).toMatch(/^4 refused +line 1 +not JSON .*one JSON document over several/)
  }
})
