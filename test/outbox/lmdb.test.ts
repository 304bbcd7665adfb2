/** What lmdbOutbox does beyond the laws of an outbox: group commit, bounds, bookmarks, owners, corrupt records, options. */
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { copyFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type * as Lmdb from 'lmdb'
import { describe, expect, it } from 'vitest'
import type { Clock } from '../../src/core/clock.ts'
import { messageOf, refused, retryable } from '../../src/core/failure.ts'
import { delivered, rejected } from '../../src/core/outcome.ts'
import { OutboxError } from '../../src/outbox/lmdb/contract.ts'
import type { ItemCodec, LmdbOutbox, LmdbOutboxOptions } from '../../src/outbox/lmdb/contract.ts'
import { lmdbOutbox, openLmdbOutbox } from '../../src/outbox/lmdb/lmdbOutbox.ts'
import type { Entry } from '../../src/outbox/outbox.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { newFolder, textCodec } from '../support/folder.ts'

const codec: ItemCodec<string> = textCodec

const open = (path: string, options: Partial<LmdbOutboxOptions<string>> = {}): LmdbOutbox<string> =>
  lmdbOutbox<string>({ path, codec, ...options })

const faultOf = (path: string, options: Partial<LmdbOutboxOptions<string>> = {}) => {
  const opened = openLmdbOutbox<string>({ path, codec, ...options })
  return isLeft(opened) ? opened.left : undefined
}

const some = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, at) => `item ${String(at)}`)

const ALL = { count: 10_000, retries: 10_000 }
const all = async (outbox: LmdbOutbox<string>): Promise<ReadonlyArray<Entry<string>>> =>
  outbox.lease(Number.MAX_VALUE, ALL)

const yes = (entry: Entry<string>) => ({ entry, outcome: delivered(entry.item, 1, { sink: 'a' }) })
const no = (entry: Entry<string>) => ({ entry, outcome: rejected(entry.item, 1, refused('status')) })

/** The transactions so far: the number in the newer of the two meta pages. */
const transactions = (path: string): number => {
  const bytes = readFileSync(join(path, 'data.mdb'))
  return Math.max(...[24, 4_096 + 24].map((at) => Number(bytes.readBigUInt64LE(at + 128))))
}

// `require` has no types; these describe the package.
const lmdb = createRequire(import.meta.url)('lmdb') as typeof Lmdb

/** Changes a closed store behind the back of the outbox. */
const tamper = async (path: string, change: (env: Lmdb.RootDatabase) => void): Promise<void> => {
  const env = lmdb.open({ path, noSubdir: false, encoding: 'binary', maxDbs: 8 })
  change(env)
  await env.close()
}

describe('group commit', () => {
  it('makes one transaction of a synchronous burst, of each list, and of what comes at the same time', async () => {
    const path = newFolder()
    const outbox = open(path)
    const before = transactions(path)
    const answers = await Promise.all(some(1_000).map(async (item) => outbox.enqueue([item])))
    expect(answers.flat().every(isRight)).toBe(true)
    expect(transactions(path) - before).toBe(1)
    await outbox.enqueue(some(1_000))
    expect(transactions(path) - before).toBe(2)
    const entries = await all(outbox)
    expect(entries).toHaveLength(2_000)
    await Promise.all(entries.slice(0, 1_000).map(async (entry) => outbox.ack([yes(entry)])))
    await Promise.all([
      outbox.ack(entries.slice(1_000, 1_500).map(yes)),
      outbox.nack(entries.slice(1_500).map((entry) => ({ entry, due: 5 }))),
    ])
    expect(transactions(path) - before).toBeLessThanOrEqual(5)
    expect(outbox.stats().waiting).toBe(500)
    await outbox.close()
  })

  it('writes what came before a close and rejects what comes after', async () => {
    const path = newFolder()
    const outbox = open(path)
    const early = outbox.enqueue(some(100))
    const closed = outbox.close()
    await expect(outbox.enqueue(['late'])).rejects.toThrow(`the outbox in ${path} is closed`)
    expect((await early).every(isRight)).toBe(true)
    await closed
    expect(await all(outbox)).toEqual([])
    expect(outbox.nextDue()).toBe(undefined)
    await expect(Promise.resolve(outbox.dead.purge(() => true))).resolves.toBe(0)
    const again = open(path)
    expect(again.stats().waiting).toBe(100)
    await again.close()
  })
})

it('reads items of any length back as they were, after a restart, a nack and a rejection', async () => {
  const path = newFolder()
  // Below the shared memory of records, above it, and above the buffer into which lmdb reads.
  const items = ['', '€', '€'.repeat(21_840), 'é'.repeat(65_520), 'x'.repeat(17_000_000)]
  const same = (found: ReadonlyArray<string>): boolean => found.every((item, at) => item === items[at])
  const first = open(path)
  await first.enqueue(items)
  await first.close()
  const second = open(path, { clock: virtualClock() })
  const fresh = await second.lease(0, ALL)
  expect(same(fresh.map(({ item }) => item))).toBe(true)
  await second.nack(fresh.map((entry, at) => ({ entry: { ...entry, firstAttemptAt: at }, due: 0 })))
  const retries = await second.lease(0, ALL)
  expect(same(retries.map(({ item }) => item))).toBe(true)
  expect(retries.map(({ firstAttemptAt }) => firstAttemptAt)).toEqual([0, 1, 2, 3, 4])
  await second.ack(retries.map(no))
  const dead = await second.dead.list()
  expect(same(dead.map((each) => (each.reason === 'ended' ? each.entry.item : 'corrupt')))).toBe(true)
  expect(second.stats()).toMatchObject({ waiting: 0, dead: items.length })
  await second.close()
})

it('ignores a repeated or late ack and nack', async () => {
  const outbox = open(newFolder())
  await outbox.enqueue(['a', 'b'])
  const [a, b] = await all(outbox)
  if (a === undefined || b === undefined) throw new Error('both are there')
  await Promise.all([outbox.ack([no(a), no(a)]), outbox.ack([no(a)]), outbox.nack([{ entry: a, due: 5 }])])
  await outbox.nack([{ entry: b, due: 5 }])
  await Promise.all([outbox.nack([{ entry: b, due: 9 }]), outbox.ack([no(b), yes(a)])])
  expect(outbox.stats()).toMatchObject({ waiting: 1, bytes: 1, dead: 1 })
  expect(outbox.nextDue()).toBe(5)
  await outbox.close()
})

it('ends an item whose failure is no JSON', async () => {
  const outbox = open(newFolder())
  await outbox.enqueue(['a', 'b'])
  const [a, b] = await all(outbox)
  if (a === undefined || b === undefined) throw new Error('both are there')
  const circle: { self?: unknown } = {}
  circle.self = circle
  // A sink of the host may put anything there.
  const failure = { ...retryable('status'), notBefore: Infinity, detail: circle as unknown as string }
  await outbox.nack([{ entry: { ...a, progress: { attempts: 3, lastFailure: failure } }, due: 0 }])
  await outbox.ack([{ entry: b, outcome: rejected('b', 2, failure) }])
  const [again] = await all(outbox)
  expect(again?.progress).toMatchObject({ attempts: 3, lastFailure: { reason: 'defect' } })
  expect(await outbox.dead.list()).toMatchObject([
    { outcome: { attempts: 2, failure: { reason: 'defect' } } },
  ])
  await outbox.close()
})

describe('bounds', () => {
  it('hold for items that come at the same time', async () => {
    const outbox = open(newFolder(), { maxCount: 10 })
    const [list, ...ones] = await Promise.all([
      outbox.enqueue(some(6)),
      ...some(9).map(async (item) => outbox.enqueue([item])),
    ])
    expect(list.map(isLeft)).toEqual(some(6).map(() => false))
    expect(ones.flat().map(isLeft)).toEqual(some(9).map((_, at) => at >= 4))
    expect(await outbox.enqueue(['x'])).toEqual([
      { _tag: 'Left', left: { _tag: 'Full', bound: 'count', limit: 10, input: 'x' } },
    ])
    await outbox.close()
  })

  it('of dead letters: the oldest make room and are counted', async () => {
    const outbox = open(newFolder(), { keepDead: 2 })
    await outbox.enqueue(some(5))
    for (const entry of await all(outbox)) await outbox.ack([no(entry)])
    await outbox.addDeadLetter('never in', rejected('never in', 1, refused('status')))
    expect(outbox.stats()).toMatchObject({ dead: 2, evictedDeadLetters: 4 })
    await outbox.close()
  })

  it('move more dead letters than one transaction holds', async () => {
    const outbox = open(newFolder())
    await outbox.enqueue(some(1_300))
    await outbox.ack((await all(outbox)).map(no))
    expect(await outbox.dead.list()).toHaveLength(1_000)
    expect(await outbox.dead.redrive(({ entry }) => entry.item.endsWith('7'))).toBe(130)
    expect(await outbox.dead.purge((each) => each.reason === 'ended' && each.entry.item.endsWith('8'))).toBe(
      130,
    )
    expect(outbox.stats()).toMatchObject({ waiting: 130, dead: 1_040 })
    await outbox.close()
  })
})

describe('bookmarks', () => {
  it('are stored with their items or not at all', async () => {
    const path = newFolder()
    const outbox = open(path, { maxCount: 3 })
    expect(outbox.bookmark('in')).toBe(undefined)
    for (const [at, item] of some(5).entries())
      await outbox.enqueue([item], { bookmark: { name: 'in', value: String(at) } })
    expect(outbox.bookmark('in')).toBe('2')
    // As a crash would leave it.
    const copy = newFolder()
    copyFileSync(join(path, 'data.mdb'), join(copy, 'data.mdb'))
    await outbox.close()
    const crashed = open(copy)
    expect([crashed.bookmark('in'), crashed.stats().waiting]).toEqual(['2', 3])
    await crashed.close()
  })

  it('have names of any characters and length', async () => {
    const names = ['in', ' ', '\0', '\ud800', '😀', `/${'x'.repeat(5_000)}`]
    const path = newFolder()
    const outbox = open(path)
    await Promise.all(
      names.map(async (each, at) => outbox.enqueue(['a'], { bookmark: { name: each, value: String(at) } })),
    )
    await outbox.close()
    const again = open(path)
    expect(again.bookmarks()).toEqual(new Map(names.map((each, at) => [each, String(at)])))
    await Promise.all(names.map((each) => again.remember({ name: each, value: each })))
    expect(names.map(again.bookmark)).toEqual(names)
    await Promise.all(names.map((each) => again.forget(each)))
    await again.close()
    const last = open(path)
    expect(last.bookmarks()).toEqual(new Map())
    await last.close()
  })
})

describe('a codec', () => {
  it.each([
    ['sizeOf', NaN, 'a number from 0'],
    ['sizeOf', -5, 'a number from 0'],
    ['toText', undefined, 'a string'],
  ] as const)('whose %s answers %s refuses its list and no other', async (member, answer, wanted) => {
    const given = { ...codec, [member]: (item: string) => (item === 'bad' ? answer : codec[member](item)) }
    const outbox = open(newFolder(), { codec: given })
    const answers = await Promise.allSettled(
      ['a', 'bad', 'b'].map(async (item) => outbox.enqueue([item, 'x'])),
    )
    expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    const [, bad] = answers
    expect(messageOf(bad?.status === 'rejected' && bad.reason)).toBe(
      `the codec's ${member} answered ${String(answer)}: it must be ${wanted}`,
    )
    expect(outbox.stats().waiting).toBe(4)
    await outbox.close()
  })
})

describe('a folder', () => {
  it('belongs to one owner as long as it holds anything', async () => {
    const path = newFolder()
    const outbox = open(path, { owner: 'orders' })
    await outbox.enqueue(['a'])
    await outbox.close()
    expect(faultOf(path, { owner: 'mail' })).toMatchObject({
      reason: 'otherOwner',
      message: `the outbox in ${path} belongs to "orders", and was opened for "mail": give each its own folder, or, if it is the same one under a new name, set the owner of this outbox to "orders"`,
    })
    const same = open(path, { owner: 'orders' })
    await same.ack((await all(same)).map(no))
    await same.close()
    expect(faultOf(path, { owner: 'mail' })?.reason).toBe('otherOwner')
    // One without an owner may open any folder.
    const nameless = open(path)
    await nameless.dead.purge(() => true)
    await nameless.close()
    expect(faultOf(path, { owner: 'mail' })).toBe(undefined)
  })

  it('holds one kind of items', async () => {
    const path = newFolder()
    await open(path).close()
    expect(faultOf(path, { codec: { ...codec, kind: 'messages' } })).toMatchObject({
      reason: 'otherKind',
      message: `the outbox in ${path} holds items, and was opened for messages: give each its own folder`,
    })
  })

  it('is for this user alone, with all that is in it', async () => {
    const path = join(newFolder(), 'a', 'b')
    const outbox = open(path)
    const modes = [path, join(path, 'data.mdb'), join(path, 'lock.mdb'), join(path, 'headrace.lock')].map(
      (each) => (statSync(each).mode & 0o777).toString(8),
    )
    expect(modes).toEqual(['700', '600', '600', '600'])
    await outbox.close()
  })

  it.each([
    ['under a file', (path: string) => join(path, 'file', 'outbox')],
    ['that is a file', (path: string) => join(path, 'file')],
  ])('%s is refused by name, with the way out', (_, where) => {
    const path = newFolder()
    writeFileSync(join(path, 'file'), '')
    const fault = faultOf(where(path))
    expect(fault?.reason).toBe('noAccess')
    expect(fault?.message).toContain(
      `the folder ${where(path)} of the outbox cannot be used: let this user make, read and write it`,
    )
  })

  it('is named by an OutboxError', () => {
    const path = newFolder()
    writeFileSync(join(path, 'data.mdb'), 'hello')
    expect(() => open(path)).toThrow(OutboxError)
    expect(() => open(path)).toThrow(
      expect.objectContaining({
        name: 'OutboxError',
        code: 'HEADRACE_OUTBOX',
        reason: 'notAnOutbox',
        path,
        message: `${join(path, 'data.mdb')} was not written by headrace: give the outbox a folder of its own`,
      }) as Error,
    )
  })

  it.each([
    [{ maxCount: 0 }, 'maxCount'],
    [{ maxBytes: 1.5 }, 'maxBytes'],
    [{ keepDead: -1 }, 'keepDead'],
    [{ path: '' }, 'path'],
    [{ owner: '' }, 'owner'],
  ])('has options that are checked: %o', (options, name) =>
    expect(() => open(newFolder(), options)).toThrow(`Invalid lmdb outbox: ${name}`),
  )
})

describe('a wrong clock', () => {
  const DAY = 24 * 3_600_000
  /** A clock that stands at this time. */
  const at = (time: number): Clock => ({
    now: () => time,
    monotonic: () => 0,
    schedule: () => () => undefined,
  })

  it('stored due times more than 25 days ahead: they count as now, and so do first attempts', async () => {
    const path = newFolder()
    const before = open(path, { clock: at(1_000 * DAY) })
    await before.enqueue(['far', 'near', 'never'])
    const [far, near, never] = await before.lease(0, ALL)
    if (far === undefined || near === undefined || never === undefined) throw new Error('all are there')
    await before.nack([{ entry: never, due: NaN }])
    expect(before.nextDue()).toBe(1_000 * DAY)
    await before.ack((await before.lease(1_000 * DAY, ALL)).map(yes))
    await before.nack([
      { entry: { ...far, firstAttemptAt: 1_000 * DAY }, due: 1_000 * DAY + 5 },
      { entry: { ...near, firstAttemptAt: 10 * DAY }, due: 20 * DAY },
    ])
    await before.close()
    const outbox = open(path, { clock: at(10 * DAY) })
    expect(outbox.nextDue()).toBe(10 * DAY)
    expect(await outbox.lease(10 * DAY, ALL)).toMatchObject([{ item: 'far', firstAttemptAt: 10 * DAY }])
    expect(outbox.nextDue()).toBe(20 * DAY)
    expect(await outbox.lease(20 * DAY, ALL)).toMatchObject([{ item: 'near', firstAttemptAt: 10 * DAY }])
    await outbox.close()
  })
})

describe('a record that cannot be read', () => {
  /** Three items, of which the second is a retry; one is dead. Then the bytes of some records are changed. */
  const damaged = async (path: string, trees: ReadonlyArray<string>): Promise<void> => {
    const outbox = open(path)
    await outbox.enqueue(['first', 'second', 'third', 'died'])
    const [, second, , died] = await all(outbox)
    if (second === undefined || died === undefined) throw new Error('all are there')
    await outbox.nack([{ entry: second, due: 0 }])
    await outbox.ack([no(died)])
    await outbox.close()
    await tamper(path, (env) => {
      for (const name of trees) {
        const tree = env.openDB<Buffer, Lmdb.Key>(name, { encoding: 'binary' })
        for (const { key, value } of [...tree.getRange({ limit: 1 })]) {
          value[value.length - 1] = 0x21
          tree.putSync(key, value)
        }
      }
    })
  }

  it('ends as a dead letter with its bytes; the others are leased', async () => {
    const path = newFolder()
    await damaged(path, ['fresh', 'retries'])
    const heard: string[] = []
    const outbox = open(path, { onCorrupt: ({ id, raw }) => heard.push(`${id} ${raw}`) })
    expect((await all(outbox)).map(({ item }) => item)).toEqual(['third'])
    expect(await all(outbox)).toEqual([])
    await outbox.enqueue(['later'])
    expect(heard).toEqual(['2 secon!', '1 firs!'])
    expect(outbox.stats()).toMatchObject({ waiting: 2, bytes: 10, dead: 3 })
    expect(
      (await outbox.dead.list()).map((each) => (each.reason === 'corrupt' ? each.raw : each.reason)),
    ).toEqual(['ended', 'secon!', 'firs!'])
    expect(await outbox.dead.redrive(() => true)).toBe(1)
    expect(await outbox.dead.purge(() => true)).toBe(2)
    expect(outbox.stats()).toMatchObject({ waiting: 3, dead: 0 })
    await outbox.close()
  })

  it('may be one that the codec cannot read', async () => {
    const path = newFolder()
    const before = open(path)
    await before.enqueue(['good', 'bad', 'good'])
    await before.close()
    const fromText = (text: string): string => {
      if (text === 'bad') throw new Error('what is this?')
      return text
    }
    const outbox = open(path, { codec: { ...codec, fromText } })
    expect((await all(outbox)).map(({ item }) => item)).toEqual(['good', 'good'])
    await outbox.enqueue(['good'])
    expect(await outbox.dead.list()).toMatchObject([{ reason: 'corrupt', raw: 'bad' }])
    await outbox.close()
  })

  it('may be a dead letter: it is listed as corrupt', async () => {
    const path = newFolder()
    await damaged(path, ['dead'])
    const outbox = open(path)
    const [letter] = await outbox.dead.list()
    expect(letter).toMatchObject({ reason: 'corrupt', at: 0 })
    expect(await outbox.dead.redrive(() => true)).toBe(0)
    expect(await outbox.dead.purge(({ reason }) => reason === 'corrupt')).toBe(1)
    await outbox.close()
  })
})

it.each([
  ['version', '2', 'newerVersion', 'has layout 2, and this headrace knows up to 1'],
  ['counters', '{"waiting":-1}', 'damaged', 'has lost its counters'],
])('refuses a store with another %s, and changes nothing', async (key, value, reason, message) => {
  const path = newFolder()
  await open(path).close()
  await tamper(path, (env) => env.openDB<string, string>('meta', { encoding: 'string' }).putSync(key, value))
  const before = readFileSync(join(path, 'data.mdb'))
  const fault = faultOf(path)
  expect(fault?.reason).toBe(reason)
  expect(fault?.message).toContain(message)
  expect(readFileSync(join(path, 'data.mdb')).equals(before)).toBe(true)
})

it('refuses the store of another program, and takes one that a killed process began', async () => {
  const path = newFolder()
  await tamper(path, (env) => env.putSync('theirs', Buffer.alloc(10)))
  expect(faultOf(path)?.reason).toBe('notAnOutbox')
  const begun = newFolder()
  await tamper(begun, (env) => env.transactionSync(() => undefined))
  expect(faultOf(begun)).toBe(undefined)
})
