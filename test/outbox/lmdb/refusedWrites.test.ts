/** What a store cannot take is refused before it comes there: by itself, and without harm to what comes beside it. */
import * as fc from 'fast-check'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { messageOf } from '../../../src/core/awaitable.ts'
import { lmdbOutbox } from '../../../src/outbox/lmdb/lmdbOutbox.ts'
import type { Bookmark, ItemCodec, LmdbOutbox } from '../../../src/outbox/lmdb/LmdbContract.ts'
import { refused } from '../../../src/core/failure.ts'
import { rejected } from '../../../src/core/outcome.ts'
import { newFolder } from './grounds.ts'
import { codec } from './killedItems.js'

let path = ''
beforeEach(() => {
  path = newFolder(true)
})
afterEach(() => {
  rmSync(path, { recursive: true })
})

const open = (members: Partial<ItemCodec<string>> = {}, at = path): LmdbOutbox<string> =>
  lmdbOutbox<string>({ path: at, codec: { ...codec, ...members } })

const died = (item: string) => rejected(item, 1, refused('tooLarge'))

/** Ten at a time, of which one is `item`; answers what became of each. */
const together = async (
  outbox: LmdbOutbox<string>,
  item: string,
  bookmark?: Bookmark,
): Promise<ReadonlyArray<string>> => {
  const items = Array.from({ length: 10 }, (_, at) => (at === 5 ? item : `item ${String(at)}`))
  const answers = await Promise.allSettled(
    items.map(async (each, at) => outbox.append(each, at === 5 && bookmark ? { bookmark } : {})),
  )
  return answers.map((answer) =>
    answer.status === 'rejected' ? messageOf(answer.reason) : answer.value._tag,
  )
}

/** One of ten, with this message. */
const alone = (message: unknown): ReadonlyArray<unknown> =>
  Array.from({ length: 10 }, (_, at) => (at === 5 ? message : 'Right'))

const reopened = async (members: Partial<ItemCodec<string>> = {}): Promise<object> => {
  const outbox = open(members)
  const { waiting, bytes } = outbox.stats()
  await outbox.close()
  return { waiting, bytes }
}

/** Not every codec has types. */
const answering = (answer: unknown) => (item: string) => (item === 'bad' ? answer : 1) as number

describe('a codec that answers nothing sensible of an item: only that one is not taken', () => {
  it.each([NaN, undefined, -5, Infinity, '5', null, 2 ** 60])('sizeOf: %s', async (answer) => {
    const outbox = open({ sizeOf: answering(answer) })
    expect(await together(outbox, 'bad')).toEqual(
      alone(`the codec's sizeOf answered ${String(answer)}: it must be a number from 0`),
    )
    await expect(Promise.resolve(outbox.bury('bad', died('bad')))).rejects.toThrow('sizeOf')
    expect(outbox.stats()).toMatchObject({ waiting: 9, bytes: 9, dead: 0 })
    await outbox.close()
    expect(await reopened()).toEqual({ waiting: 9, bytes: 9 })
  })

  it.each([NaN, undefined, -5, Infinity, '5', 1.5, 0])('countOf: %s', async (answer) => {
    const outbox = open({ sizeOf: () => 1, countOf: answering(answer) })
    expect(await together(outbox, 'bad')).toEqual(
      alone(`the codec's countOf answered ${String(answer)}: it must be a whole number from 1`),
    )
    await outbox.close()
    expect(await reopened()).toEqual({ waiting: 9, bytes: 9 })
  })

  it('toText: no text', async () => {
    const outbox = open({ sizeOf: () => 1, toText: (item) => (item === 'bad' ? undefined : item) as string })
    expect(await together(outbox, 'bad')).toEqual(
      alone(`the codec's toText answered undefined: it must be a string`),
    )
    await outbox.close()
    expect(await reopened()).toEqual({ waiting: 9, bytes: 9 })
  })

  it('sizes that are no whole numbers are sizes', async () => {
    const outbox = open({ sizeOf: () => 0.1 })
    for (const item of ['a', 'b', 'c']) await outbox.append(item)
    await outbox.close()
    const again = open()
    for (const entry of await again.take(0, 10, 0)) await again.end(entry, died(entry.item))
    expect(again.stats()).toMatchObject({ waiting: 0, bytes: 0 })
    await again.close()
  })

  it('countOf that answers so only later: that record goes aside, a letter stays dead, and the counters stay sound', async () => {
    const before = open({ sizeOf: () => 1 })
    for (const item of ['good', 'bad', 'dead']) await before.append(item)
    const dead = (await before.take(0, 10, 0)).find(({ item }) => item === 'dead')
    if (dead === undefined) throw new Error('it was taken')
    await before.end(dead, died('dead'))
    await before.close()
    const outbox = open({ countOf: (item) => (item === 'good' ? 1 : NaN) })
    expect((await outbox.take(0, 10, 0)).map(({ item }) => item)).toEqual(['good'])
    await expect(Promise.resolve(outbox.dead.redrive(() => true))).rejects.toThrow('countOf answered NaN')
    await outbox.append('good')
    expect(outbox.stats()).toMatchObject({ waiting: 3, unreadable: 1, dead: 1 })
    await outbox.discardUnreadable()
    await outbox.close()
    expect(await reopened()).toMatchObject({ waiting: 2 })
  })
})

describe('bookmarks', () => {
  it('have names of any length', async () => {
    const name = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 20 }),
      fc.string({
        unit: fc.integer({ min: 1, max: 0xffff }).map((code) => String.fromCharCode(code)),
        minLength: 1,
        maxLength: 20,
      }),
      fc.string({ unit: 'binary', minLength: 200, maxLength: 3_000 }),
      fc.constant(`sha256:${'0'.repeat(64)}`),
      fc.nat({ max: 5_000 }).map((length) => `/${'x'.repeat(length)}`),
    )
    let made = 0
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(name, { minLength: 1, maxLength: 8, size: 'max' }), async (names) => {
        const at = join(path, String(++made))
        const outbox = open({}, at)
        await Promise.all(
          names.map(async (each, nth) =>
            outbox.append('a', { bookmark: { name: each, value: String(nth) } }),
          ),
        )
        const values = names.map((_, nth) => String(nth))
        expect(names.map(outbox.bookmark)).toEqual(values)
        await outbox.close()
        const again = open({}, at)
        expect(again.bookmarks()).toEqual(new Map(names.map((each, nth) => [each, String(nth)])))
        expect(names.map(again.bookmark)).toEqual(values)
        for (const each of names) await again.remember({ name: each, value: each })
        expect(names.map(again.bookmark)).toEqual(names)
        await Promise.all(names.map(async (each) => again.forget(each)))
        await again.close()
        const last = open({}, at)
        expect(names.map(last.bookmark)).toEqual(names.map(() => undefined))
        await last.close()
      }),
      { numRuns: 40 },
    )
  })

  it.each([
    ['', '1'],
    [undefined, '1'],
    [5, '1'],
    ['in', undefined],
    ['in', 5],
  ])('of no name or value (%s, %s) are refused, and their neighbours are not', async (name, value) => {
    const outbox = open()
    // Not every caller has types.
    const bookmark = { name, value } as Bookmark
    expect(await together(outbox, 'bad', bookmark)).toEqual(
      alone('a bookmark has a name and a value, which are strings, and a name is not empty'),
    )
    expect(outbox.stats().waiting).toBe(9)
    await outbox.close()
  })
})
