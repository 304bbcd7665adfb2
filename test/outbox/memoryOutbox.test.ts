import * as fc from 'fast-check'
import type { Either } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { rejected } from '../../src/core/outcome.ts'
import { refused } from '../../src/index.ts'
import { memoryOutbox, type Entry } from '../../src/outbox/index.ts'

describe('memoryOutbox', () => {
  it('H3: keeps dead letters in at most 32 MiB, and counts those that it deletes', async () => {
    const outbox = memoryOutbox<number>({ sizeOf: () => 1_048_576 })
    for (let item = 0; item < 40; item++) {
      const [entry] = await outbox.enqueue([item])
      if (entry?._tag === 'Right')
        await outbox.ack([{ entry: entry.right, outcome: rejected(item, 1, refused('no')) }])
    }
    expect(outbox.stats()).toMatchObject({ waiting: 0, bytes: 0, dead: 32, evictedDeadLetters: 8 })
    expect(await outbox.dead.list({ limit: 1 })).toMatchObject([{ entry: { item: 8 } }])
    expect(await outbox.dead.redrive(() => true)).toHaveLength(32)
    expect(outbox.stats()).toMatchObject({ waiting: 32, dead: 0 })
  })

  it('H7: a size that is no number costs its item, and one that throws at the end keeps nothing waiting', async () => {
    let isBroken = false
    const sizeOf = (item: number): number => {
      if (isBroken) throw new Error('planted')
      return item
    }
    const outbox = memoryOutbox<number>({ sizeOf })
    expect(() => outbox.enqueue([NaN])).toThrow('sizeOf must answer a number from 0')
    const [entry] = await outbox.enqueue([5])
    isBroken = true
    if (entry?._tag === 'Right')
      await outbox.ack([{ entry: entry.right, outcome: rejected(5, 1, refused('no')) }])
    expect(outbox.stats()).toMatchObject({ waiting: 0, bytes: 0, dead: 1 })
  })

  it('hands out each item in its order with the id that was answered, of thousands too', () => {
    const outbox = memoryOutbox<number>()
    const left: Array<[string, number]> = []
    const add = (count: number): void => {
      const items = Array.from({ length: count }, (_, at) => left.length + at)
      for (const each of outbox.enqueue(items) as ReadonlyArray<Either<never, Entry<number>>>)
        if (each._tag === 'Right') left.push([each.right.id, each.right.item])
    }
    const take = (count: number): void => {
      const leased = outbox.lease(0, { count, retries: 0 }) as ReadonlyArray<Entry<number>>
      expect(leased.map(({ id, item }) => [id, item])).toEqual(left.splice(0, count))
    }
    const sizes = fc.array(fc.integer({ min: 0, max: 3_000 }), { minLength: 4, maxLength: 12 })
    fc.assert(
      fc.property(sizes, (counts) => {
        for (const [at, count] of counts.entries()) {
          if (at % 2 === 0) add(count)
          else take(count)
          void outbox.addDeadLetter?.(0, rejected(0, 1, refused('no')))
        }
        take(left.length)
      }),
      { numRuns: 50 },
    )
    add(3_000)
    const remaining = outbox.takeRemaining() as ReadonlyArray<Entry<number>>
    expect(remaining.map(({ id, item }) => [id, item])).toEqual(left)
  })
})
