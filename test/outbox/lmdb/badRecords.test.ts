import { rmSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lmdbOutbox } from '../../../src/outbox/lmdb/lmdbOutbox.ts'
import type { ItemCodec, LmdbOutbox, LmdbOutboxStats } from '../../../src/outbox/lmdb/LmdbContract.ts'
import { refused, retryable } from '../../../src/core/failure.ts'
import { delivered, rejected } from '../../../src/core/outcome.ts'
import type { Entry } from '../../../src/outbox/outbox.ts'
import { newFolder } from './grounds.ts'
import { spoil } from './spoil.ts'

let path = ''
beforeEach(() => {
  path = newFolder()
})
afterEach(() => {
  rmSync(path, { recursive: true })
})

const plain: ItemCodec<string> = {
  toText: (text) => text,
  fromText: (text) => text,
  sizeOf: (text) => text.length,
}
const open = (codec = plain): LmdbOutbox<string> => lmdbOutbox<string>({ path, codec })

const damage = (body: string, letter?: string): void => {
  spoil(path, body, letter)
}

const takeAll = async (outbox: LmdbOutbox<string>): Promise<ReadonlyArray<Entry<string>>> =>
  outbox.take(Infinity, 1_000, 1_000)

const names = ['first item', 'second item', 'third item'] as const

describe('a bad record costs one record', () => {
  const filled = async (): Promise<void> => {
    const outbox = open()
    for (const name of names) await outbox.append(name)
    await outbox.close()
  }

  const costsOne = async (codec?: ItemCodec<string>): Promise<void> => {
    const outbox = open(codec)
    expect((await takeAll(outbox)).map(({ item }) => item)).toEqual(['first item', 'third item'])
    await outbox.close()
    const again = open(codec)
    expect(again.stats()).toMatchObject({ waiting: 3, quarantined: 1, bytes: 31 })
    expect((await takeAll(again)).map(({ item }) => item)).toEqual(['first item', 'third item'])
    await again.close()
    const last = open()
    expect(last.stats()).toMatchObject({ waiting: 3, quarantined: 1 })
    expect(await last.discardUnreadable()).toBe(1)
    expect(last.stats()).toMatchObject({ waiting: 2, quarantined: 0, bytes: 20 })
    expect(await last.discardUnreadable()).toBe(0)
    expect((await takeAll(last)).map(({ item }) => item)).toEqual(['first item', 'third item'])
    await last.close()
  }

  it('a letter of a waiting one that changed', async () => {
    await filled()
    damage('second item')
    await costsOne()
  })

  it('one that the codec cannot read', async () => {
    await filled()
    await costsOne({
      ...plain,
      fromText: (text) => {
        if (text.startsWith('second')) throw new SyntaxError('what is this?')
        return text
      },
    })
  })

  it('one that was put back, and one that is dead', async () => {
    await filled()
    const outbox = open()
    const [first, second, third] = await takeAll(outbox)
    if (first === undefined || second === undefined || third === undefined) throw new Error('three are there')
    await outbox.park(
      { ...first, firstAttemptAt: 1, progress: { attempts: 1, lastFailure: retryable('status') } },
      5,
    )
    for (const entry of [second, third]) await outbox.end(entry, rejected(entry.item, 1, refused('status')))
    await outbox.close()
    damage('first item')
    damage('second item')
    const again = open()
    expect(await takeAll(again)).toEqual([])
    expect((await again.dead.list()).map(({ entry }) => entry.item)).toEqual(['third item'])
    await again.close()
    const last = open()
    expect(last.stats()).toMatchObject({ waiting: 1, bytes: 10, dead: 1, quarantined: 2 })
    expect(last.nextDue()).toBe(undefined)
    await last.close()
  })
})

describe('of what waits, so much cannot be read', () => {
  /** Each counts for as many as it has letters after its number. */
  const counted: ItemCodec<string> = {
    ...plain,
    fromText: (text) => {
      if (!/^\d\w+$/.test(text)) throw new SyntaxError('what is this?')
      return text
    },
    countOf: (text) => text.length - 1,
  }

  const filled = async (...items: string[]): Promise<void> => {
    const outbox = open(counted)
    for (const item of items) await outbox.append(item)
    await outbox.close()
  }

  const settled = async (): Promise<LmdbOutboxStats> => {
    const outbox = open(counted)
    await takeAll(outbox)
    await outbox.close()
    return outbox.stats()
  }

  it('as its bytes still tell', async () => {
    await filled('1aaaaa', '2bbbbb')
    damage('2bbbbb', 'x')
    expect(await settled()).toMatchObject({ waiting: 10, unreadable: 5, quarantined: 1 })
  })

  it('is never more than waits, and all of it when nothing else is left', async () => {
    await filled('1aaaaa', '2bbbbbbb', '3cc')
    damage('2bbbbbbb')
    // Its bytes tell nothing, so it counts for one: at least.
    expect(await settled()).toMatchObject({ waiting: 14, unreadable: 1, quarantined: 1 })
    const outbox = open(counted)
    for (const entry of await takeAll(outbox))
      await outbox.end(entry, delivered(entry.item, 1, { sink: 's' }))
    expect(outbox.stats()).toMatchObject({ waiting: 7, unreadable: 7 })
    expect(await outbox.discardUnreadable()).toBe(1)
    expect(outbox.stats()).toMatchObject({ waiting: 0, unreadable: 0, bytes: 0 })
    await outbox.close()
  })
})

describe('what a stranger says of a failure keeps no item from its end', () => {
  it.each([
    ['numbers that JSON has not', retryable('x', { notBefore: Infinity }), { notBefore: Number.MAX_VALUE }],
    ['no number at all', retryable('x', { notBefore: NaN }), { reason: 'x' }],
    // The types forbid it, and a sink of somebody's own may do it all the same.
    ['what cannot be written', { ...retryable('x'), detail: 1n as never }, { reason: 'defect' }],
  ])('%s', async (_, last, expected) => {
    const outbox = open()
    await outbox.append('an item')
    const [entry] = await takeAll(outbox)
    if (entry === undefined) throw new Error('one is there')
    await outbox.park({ ...entry, firstAttemptAt: 3, progress: { attempts: 2, lastFailure: last } }, 0)
    const [again] = await takeAll(outbox)
    expect(again).toMatchObject({ firstAttemptAt: 3, progress: { attempts: 2, lastFailure: expected } })
    await outbox.end(entry, rejected('an item', 3, last))
    expect((await outbox.dead.list())[0]?.outcome).toMatchObject({
      _tag: 'Rejected',
      attempts: 3,
      failure: expected,
    })
    await outbox.close()
  })
})
