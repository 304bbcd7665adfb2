import { right } from 'fp-ts/lib/Either.js'
import { rmSync } from 'node:fs'
import { firstValueFrom, from, map, toArray } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { deliver } from '../../../src/operators/deliver.ts'
import { lmdbOutbox } from '../../../src/outbox/lmdb/lmdbOutbox.ts'
import { exponential } from '../../../src/policy/retryPolicy.ts'
import { sink } from '../../../src/sink/fromFunction.ts'
import { newFolder, restlessGround } from './grounds.ts'
import { codec, textOf } from './killedItems.js'
import { systemClock } from '../../../src/core/clock.ts'
import type { Item } from '../../laws/outboxWorld.ts'
import type { Outbox } from '../../../src/outbox/outbox.ts'
import type { Sink } from '../../../src/sink/sink.ts'

const COUNT = 500

/** Every second one is refused at first, each is taken at its second attempt. */
const taking = <A>(numberOf: (item: A) => number) => {
  const seen: A[] = []
  return {
    seen,
    sink: sink<A>('a', async (item, { attempt }) => {
      if (attempt.number === 1 && numberOf(item) % 2 === 0) throw new Error('not now')
      seen.push(item)
    }),
  }
}

/** Delivers the items, and whatever the outbox held; answers how all of them ended. */
const relayed = <A>(
  items: ReadonlyArray<A>,
  outbox: Outbox<A>,
  to: Sink<A>,
): Promise<ReadonlyArray<string>> =>
  firstValueFrom(
    from(items.map((item) => right(item))).pipe(
      deliver(to, { outbox, retry: exponential({ base: 1 }) }),
      map(({ _tag }) => _tag),
      toArray(),
    ),
    { defaultValue: [] },
  )

describe('a relay over a stored outbox', () => {
  it('delivers everything, retries too, and leaves nothing', async () => {
    const path = newFolder()
    const texts = Array.from({ length: COUNT }, (_, at) => textOf(`1-${at}`))
    const outbox = lmdbOutbox<string>({ path, codec })
    const { seen, sink: to } = taking((text: string) => texts.indexOf(text))
    expect(await relayed(texts, outbox, to)).toEqual(texts.map(() => 'Delivered'))
    expect(new Set(seen)).toEqual(new Set(texts))
    expect(outbox.stats()).toMatchObject({ waiting: 0, bytes: 0, dead: 0 })
    await outbox.close()
    rmSync(path, { recursive: true })
  })

  it('also while the store lets go of its file before every write', async () => {
    const ground = restlessGround()
    const bounds = { maxCount: 10_000, maxBytes: 10_000_000, keepDead: 10 }
    const items = Array.from({ length: COUNT }, (_, n): Item => ({ n, size: 1, text: 'x' }))
    const outbox = ground.open(bounds, systemClock)
    const { seen, sink: to } = taking(({ n }: Item) => n)
    expect(await relayed(items, outbox, to)).toEqual(items.map(() => 'Delivered'))
    expect(new Set(seen.map(({ n }) => n)).size).toBe(COUNT)
    expect(outbox.stats()).toMatchObject({ waiting: 0, bytes: 0, dead: 0 })
    await ground.leave()
  })

  it('goes on with what an earlier life left', async () => {
    const path = newFolder()
    const texts = Array.from({ length: COUNT }, (_, at) => textOf(`2-${at}`))
    const before = lmdbOutbox<string>({ path, codec })
    await Promise.all(texts.map(async (text) => before.append(text)))
    const taken = await before.take(0, 100, 0)
    await Promise.all(taken.slice(0, 50).map(async (entry) => before.park(entry, 1)))
    await before.close()
    const outbox = lmdbOutbox<string>({ path, codec })
    const { seen, sink: to } = taking((text: string) => texts.indexOf(text))
    expect(await relayed([textOf('3-1')], outbox, to)).toHaveLength(COUNT + 1)
    expect(new Set(seen)).toEqual(new Set([...texts, textOf('3-1')]))
    await outbox.close()
    rmSync(path, { recursive: true })
  })
})
