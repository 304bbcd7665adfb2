/** A full queue: what is refused, what is dropped, and how callers wait for room. */
import type { Message, ClientOptions } from '../../src/client/index.ts'
import type { Outcome } from '../../src/index.ts'
import { memoryOutbox } from '../../src/outbox/index.ts'
import type { Event } from '../../src/event/index.ts'
import type { LogEvent } from '../../src/log/index.ts'
import { busy, event, many, open, turn, yes, type World } from './virtual.ts'
import { isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'

const offer = async ({ client }: World, ...ids: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const answers: string[] = []
  for (const id of ids) {
    const answer = client.track(event(id))
    answers.push(isRight(answer) ? 'Accepted' : answer.left._tag)
    await turn()
  }
  return answers
}

const hung = (options: ClientOptions): World => open({ timeout: 1_000_000, ...options }, () => ({}))

describe('when the queue is full', () => {
  it('35: dropOldest: the oldest message that is not in flight, one for each new one', async () => {
    const world = hung({ maxCount: 6, size: 2, overflow: 'dropOldest' })
    // a,b are in flight; the others wait.
    await offer(world, 'a', 'b', 'c', 'd', 'e', 'f')
    expect(world.ended()).toEqual([])
    await offer(world, 'g', 'h')
    expect(world.ended()).toEqual(['Dropped c', 'Dropped d'])
    expect(world.outcomes[0]).toMatchObject({ reason: 'dropOldest', attempts: 0 })
    for (const overflow of ['dropOldest', 'dropNewest'] as const) {
      const meta = ({ messageId }: Event) => void (messageId === 'e' && full.client.close())
      const full: World = hung({ maxCount: 3, size: overflow === 'dropOldest' ? 3 : 2, overflow, meta })
      await offer(full, 'a', 'b', 'c', 'd')
      expect(full.outcomes[0]).toMatchObject({ _tag: 'Dropped', item: { id: 'd' }, reason: 'dropNewest' })
      expect([await offer(full, 'e'), full.outcomes.length]).toEqual([['Closed'], 1])
    }
  })

  it('35: dropOldest drops messages that wait for their retry first', async () => {
    const world = open({ maxCount: 3, size: 2, overflow: 'dropOldest' }, () => ({ verdict: busy }))
    await offer(world, 'a', 'b', 'c', 'd')
    expect(world.outcomes).toMatchObject([{ _tag: 'Dropped', item: { id: 'a' }, attempts: 1 }])
    await offer(world, 'e', 'f')
    expect(world.ended()).toEqual(['Dropped a', 'Dropped b', 'Dropped c'])
  })
})

it('waitUntil receives a promise for each accepted call, which resolves when all has ended', async () => {
  const given: Array<Promise<unknown>> = []
  const world: World = open(
    {
      waitUntil: (ended) => {
        // What it sends comes behind the message that woke it.
        if (given.push(ended) === 1) world.client.track(event('b'))
      },
    },
    () => ({ verdict: yes, after: 10 }),
  )
  world.client.track(event('a'))
  expect(given).toHaveLength(2)
  let done = false
  void given[0]?.then(() => (done = true))
  await world.clock.advance(5_009)
  expect([done, world.requests()]).toEqual([false, ['5000 a,b']])
  await world.clock.advance(1)
  expect(done).toBe(true)
  world.client.track(event('c'))
  void given[2]?.then(() => (done = false))
  await turn()
  expect(done).toBe(true)
})

it.each(['dropOldest', 'dropNewest'] as const)('a listener may send it again: %s', async (overflow) => {
  let heard = 0
  const answers = new Set<string>()
  const again = ({ _tag, item }: Outcome<unknown>): void => {
    // Without an end there would be no test.
    if (_tag !== 'Dropped' || heard++ > 10_000) return
    const answer = world.client.track(event((item as Message).id))
    answers.add(isRight(answer) ? 'Accepted' : answer.left._tag)
  }
  const onEvent = (each: LogEvent): void => (each._tag === 'Ended' ? again(each.outcome) : undefined)
  const world: World = open({ overflow, maxCount: 100, timeout: 1_000_000, onEvent }, () => ({}))
  world.client.outcomes$.subscribe(again)
  expect(await offer(world, ...many(150))).toEqual(Array(150).fill('Accepted'))
  expect([heard > 0, heard < 2_000, answers.has('Full')]).toEqual([true, true, true])
  const { accepted, delivered, dropped, waiting } = world.client.stats()
  expect([waiting <= 100, accepted - delivered - dropped - waiting]).toEqual([true, 0])
})

it('ready waits until a message has left, after Full for its bytes, and for nothing if it is empty', async () => {
  const { client } = open({ outbox: memoryOutbox<Message>({ maxBytes: 1 }) })
  expect(client.track(event('a'))).toMatchObject({ left: { _tag: 'Full', bound: 'bytes' } })
  await client.ready()
  const world = open({ maxMessageBytes: 200, maxBytes: 660, size: 1 }, () => ({ verdict: yes, after: 10 }))
  expect(await offer(world, 'a', 'b')).toEqual(['Accepted', 'Full'])
  let isReady = false
  void world.client.ready().then(() => (isReady = true))
  await world.clock.advance(9)
  expect(isReady).toBe(false)
  await world.clock.advance(1)
  expect([isReady, await offer(world, 'b')]).toEqual([true, ['Accepted']])
})

it('lets one caller in for each place, in their order', async () => {
  const world = open({ maxCount: 20, size: 5 }, () => ({ verdict: yes, after: 2 }))
  const answers: unknown[] = []
  const produce = async (name: string): Promise<void> => {
    for (const id of many(20)) {
      await world.client.ready()
      answers.push(world.client.track(event(`${name} ${id}`))._tag)
    }
  }
  for (const name of many(10)) void produce(name)
  await world.clock.advance(60_000)
  expect(answers).toEqual(Array(200).fill('Right'))
})

describe('a queue that is smaller than a batch', () => {
  const bytes = { maxBytes: 4_600, maxMessageBytes: 200 }
  const small = [{ maxCount: 10 }, bytes, { outbox: memoryOutbox<Message>({ maxCount: 10 }) }]
  it.each<ClientOptions>(small)('sends when it is full, before the time: %j', async (options) => {
    const world = open({ ...options, flushAfter: Infinity }, () => ({ verdict: yes, after: 2 }))
    const produce = async (): Promise<number> => {
      for (const id of many(50)) {
        await world.client.ready()
        while (!isRight(world.client.track(event(id)))) await world.client.ready()
      }
      return world.clock.monotonic()
    }
    expect(await world.clock.run(produce())).toBe(8)
    expect(world.sink.calls.map(({ item }) => [item.members.length, item.closedBy])).toEqual(
      Array.from({ length: 5 }, () => [10, 'flush']),
    )
  })

  it('closes no batch early while one is on its way', async () => {
    const world = open({ maxCount: 10, size: 8 }, () => ({}))
    await offer(world, ...many(11))
    expect(world.client.stats()).toMatchObject({ batches: 1, waiting: 10, refused: 1 })
  })
})
