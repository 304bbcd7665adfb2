import * as fc from 'fast-check'
import { isLeft } from 'fp-ts/lib/Either.js'
import { copyFileSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { refused } from '../../src/core/failure.ts'
import { rejected } from '../../src/core/outcome.ts'
import { fileFault } from '../../src/outbox/lmdb/fileCheck.ts'
import { openLmdbOutbox } from '../../src/outbox/lmdb/lmdbOutbox.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { newFolder, textCodec } from '../support/folder.ts'
import { sized } from '../support/runs.ts'
import { data, faultOf, lmdb, no, open, yes } from './lmdbKit.ts'

const opening = (path: string) => openLmdbOutbox<string>({ path, codec: textCodec })

describe('a file that is not a whole store is refused and not changed', () => {
  it.each([
    ['a text', 'hello', 'notAnOutbox', 'was not written by headrace: give the outbox a folder of its own'],
    ['a long text', 'hello '.repeat(10_000), 'notAnOutbox', 'was not written by headrace'],
    ['zeros', '\0'.repeat(20_000), 'notAnOutbox', 'was not written by headrace'],
    ['empty', '', 'damaged', 'is empty: it was left as it is; bring back a copy'],
  ])('%s', (_, text, reason, message) => {
    const path = newFolder()
    writeFileSync(data(path), text)
    expect(faultOf(path)).toMatchObject({ reason })
    expect(faultOf(path)?.message).toContain(`${data(path)} ${message}`)
    expect(readFileSync(data(path), 'utf8')).toBe(text)
    expect(readdirSync(path)).not.toContain('headrace.lock')
  })

  it('one that ends too early, wherever: it is refused, or no record is missing', async () => {
    const whole = newFolder()
    const outbox = open(whole)
    // Some of them stand on pages of their own.
    await outbox.enqueue(Array.from({ length: 300 }, (_, at) => `${String(at)} ${'x'.repeat(at * 20)}`))
    const dead = await outbox.lease(0, { count: 3, retries: 0 })
    await outbox.ack(dead.map(no))
    await outbox.close()
    const { size } = statSync(data(whole))
    let refusals = 0
    const run = async (share: number): Promise<void> => {
      const path = newFolder()
      copyFileSync(data(whole), data(path))
      truncateSync(data(path), Math.floor(size * share))
      const opened = opening(path)
      if (isLeft(opened)) {
        expect(['damaged', 'notAnOutbox']).toContain(opened.left.reason)
        expect(statSync(data(path)).size).toBe(Math.floor(size * share))
        refusals++
        return
      }
      expect(await opened.right.lease(0, { count: 1_000, retries: 0 })).toHaveLength(297)
      expect((await opened.right.dead.list()).map(({ reason }) => reason)).toEqual(dead.map(() => 'ended'))
      await opened.right.close()
    }
    await fc.assert(fc.asyncProperty(fc.double({ min: 0, max: 1, noNaN: true }), run), { numRuns: 50 })
    expect(refusals).toBeGreaterThan(25)
  })

  it('but a sound file may end before its last page, and is not refused', async () => {
    const path = newFolder()
    const how = { noSubdir: false, encoding: 'binary', overlappingSync: false } as const
    const env = lmdb.open<Buffer, number>({ path, ...how })
    const trees = [0, 1].map((at) => env.openDB<Buffer, number>(`tree ${String(at)}`, { encoding: 'binary' }))
    const random = seededRandom(1)
    let short = 0
    let key = 0
    for (let round = 0; round < sized({ short: 40, full: 200, long: 1_000 }); round++) {
      await env.transaction(() => {
        const from = key
        for (; key < from + 30; key++)
          trees[key % 2]?.putSync(key, Buffer.alloc(Math.floor(random() * 9_000), 1))
        for (let gone = from; gone < key; gone++) if (random() < 0.9) trees[gone % 2]?.removeSync(gone)
      })
      const bytes = readFileSync(data(path))
      const lastPage = Math.max(...[24, 4_096 + 24].map((at) => Number(bytes.readBigUInt64LE(at + 120))))
      if (bytes.length < (lastPage + 1) * 4_096) short++
      expect(fileFault(data(path))).toBe(undefined)
      const cut = join(newFolder(), 'cut')
      copyFileSync(data(path), cut)
      truncateSync(cut, 3 * 4_096)
      expect(fileFault(cut)).toEqual({ reason: 'damaged', what: 'is shorter than it was' })
    }
    expect(short).toBeGreaterThan(3)
    await env.close()
  })
})

it('H6 H17: a flipped bit costs the store, which is refused, or its record', async () => {
  const whole = newFolder()
  const before = open(whole)
  await before.enqueue(Array.from({ length: 40 }, (_, at) => `item ${String(at)}`))
  const leased = await before.lease(0, { count: 40, retries: 0 })
  await before.nack(leased.map((entry, at) => ({ entry, due: 1e12 + at })))
  await before.close()
  const bytes = readFileSync(data(whole))
  // The page of the retries in the last transaction, and the meta pages.
  const page = 4_096 * Math.floor(bytes.lastIndexOf('item 0') / 4_096)
  const random = seededRandom(1)
  for (let turn = 0; turn < sized({ short: 300, full: 1_000, long: 10_000 }); turn++) {
    const at = turn % 4 === 0 ? Math.floor(random() * 8_192) : page + Math.floor(random() * 4_096)
    const changed = Buffer.from(bytes)
    changed[at] = (changed[at] ?? 0) ^ (1 << Math.floor(random() * 8))
    const path = newFolder()
    writeFileSync(data(path), changed)
    const opened = opening(path)
    if (isLeft(opened)) expect(['damaged', 'notAnOutbox']).toContain(opened.left.reason)
    else {
      const outbox = opened.right
      // In turn: of two with one number, the second comes after the first.
      for (let left = 0; left < 3; left++)
        await outbox.ack((await outbox.lease(1e14, { count: 50, retries: 50 })).map(yes))
      // After the writes of corrupt records.
      await outbox.addDeadLetter('last', rejected('last', 1, refused('status')))
      expect([at, outbox.stats().waiting, outbox.nextDue()]).toEqual([at, 0, undefined])
      await outbox.close()
    }
  }
})

it('H5: a sound store is never refused, whatever was done with it', async () => {
  const step = fc.record({
    enqueue: fc.array(fc.oneof(fc.nat(3_000), fc.nat(40_000)), { maxLength: 60 }),
    times: fc.nat(4),
    lease: fc.nat(100),
    end: fc.double({ min: 0, max: 1, noNaN: true }),
    due: fc.nat(1e9),
    purge: fc.boolean(),
    reopen: fc.boolean(),
  })
  const property = fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
    const path = newFolder()
    let outbox = open(path, { keepDead: 40 })
    for (const { enqueue, times, lease, end, due, purge, reopen } of steps) {
      for (let time = 0; time < times; time++) await outbox.enqueue(enqueue.map((size) => 'x'.repeat(size)))
      const leased = await outbox.lease(1e9, { count: lease, retries: lease })
      const ended = leased.slice(0, Math.floor(end * leased.length))
      await outbox.ack(ended.map((entry, at) => (at % 3 === 0 ? no(entry) : yes(entry))))
      await outbox.nack(leased.slice(ended.length).map((entry, at) => ({ entry, due: at % 7 ? due : -0 })))
      if (purge) await outbox.dead.purge(() => true)
      expect(fileFault(data(path))).toBe(undefined)
      if (!reopen) continue
      await outbox.close()
      outbox = open(path, { keepDead: 40 })
    }
    await outbox.close()
    rmSync(path, { recursive: true })
  })
  await fc.assert(property, { numRuns: sized({ short: 10, full: 100, long: 1_000 }) })
})
