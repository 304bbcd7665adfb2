import { closeSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lmdbOutbox } from '../../../src/outbox/lmdb/lmdbOutbox.ts'
import type { ItemCodec, LmdbOutbox } from '../../../src/outbox/lmdb/LmdbContract.ts'
import { refused, retryable } from '../../../src/outcome/Failure.ts'
import { rejected } from '../../../src/outcome/Outcome.ts'
import type { Entry } from '../../../src/sink/Outbox.ts'
import { newFolder } from './grounds.ts'

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

/** Changes one letter of a body, in the file. */
const damage = (body: string): void => {
  const file = join(path, 'data.mdb')
  const bytes = readFileSync(file)
  const descriptor = openSync(file, 'r+')
  // A page that was copied may still lie where it was, so all of them.
  for (let at = bytes.indexOf(body); at >= 0; at = bytes.indexOf(body, at + 1))
    writeSync(descriptor, '!', at + 3)
  closeSync(descriptor)
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
    await outbox.park({ ...first, since: 1, progress: { attempts: 1, last: retryable('status') } }, 5)
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
    await outbox.park({ ...entry, since: 3, progress: { attempts: 2, last } }, 0)
    const [again] = await takeAll(outbox)
    expect(again).toMatchObject({ since: 3, progress: { attempts: 2, last: expected } })
    await outbox.end(entry, rejected('an item', 3, last))
    expect((await outbox.dead.list())[0]?.outcome).toMatchObject({
      _tag: 'Rejected',
      attempts: 3,
      failure: expected,
    })
    await outbox.close()
  })
})
