import { copyFileSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type * as Lmdb from 'lmdb'
import { expect, it } from 'vitest'
import { seededRandom } from '../../../src/testing/random.ts'
import { fileFault } from '../../../src/outbox/lmdb/opening/fileFault.ts'
import { newFolder } from './grounds.ts'

// `require` has no types; this is the package that they describe.
const lmdb = createRequire(import.meta.url)('lmdb') as typeof Lmdb

const PAGE = 4_096
const META = 24

/** Pages up to the last that was ever used, by the newer of the two first pages. */
const pagesOf = (file: string): number => {
  const bytes = readFileSync(file)
  const [older, newer] = [META, PAGE + META]
    .map((at) => ({ transaction: bytes.readBigUInt64LE(at + 128), last: bytes.readBigUInt64LE(at + 120) }))
    .sort((a, b) => Number(a.transaction - b.transaction))
  return Number((newer ?? older)?.last ?? 0n) + 1
}

it('tells a file that was cut from one with a hole behind its last page, which a sound one may have', async () => {
  const random = seededRandom(11)
  const path = newFolder()
  const file = join(path, 'data.mdb')
  const cut = join(path, 'cut')
  const env = lmdb.open<Buffer, number>(path, {
    overlappingSync: false,
    eventTurnBatching: false,
    encoding: 'binary',
  })
  expect(statSync(file).size % PAGE).toBe(0)
  const trees = [0, 1].map((at) => env.openDB<Buffer, number>(`tree ${at}`, { encoding: 'binary' }))
  let holes = 0
  let key = 0
  for (let round = 0; round < 200; round++) {
    await env.transaction(() => {
      const from = key
      for (; key < from + 30; key++)
        trees[key % 2]?.putSync(key, Buffer.alloc(Math.floor(random() * 9_000), 1))
      for (let gone = from; gone < key; gone++) if (random() < 0.9) trees[gone % 2]?.removeSync(gone)
    })
    const { size } = statSync(file)
    if (size < pagesOf(file) * PAGE) holes++
    expect(fileFault(file)).toBe(undefined)
    // The last page that is there was written, so something needs it, or did before this transaction.
    copyFileSync(file, cut)
    truncateSync(cut, PAGE * 3)
    expect(fileFault(cut)).toEqual({ reason: 'damaged', what: 'is shorter than it was' })
  }
  expect(holes).toBeGreaterThan(20)
  await env.close()
  rmSync(path, { recursive: true })
})
