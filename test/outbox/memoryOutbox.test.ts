import { describe, expect, it } from 'vitest'
import { rejected } from '../../src/core/outcome.ts'
import { refused } from '../../src/index.ts'
import { memoryOutbox } from '../../src/outbox/index.ts'

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

  it('hands out each of thousands of items in its order, with the id that was answered', async () => {
    const outbox = memoryOutbox<number>()
    const added = await outbox.enqueue(Array.from({ length: 5_000 }, (_, at) => at))
    const ids = added.map((each) => (each._tag === 'Right' ? each.right.id : undefined))
    await outbox.addDeadLetter?.(0, rejected(0, 1, refused('no')))
    const leased = await outbox.lease(0, { count: 3_000, retries: 0 })
    const handed = [...leased, ...(await outbox.takeRemaining())]
    expect(handed.map(({ id }) => id)).toEqual(ids)
    expect(handed.map(({ item }) => item)).toEqual([...ids.keys()])
  })
})
