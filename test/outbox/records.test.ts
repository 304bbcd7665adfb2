import type * as Lmdb from 'lmdb'
import { describe, expect, it } from 'vitest'
import { retryable } from '../../src/core/failure.ts'
import { rejected } from '../../src/core/outcome.ts'
import type { CorruptRecord } from '../../src/outbox/index.ts'
import { newFolder, textCodec } from '../support/folder.ts'
import { open, all, no, tamper } from './lmdbKit.ts'

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
  const outcome = { attempts: 2, failure: { reason: 'defect' } }
  expect(await outbox.dead.list()).toMatchObject([{ outcome }])
})

it('keeps the bytes of each item, of small lists and of one that is larger than their memory', async () => {
  const path = newFolder()
  const lists = ['one', 'two', 'three'].map((name) => [
    name,
    name.repeat(200_000),
    `${name} `.repeat(200_000),
  ])
  const outbox = open(path)
  await outbox.enqueue(['small'])
  await Promise.all(lists.map(async (list) => outbox.enqueue(list)))
  await outbox.close()
  expect((await all(open(path))).map(({ item }) => item)).toEqual(['small', ...lists.flat()])
})

describe('a record that cannot be read', () => {
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

  it('ends as a dead letter with its bytes, also if the host fails to hear; the others are leased', async () => {
    const path = newFolder()
    await damaged(path, ['fresh', 'retries'])
    const heard: string[] = []
    const onCorrupt = ({ id, raw }: CorruptRecord): void => {
      if (heard.push(`${id} ${raw}`) > 0) throw new Error('a fault of the host')
    }
    const outbox = open(path, { onCorrupt })
    const [leased] = await Promise.all([all(outbox), outbox.enqueue(['later'])])
    expect([...leased, ...(await all(outbox))].map(({ item }) => item)).toEqual(['third', 'later'])
    expect(heard).toEqual(['2 secon!', '1 firs!'])
    expect(outbox.stats()).toMatchObject({ waiting: 2, bytes: 10, dead: 3 })
    const dead = (await outbox.dead.list()).map((each) =>
      each.reason === 'corrupt' ? each.raw : each.reason,
    )
    expect(dead).toEqual(['ended', 'secon!', 'firs!'])
    expect([await outbox.dead.redrive(() => true), await outbox.dead.purge(() => true)]).toEqual([['1'], 2])
    expect(outbox.stats()).toMatchObject({ waiting: 3, dead: 0 })
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
    const outbox = open(path, { codec: { ...textCodec, fromText } })
    expect((await all(outbox)).map(({ id }) => id)).toEqual(['1', '3'])
    await outbox.enqueue(['good'])
    expect(await outbox.dead.list()).toMatchObject([{ reason: 'corrupt', raw: 'bad' }])
  })

  it('may be a dead letter: it is listed as corrupt', async () => {
    const path = newFolder()
    await damaged(path, ['dead'])
    const outbox = open(path)
    const [letter] = await outbox.dead.list()
    expect(letter).toMatchObject({ reason: 'corrupt', at: 0 })
    expect(await outbox.dead.redrive(() => true)).toEqual([])
    expect(await outbox.dead.purge(({ reason }) => reason === 'corrupt')).toBe(1)
  })
})
