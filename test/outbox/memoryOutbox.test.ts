import { describe, expect, it } from 'vitest'
import { ConfigError } from '../../src/core/refusal.ts'
import { rejected } from '../../src/core/outcome.ts'
import { refused } from '../../src/index.ts'
import { memoryOutbox } from '../../src/outbox/index.ts'

describe('memoryOutbox', () => {
  it('answers at once, without promises', () => {
    const outbox = memoryOutbox<string>()
    expect(outbox.enqueue(['a'])).toHaveLength(1)
    expect(outbox.lease(Infinity, { count: 1, retries: 1 })).toMatchObject([{ id: '1', item: 'a' }])
  })

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

  it.each([
    [{ maxCount: 0 }, 'maxCount'],
    [{ maxBytes: 1.5 }, 'maxBytes'],
    [{ keepDead: -1 }, 'keepDead'],
  ])('throws for %j', (options, name) => {
    expect(() => memoryOutbox(options)).toThrow(ConfigError)
    expect(() => memoryOutbox(options)).toThrow(`memoryOutbox options: ${name} must be a whole number`)
  })
})
