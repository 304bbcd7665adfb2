/** A queue that is full: of those who send again what was dropped, and of a queue that is smaller than a batch. */
import { isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { event, open, yes } from './virtual.ts'
import type { World } from './virtual.ts'

const many = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, n) => `m${String(n)}`)

const accounted = ({ client }: World): number => {
  const { accepted, delivered, dropped, waiting } = client.stats()
  return accepted - delivered - dropped - waiting
}

describe('whoever sends a dropped message again inside of its outcome', () => {
  it.each(['dropOldest', 'dropNewest'] as const)('%s: is answered, and comes to an end', (overflow) => {
    const world = open({ overflow, maxCount: 100, timeout: 1_000_000 }, () => ({}))
    let heard = 0
    const answers = new Set<string>()
    world.client.outcomes$.subscribe(({ _tag, item }) => {
      // Without an end there would be no test.
      if (_tag !== 'Dropped' || heard++ > 10_000) return
      const answer = world.client.track(event(item.id))
      answers.add(isRight(answer) ? 'Accepted' : answer.left._tag)
    })
    for (const id of many(150)) expect(isRight(world.client.track(event(id)))).toBe(true)
    expect(heard).toBeGreaterThan(0)
    expect(heard).toBeLessThan(2_000)
    expect(answers).toContain('Full')
    expect(world.client.stats().waiting).toBeLessThanOrEqual(100)
    expect(accounted(world)).toBe(0)
  })

  it.each(['dropOldest', 'dropNewest'] as const)('%s: in `onEvent` too', (overflow) => {
    let heard = 0
    const world: World = open(
      {
        overflow,
        maxCount: 10,
        size: 2,
        timeout: 1_000_000,
        onEvent: (happening) => {
          if (happening._tag !== 'Ended' || happening.outcome._tag !== 'Dropped' || heard++ > 1_000) return
          world.client.track(event('again'))
        },
      },
      () => ({}),
    )
    for (const id of many(30)) expect(isRight(world.client.track(event(id)))).toBe(true)
    expect(heard).toBeGreaterThan(0)
    expect(heard).toBeLessThan(100)
    expect(accounted(world)).toBe(0)
  })
})

describe('a queue that is smaller than a batch', () => {
  const produced = async (world: World, count: number): Promise<number> => {
    let at = -1
    const produce = async (): Promise<void> => {
      for (const id of many(count)) {
        await world.client.ready()
        while (!isRight(world.client.track(event(id)))) await world.client.ready()
      }
      at = world.clock.monotonic()
    }
    void produce()
    await world.clock.advance(60_000)
    return at
  }

  it.each([5_000, Infinity])(
    'sends when it is full, and nobody waits for the clock: flushAfter %d',
    async (flushAfter) => {
      const world = open({ maxCount: 10, flushAfter }, () => ({ verdict: yes, after: 2 }))
      expect(await produced(world, 50)).toBe(8)
      expect(world.sink.calls.map(({ item }) => [item.members.length, item.closedBy])).toEqual(
        Array.from({ length: 5 }, () => [10, 'flush']),
      )
    },
  )

  it('with a bound of bytes too, which shows only at the next message', async () => {
    const probe = open()
    probe.client.track(event('m00'))
    const { bytes } = probe.client.stats()
    const limits = { maxMessage: bytes, maxBytes: 3 * bytes + 5, flushAfter: Infinity }
    const world = open(limits, () => ({ verdict: yes, after: 2 }))
    const at = await produced(world, 12)
    expect(at).toBeGreaterThanOrEqual(0)
    expect(at).toBeLessThan(20)
  })

  it('drops nothing of what an endpoint would take', () => {
    const world = open({ maxCount: 10, overflow: 'dropOldest' })
    for (const id of many(100)) world.client.track(event(id))
    expect(world.client.stats()).toMatchObject({ delivered: 100, dropped: 0 })
  })

  it('closes no batch early while one is on its way', () => {
    const world = open({ maxCount: 10, size: 8 }, () => ({}))
    for (const id of many(11)) world.client.track(event(id))
    expect(world.client.stats()).toMatchObject({ batches: 1, waiting: 10, refused: 1 })
  })
})

describe('lanes', () => {
  it('are made when they are first used, and their time counts from the creation of the client', async () => {
    const world = open({ concurrency: 1_000_000, key: ({ userId }) => userId })
    world.clock.tick(7_000)
    world.client.track(event('a', 'one'))
    world.client.track(event('b', 'two'))
    expect(world.requests()).toEqual(['7000 a', '7000 b'])
    await world.client.close()
  })
})

describe('waitUntil', () => {
  it('what it sends comes behind the message that woke it', async () => {
    let woken = false
    const world: World = open({
      waitUntil: () => {
        if (!woken) world.client.track(event('second'))
        woken = true
      },
    })
    world.client.track(event('first'))
    await world.client.flush()
    expect(world.requests()).toEqual(['0 first,second'])
  })
})
