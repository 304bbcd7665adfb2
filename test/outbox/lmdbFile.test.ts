/** The file of an lmdb outbox: damage, the lock of the folder, and a disk that is full. */
import * as fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { spawn, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type * as Lmdb from 'lmdb'
import { describe, expect, it, onTestFinished } from 'vitest'
import { refused } from '../../src/core/failure.ts'
import { delivered, rejected } from '../../src/core/outcome.ts'
import { groupCommit } from '../../src/outbox/lmdb/commit.ts'
import { fileFault } from '../../src/outbox/lmdb/fileCheck.ts'
import { lmdbOutbox, openLmdbOutbox } from '../../src/outbox/lmdb/lmdbOutbox.ts'
import { lock } from '../../src/outbox/lmdb/lock.ts'
import type { Store } from '../../src/outbox/lmdb/store.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { newFolder, textCodec } from '../support/folder.ts'
import { sized } from '../support/runs.ts'

const data = (path: string): string => join(path, 'data.mdb')
const faultOf = (path: string) => {
  const opened = openLmdbOutbox<string>({ path, codec: textCodec })
  return isLeft(opened) ? opened.left : undefined
}

// `require` has no types; these describe the package.
const lmdb = createRequire(import.meta.url)('lmdb') as typeof Lmdb

describe('a file that is not a whole store is refused and not changed', () => {
  it.each([
    ['a text', 'hello', 'notAnOutbox', 'was not written by headrace'],
    ['a long text', 'hello '.repeat(10_000), 'notAnOutbox', 'was not written by headrace'],
    ['zeros', '\0'.repeat(20_000), 'notAnOutbox', 'was not written by headrace'],
    ['empty', '', 'damaged', 'is shorter than it was: it was left as it is; bring back a copy'],
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
    const outbox = lmdbOutbox<string>({ path: whole, codec: textCodec })
    // Some of them stand on pages of their own.
    await outbox.enqueue(Array.from({ length: 300 }, (_, at) => `${String(at)} ${'x'.repeat(at * 20)}`))
    const dead = await outbox.lease(0, { count: 3, retries: 0 })
    await outbox.ack(dead.map((entry) => ({ entry, outcome: rejected(entry.item, 1, refused('status')) })))
    await outbox.close()
    const { size } = statSync(data(whole))
    let refusals = 0
    const run = async (share: number): Promise<void> => {
      const path = newFolder()
      copyFileSync(data(whole), data(path))
      truncateSync(data(path), Math.floor(size * share))
      const opened = openLmdbOutbox<string>({ path, codec: textCodec })
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
    const env = lmdb.open<Buffer, number>({
      path,
      noSubdir: false,
      encoding: 'binary',
      overlappingSync: false,
    })
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
  const before = lmdbOutbox<string>({ path: whole, codec: textCodec })
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
    const opened = openLmdbOutbox<string>({ path, codec: textCodec })
    if (isRight(opened)) {
      const outbox = opened.right
      // In turn: of two with one number, the second comes after the first.
      for (let left = 0; left < 3; left++) {
        const entries = await outbox.lease(1e14, { count: 50, retries: 50 })
        const end = ({ item }: { readonly item: string }) => delivered(item, 1, { sink: 'a' })
        await outbox.ack(entries.map((entry) => ({ entry, outcome: end(entry) })))
      }
      // After the writes of corrupt records.
      await outbox.addDeadLetter('last', rejected('last', 1, refused('status')))
      expect([at, outbox.stats().waiting, outbox.nextDue()]).toEqual([at, 0, undefined])
      await outbox.close()
    } else expect(['damaged', 'notAnOutbox']).toContain(opened.left.reason)
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
  const history = fc.array(step, { minLength: 1, maxLength: 12 })
  const property = fc.asyncProperty(history, async (steps) => {
    const path = newFolder()
    const open = () => lmdbOutbox<string>({ path, codec: textCodec, keepDead: 40 })
    let outbox = open()
    for (const { enqueue, times, lease, end, due, purge, reopen } of steps) {
      for (let time = 0; time < times; time++) await outbox.enqueue(enqueue.map((size) => 'x'.repeat(size)))
      const leased = await outbox.lease(1e9, { count: lease, retries: lease })
      const ended = leased.slice(0, Math.floor(end * leased.length))
      const isDead = (at: number): boolean => at % 3 === 0
      await outbox.ack(
        ended.map((entry, at) => {
          const { item } = entry
          const outcome = isDead(at)
            ? rejected(item, 1, refused('status'))
            : delivered(item, 1, { sink: 'a' })
          return { entry, outcome }
        }),
      )
      await outbox.nack(leased.slice(ended.length).map((entry, at) => ({ entry, due: due + (at % 7) })))
      if (purge) await outbox.dead.purge(() => true)
      expect(fileFault(data(path))).toBe(undefined)
      if (!reopen) continue
      await outbox.close()
      outbox = open()
    }
    await outbox.close()
    rmSync(path, { recursive: true })
  })
  const numRuns = sized({ short: 10, full: 100, long: 1_000 })
  await fc.assert(property, { numRuns })
})

describe('the lock of a folder', () => {
  const file = (path: string): string => join(path, 'headrace.lock')
  const startOf = (pid: number): string | undefined =>
    readFileSync(`/proc/${String(pid)}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ')[19]
  const write = (path: string, holder: object | string): void =>
    writeFileSync(file(path), typeof holder === 'string' ? holder : JSON.stringify(holder))
  const NOW = Date.now()
  const since = new Date(NOW).toISOString()

  it('is taken once, and again after its release', () => {
    const path = newFolder()
    const first = lock(path, NOW)
    expect(lock(path, NOW)).toEqual({
      _tag: 'Left',
      left: `by this process, since ${since}: close it first, or share it`,
    })
    if (isRight(first)) first.right()
    expect(existsSync(file(path))).toBe(false)
    expect(isRight(lock(path, NOW))).toBe(true)
  })

  it('names another process that holds it', () => {
    const path = newFolder()
    const other = spawn('sleep', ['60'])
    onTestFinished(() => {
      other.kill()
    })
    const pid = other.pid ?? 0
    write(path, { pid, started: startOf(pid), since })
    const refusal = lock(path, NOW)
    expect(refusal).toMatchObject({
      left: `by process ${String(pid)}, since ${since}: end that process, or use another folder (if it is no process of headrace, delete ${file(path)})`,
    })
    // The same number, and another process by now.
    write(path, { pid, started: '1', since })
    expect(isRight(lock(path, NOW))).toBe(true)
  })

  it('of a process that ended is taken over', () => {
    const path = newFolder()
    write(path, { pid: spawnSync('true').pid, since })
    expect(isRight(lock(path, NOW))).toBe(true)
    expect(readdirSync(path)).toEqual(['headrace.lock'])
  })

  it('without a process in it is being written, or was left by a power failure', () => {
    const path = newFolder()
    for (const text of ['', '{}', 'null', '\0\0\0']) {
      write(path, text)
      expect(lock(path, NOW)).toEqual({ _tag: 'Left', left: 'by a process that is starting: try again' })
      utimesSync(file(path), NOW / 1_000 - 60, NOW / 1_000 - 60)
      expect(isRight(lock(path, NOW))).toBe(true)
    }
  })

  it('is not released after another process took it', () => {
    const path = newFolder()
    const mine = lock(path, NOW)
    write(path, { pid: 1, since })
    if (isRight(mine)) mine.right()
    expect(existsSync(file(path))).toBe(true)
  })
})

describe('a disk that is full', () => {
  /** A store whose transactions fail as often as `fails` says. */
  const failing = (path: string, fails: () => boolean): Store => {
    let values = new Map<string, string>()
    const fake = {
      path,
      env: {
        childTransaction: async (write: () => void): Promise<void> => {
          await Promise.resolve()
          const before = new Map(values)
          write()
          if (!fails()) return
          values = before
          // lmdb gives the cause in a promise of its own.
          throw Object.assign(new Error('Commit failed'), {
            commitError: Promise.reject(new Error('No space left on device')),
          })
        },
        resetReadTxn: () => undefined,
      },
      meta: {
        get: (key: string) => values.get(key),
        putSync: (key: string, value: string) => values.set(key, value),
      },
    }
    // All that the group commit uses of a store.
    return fake as unknown as Store
  }

  const answers = async (asked: ReadonlyArray<Promise<unknown>>) =>
    (await Promise.allSettled(asked)).map((each) =>
      each.status === 'fulfilled' ? each.value : String(each.reason),
    )

  it('refuses what is new, and writes what ends items one by one', async () => {
    let transactions = 0
    const path = newFolder()
    const commits = groupCommit(failing(path, () => ++transactions === 1))
    const write = (name: string, grows: boolean) => commits.write(1, grows, () => () => name)
    expect(await answers([write('new', true), write('ended', false), write('ended too', false)])).toEqual([
      `Error: the outbox in ${path} could not write (is its disk full?): No space left on device`,
      'ended',
      'ended too',
    ])
    expect(await write('new again', true)).toBe('new again')
    expect(transactions).toBe(4)
  })

  it('rejects all that finds no room, and counts nothing of it', async () => {
    const commits = groupCommit(failing(newFolder(), () => true))
    const write = (grows: boolean) =>
      commits.write(1, grows, (counters) => {
        counters.waiting++
        return () => 'written'
      })
    const told = await answers([write(true), write(false), write(false)])
    for (const each of told) expect(each).toContain('No space left on device')
    expect(commits.counters().waiting).toBe(0)
    await commits.end()
    await expect(write(false)).rejects.toThrow('is closed')
  })
})
