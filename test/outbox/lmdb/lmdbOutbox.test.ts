import { copyFileSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lmdbOutbox } from '../../../src/outbox/lmdb/lmdbOutbox.ts'
import type { LmdbOutbox, LmdbOutboxOptions } from '../../../src/outbox/lmdb/LmdbContract.ts'
import { refused } from '../../../src/core/failure.ts'
import { delivered, rejected } from '../../../src/core/outcome.ts'
import type { Entry } from '../../../src/outbox/outbox.ts'
import { newFolder } from './grounds.ts'
import { codec } from './killedItems.js'

let path = ''
beforeEach(() => {
  path = newFolder()
})
afterEach(() => {
  rmSync(path, { recursive: true })
})

const open = (options: Partial<LmdbOutboxOptions<string>> = {}): LmdbOutbox<string> =>
  lmdbOutbox<string>({ path, codec, ...options })

const some = (count: number): ReadonlyArray<string> => Array.from({ length: count }, (_, at) => `item ${at}`)

const appendAll = async (outbox: LmdbOutbox<string>, items: ReadonlyArray<string>) =>
  Promise.all(items.map(async (item) => outbox.append(item)))

const all = async (outbox: LmdbOutbox<string>): Promise<ReadonlyArray<Entry<string>>> =>
  outbox.take(Infinity, 10_000, 10_000)

const no = (item: string) => rejected(item, 1, refused('status'))
const yes = (item: string) => delivered(item, 1, { sink: 'a' })

/** Transactions so far, as the newer of the two first pages says. */
const transactions = (): number => {
  const bytes = readFileSync(join(path, 'data.mdb'))
  return Math.max(...[24, 4_096 + 24].map((at) => Number(bytes.readBigUInt64LE(at + 128))))
}

describe('what is written at a time shares its transactions', () => {
  it('appends, ends and ways back', async () => {
    const outbox = open()
    const before = transactions()
    const answers = await appendAll(outbox, some(1_000))
    expect(answers.every(isRight)).toBe(true)
    expect(transactions() - before).toBeLessThanOrEqual(2)
    const taken = await all(outbox)
    await Promise.all(
      taken.map(async (entry, at) =>
        at % 2 === 0 ? outbox.park(entry, at) : outbox.end(entry, yes(entry.item)),
      ),
    )
    expect(transactions() - before).toBeLessThanOrEqual(4)
    expect(outbox.stats().waiting).toBe(500)
    await outbox.close()
  })

  it('what comes before a close is written, what comes after is refused', async () => {
    const outbox = open()
    const early = appendAll(outbox, some(100))
    const closed = outbox.close()
    await expect(outbox.append('late')).rejects.toThrow('the outbox is closed')
    expect((await early).every(isRight)).toBe(true)
    await closed
    expect(await outbox.take(0, 10, 10)).toEqual([])
    expect(outbox.nextDue()).toBe(undefined)
    await expect(Promise.resolve(outbox.dead.purge(() => true))).rejects.toThrow('closed')
    const again = open()
    expect(again.stats().waiting).toBe(100)
    await again.close()
  })
})

it('items of any length come back as they were, after a retry, and after they died', async () => {
  // Short of the memory that records share, beyond it, and beyond that into which lmdb copies what it reads.
  const items = ['', '€', '€'.repeat(21_840), 'é'.repeat(65_520), 'x'.repeat(17_000_000)]
  const first = open()
  await appendAll(first, items)
  await first.close()
  const second = open()
  const fresh = await all(second)
  expect(fresh.map(({ item }, at) => item === items[at])).toEqual(items.map(() => true))
  await Promise.all(fresh.map(async (entry, at) => second.park({ ...entry, firstAttemptAt: at }, 0)))
  const parked = await all(second)
  expect(parked.map(({ item, firstAttemptAt }, at) => item === items[at] && firstAttemptAt === at)).toEqual(
    items.map(() => true),
  )
  await Promise.all(parked.map(async (entry) => second.end(entry, no(entry.item))))
  const letters = await second.dead.list()
  expect(letters.map(({ entry }, at) => entry.item === items[at])).toEqual(items.map(() => true))
  expect(second.stats()).toMatchObject({ waiting: 0, unreadable: 0, dead: items.length })
  await second.close()
})

describe('a late word changes nothing', () => {
  it('an end or a way back of one that has ended or is back', async () => {
    const outbox = open()
    await appendAll(outbox, ['a', 'b'])
    const [a, b] = await all(outbox)
    if (a === undefined || b === undefined) throw new Error('two are there')
    await Promise.all([outbox.end(a, no('a')), outbox.end(a, no('a')), outbox.park(a, 5)])
    await outbox.park(b, 5)
    await Promise.all([outbox.park(b, 9), outbox.end(b, no('b')), outbox.end(a, yes('a'))])
    expect(outbox.stats()).toMatchObject({ waiting: 1, bytes: 1, dead: 1 })
    expect(outbox.nextDue()).toBe(5)
    await outbox.close()
  })
})

describe('bounds', () => {
  it('hold for what comes at the same time', async () => {
    const outbox = open({ maxCount: 10 })
    const answers = await appendAll(outbox, some(25))
    expect(answers.map(isLeft)).toEqual(some(25).map((_, at) => at >= 10))
    await outbox.close()
  })

  it('hold for letters that come back while others come', async () => {
    const outbox = open({ maxCount: 10 })
    await appendAll(outbox, some(10))
    await Promise.all((await all(outbox)).map(async (entry) => outbox.end(entry, no(entry.item))))
    const [answers, redriven] = await Promise.all([
      appendAll(outbox, some(6)),
      outbox.dead.redrive(() => true),
    ])
    expect(answers.filter(isRight).length + redriven).toBe(10)
    expect(outbox.stats()).toMatchObject({ waiting: 10, dead: 10 - redriven })
    await outbox.close()
  })

  it('of dead letters: the oldest makes room and is counted', async () => {
    const outbox = open({ keepDead: 2 })
    await appendAll(outbox, some(5))
    for (const entry of await all(outbox)) await outbox.end(entry, no(entry.item))
    await outbox.bury('never in', no('never in'))
    expect((await outbox.dead.list()).map(({ entry }) => entry.item)).toEqual(['item 4', 'never in'])
    expect(outbox.stats()).toMatchObject({ dead: 2, evictedDeadLetters: 4 })
    await outbox.close()
  })

  it('more letters than one transaction moves', async () => {
    const outbox = open()
    await appendAll(outbox, some(1_300))
    await Promise.all((await all(outbox)).map(async (entry) => outbox.end(entry, no(entry.item))))
    expect(await outbox.dead.list()).toHaveLength(1_000)
    expect(await outbox.dead.redrive(({ entry }) => entry.item.endsWith('7'))).toBe(130)
    expect(await outbox.dead.purge(({ entry }) => entry.item.endsWith('8'))).toBe(130)
    expect(outbox.stats()).toMatchObject({ waiting: 130, dead: 1_040 })
    await outbox.close()
  })

  it.each([
    ['maxCount', 0],
    ['maxBytes', 1.5],
    ['keepDead', -1],
  ])('refuses %s: %s, and says so', (name, value) => {
    expect(() => open({ [name]: value })).toThrow(RangeError)
    expect(() => open({ [name]: value })).toThrow(`lmdbOutbox: ${name}`)
  })
})

describe('bookmarks', () => {
  it('are written with their item or not at all', async () => {
    const outbox = open({ maxCount: 3 })
    expect(outbox.bookmark('in')).toBe(undefined)
    const answers = await Promise.all(
      some(5).map(async (item, at) => outbox.append(item, { bookmark: { name: 'in', value: String(at) } })),
    )
    expect(answers.map(isRight)).toEqual([true, true, true, false, false])
    expect(outbox.bookmark('in')).toBe('2')
    expect(outbox.bookmark('other')).toBe(undefined)
    const copy = newFolder()
    copyFileSync(join(path, 'data.mdb'), join(copy, 'data.mdb'))
    await outbox.close()
    const crashed = lmdbOutbox<string>({ path: copy, codec })
    expect([crashed.bookmark('in'), crashed.stats().waiting]).toEqual(['2', 3])
    await crashed.forget('in')
    expect(crashed.bookmark('in')).toBe(undefined)
    await crashed.close()
    const later = lmdbOutbox<string>({ path: copy, codec })
    expect([later.bookmark('in'), later.stats().waiting]).toEqual([undefined, 3])
    await later.close()
    rmSync(copy, { recursive: true })
  })
})

it('a codec that throws refuses its own item and no other', async () => {
  const outbox = open({
    codec: {
      ...codec,
      toText: (text) => {
        if (text === 'bad') throw new TypeError('what is this?')
        return text
      },
    },
  })
  const [good, bad, buried] = await Promise.allSettled([
    outbox.append('good'),
    outbox.append('bad'),
    outbox.bury('bad', no('bad')),
  ])
  expect([good.status, bad.status, buried.status]).toEqual(['fulfilled', 'rejected', 'rejected'])
  expect(outbox.stats()).toMatchObject({ waiting: 1, bytes: 4, dead: 0 })
  await outbox.close()
})
