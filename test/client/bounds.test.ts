import { isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import type { ClientOptions } from '../../src/client/ClientOptions.ts'
import { bodyOf } from '../../src/event/payload.ts'
import { show } from '../../src/core/refusal.ts'
import { both, exponential, notBefore } from '../../src/policy/retryPolicy.ts'
import { busy, event, open, yes } from './virtual.ts'
import type { World } from './virtual.ts'

const offer = ({ client }: World, ...ids: ReadonlyArray<string>): ReadonlyArray<string> =>
  ids.map((id) => {
    const answer = client.track(event(id))
    return isRight(answer) ? 'Accepted' : answer.left._tag
  })

const hung = (options: ClientOptions): World => open({ timeout: 1_000_000, ...options }, () => ({}))

describe('when the queue is full', () => {
  it('error: the call is answered Full, with what to do about it', () => {
    const world = hung({ maxCount: 2 })
    expect(offer(world, 'a', 'b', 'c')).toEqual(['Accepted', 'Accepted', 'Full'])
    const answer = world.client.track(event('d'))
    expect(answer).toMatchObject({ left: { bound: 'count', limit: 2, input: event('d') } })
    if (!isRight(answer)) expect(show(answer.left)).toContain('ready()')
    expect(world.client.stats()).toMatchObject({ accepted: 2, refusedBy: { Full: 2 }, waiting: 2 })
  })

  it('error: bytes are a bound too', () => {
    const probe = open()
    probe.client.track(event('a'))
    const { bytes } = probe.client.stats()
    const world = hung({ maxMessage: bytes, maxBytes: 2 * bytes })
    expect(offer(world, 'a', 'b', 'c')).toEqual(['Accepted', 'Accepted', 'Full'])
    expect(world.client.track(event('d'))).toMatchObject({ left: { bound: 'bytes', limit: 2 * bytes } })
  })

  it('dropNewest: it is accepted, and has its outcome at once', () => {
    const world = hung({ maxCount: 2, overflow: 'dropNewest' })
    expect(offer(world, 'a', 'b', 'c')).toEqual(['Accepted', 'Accepted', 'Accepted'])
    expect(world.ended()).toEqual(['Dropped c'])
    expect(world.outcomes[0]).toMatchObject({ reason: 'dropNewest', attempts: 0 })
    expect(world.client.stats()).toMatchObject({ accepted: 3, dropped: 1, waiting: 2 })
  })

  it('35: dropOldest: the oldest batch that is in no request, then the batch that is filled, then the new message', () => {
    const world = hung({ maxCount: 6, size: 2, overflow: 'dropOldest' })
    // a,b is in its request; c,d waits; e is alone.
    offer(world, 'a', 'b', 'c', 'd', 'e', 'f')
    expect(world.ended()).toEqual([])
    offer(world, 'g')
    expect(world.ended()).toEqual(['Dropped c', 'Dropped d'])
    offer(world, 'h', 'i')
    expect(world.ended().slice(2)).toEqual(['Dropped e', 'Dropped f'])
    const busyWorld = hung({ maxCount: 3, size: 3, overflow: 'dropOldest' })
    offer(busyWorld, 'a', 'b', 'c', 'd')
    expect(busyWorld.outcomes[0]).toMatchObject({ _tag: 'Dropped', item: { id: 'd' }, reason: 'dropNewest' })
    const filling = hung({ maxCount: 3, size: 2, overflow: 'dropOldest' })
    offer(filling, 'a', 'b', 'c', 'd')
    expect(filling.ended()).toEqual(['Dropped c'])
  })

  it('35: dropOldest during an outage: what waits for its retry is the oldest, and what was taken of it stays taken', async () => {
    const partly = (batch: { readonly members: ReadonlyArray<unknown> }) => ({
      verdict: {
        _tag: 'Left' as const,
        left: {
          _tag: 'PartlyFailed' as const,
          members: batch.members.map((_, at) => (at === 0 ? yes : busy)),
        },
      },
    })
    const world = open({ maxCount: 2, size: 2, overflow: 'dropOldest' }, partly)
    offer(world, 'a', 'b', 'c')
    expect(world.ended()).toEqual(['Delivered a', 'Dropped b'])
    await world.clock.advance(20_000)
    await world.client.close({ timeout: 0 })
    expect(world.ended().slice(2)).toEqual(['Delivered c'])
    expect(world.clock.pending()).toBe(0)
  })

  it('35: an outage longer than the queue: with `ready` nothing is lost', async () => {
    let down = true
    const { client, clock, sink } = open({ maxCount: 10, size: 5 }, () => ({ verdict: down ? busy : yes }))
    let sent = 0
    const produce = async (): Promise<void> => {
      while (sent < 200) {
        await client.ready()
        if (isRight(client.track(event(`m${String(sent)}`)))) sent++
      }
    }
    const produced = produce()
    await clock.advance(3_600_000)
    expect(sent).toBe(10)
    down = false
    await clock.advance(3_600_000)
    await produced
    expect(await client.flush()).toMatchObject({ accepted: 200, delivered: 200 })
    const ids = sink.calls.flatMap(({ item }, at) =>
      at === sink.calls.findLastIndex((each) => each.item.id === item.id)
        ? item.members.map(({ id }) => id)
        : [],
    )
    expect(ids).toEqual(Array.from({ length: 200 }, (_, n) => `m${String(n)}`))
  })

  it('48: a stalled endpoint and 50,000 calls: the bounds hold at every moment', () => {
    for (const overflow of ['error', 'dropNewest', 'dropOldest'] as const) {
      const { client } = open({ overflow, maxCount: 1_000, onEvent: () => undefined }, () => ({}))
      for (let n = 0; n < 50_000; n++) {
        client.track(event(`m${String(n)}`))
        if (n % 1_000 === 0) expect(client.stats().waiting).toBeLessThanOrEqual(1_000)
      }
      const { accepted, dropped, waiting, refused } = client.stats()
      expect([accepted + refused, accepted - dropped - waiting]).toEqual([50_000, 0])
      expect(waiting).toBeGreaterThan(900)
    }
  })
})

describe('the order of messages', () => {
  it('49: one request at a time: later batches wait for a retry', async () => {
    const world = open({ size: 1 }, (_batch, number) => ({ verdict: number < 3 ? busy : yes, after: 5 }))
    offer(world, 'a', 'b')
    await world.clock.advance(20_000)
    expect(world.requests().map((line) => line.split(' ')[1])).toEqual(['a', 'a', 'a', 'b', 'b', 'b'])
    expect(world.ended()).toEqual(['Delivered a', 'Delivered b'])
  })

  it('49: several at a time keep the order within a key, and a failing key delays no other', async () => {
    const world = open({ size: 1, concurrency: 4, key: ({ userId }) => userId }, (batch) => ({
      verdict: bodyOf(batch, 0).includes('"userId":"sick"') ? busy : yes,
    }))
    const users = ['sick', 'a', 'b', 'c', 'd', 'e']
    for (let n = 0; n < 30; n++) world.client.track(event(`${users[n % 6] ?? ''}${String(n)}`, users[n % 6]))
    await world.clock.advance(10)
    const delivered = world.outcomes.map(({ item }) => item.id)
    for (const user of users.slice(1)) {
      const own = delivered.filter((id) => id.startsWith(user)).map((id) => Number(id.slice(1)))
      expect(own).toEqual(own.toSorted((a, b) => a - b))
    }
    // Those that share the lane of the sick one wait behind it; the others are all through.
    expect(delivered.length).toBeGreaterThanOrEqual(10)
    expect(delivered.some((id) => id.startsWith('sick'))).toBe(false)
  })

  it('without a key several requests go at the same time', () => {
    const world = hung({ size: 1, concurrency: 3 })
    offer(world, 'a', 'b', 'c', 'd')
    expect(world.requests()).toEqual(['0 a', '0 b', '0 c'])
  })

  it('31: one Retry-After holds back all requests', async () => {
    const retry = both(exponential(), notBefore)
    const world = open({ size: 1, concurrency: 4, retry }, (_batch, _number, index) =>
      index === 0
        ? {
            verdict: {
              _tag: 'Left',
              left: {
                _tag: 'Retryable',
                reason: 'status',
                status: 429,
                notBefore: Date.UTC(2026, 0, 1) + 2_000,
              },
            },
          }
        : { verdict: yes },
    )
    offer(world, 'a', 'b', 'c')
    await world.clock.advance(1_999)
    expect(world.requests()).toEqual(['0 a'])
    await world.clock.advance(1)
    expect(
      world
        .requests()
        .slice(1)
        .map((line) => line.split(' ')[0]),
    ).toEqual(['2000', '2000', '2000'])
  })
})

describe('waitUntil', () => {
  it('is given one promise for each time of work, which resolves when all has ended', async () => {
    const given: Array<Promise<unknown>> = []
    const { client, clock } = open({ waitUntil: (ended) => void given.push(ended) }, () => ({
      verdict: yes,
      after: 10,
    }))
    client.track(event('a'))
    client.track(event('b'))
    expect(given).toHaveLength(1)
    let done = false
    void given[0]?.then(() => {
      done = true
    })
    await clock.advance(5_009)
    expect(done).toBe(false)
    await clock.advance(1)
    expect(done).toBe(true)
    client.track(event('c'))
    expect(given).toHaveLength(2)
    const closing = client.close()
    await clock.advance(10)
    await closing
    await given[1]
  })
})
