/** flush and close. */
import type { Message } from '../../src/client/message.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import { anything, busy, event, many, open, turn, yes, type Answer } from './virtual.ts'
import { left } from 'fp-ts/lib/Either.js'
import { refused } from '../../src/index.ts'
import type { VirtualClock } from '../../src/testing/index.ts'
import { Subject } from 'rxjs'
import { describe, expect, it } from 'vitest'

it('41: what comes during a flush leaves by its own count or time', async () => {
  const { client, clock, requests } = open({ size: 2 }, () => ({ verdict: yes, after: 1 }))
  client.track(event('a'))
  void client.flush()
  await turn()
  for (const id of ['b', 'c', 'd']) client.track(event(id))
  await clock.advance(6_000)
  expect(requests()).toEqual(['0 a', '1 b,c', '5001 d'])
})

it.each([0, 3])('waits for dead letters that were redriven, told after %d ms', async (late) => {
  const refusal = { verdict: left(refused('status', { status: 400 })) }
  const inner = memoryOutbox<Message>()
  const redrive: typeof inner.dead.redrive = async (matches) => {
    const ids = await inner.dead.redrive(matches)
    return new Promise((done) => void clock.schedule(late, () => done(ids)))
  }
  const answer = (_: unknown, __: number, at: number) => (at === 0 ? refusal : { verdict: yes, after: 5 })
  const { client, clock } = open({ size: 1, outbox: { ...inner, dead: { ...inner.dead, redrive } } }, answer)
  client.track(event('a'))
  expect(await client.flush()).toMatchObject({ rejected: 1 })
  expect(client.stats().dead).toBe(1)
  const asked = client.dead.redrive()
  // Its look at the store comes before the answer.
  if (late > 0) void client.flush()
  await clock.advance(late)
  expect(await asked).toBe(1)
  let isOver = false
  void client.flush().then(() => (isOver = true))
  await clock.advance(4 - late)
  expect(isOver).toBe(false)
  await clock.advance(5)
  expect([isOver, client.stats()]).toMatchObject([true, { delivered: 1, dead: 0 }])
})

it('sends what is still being stored, and later what the host redrives in its outbox', async () => {
  const outbox = memoryOutbox<Message>()
  const { enqueue } = outbox
  const options = (clock: VirtualClock) => {
    const slow: typeof enqueue = (items) => clock.sleep(5).then(() => enqueue(items))
    return { outbox: Object.assign(outbox, { enqueue: slow }) }
  }
  const answer = (_: unknown, __: number, at: number) => ({ verdict: at === 0 ? left(refused('no')) : yes })
  const { client, clock, requests } = open(options, answer)
  client.track(event('a'))
  await clock.run(client.flush())
  await outbox.dead.redrive(() => true)
  await clock.advance(5_000)
  expect(requests()).toEqual(['5 a', '5005 a'])
  expect(client.stats()).toMatchObject({ rejected: 1, delivered: 1 })
})

describe('close', () => {
  it('42: before any message, twice, and then everything is refused', async () => {
    const { client, sink, told } = open()
    let isComplete = false
    client.outcomes$.subscribe({ complete: () => (isComplete = true) })
    const closing = client.close()
    expect(client.close()).toBe(closing)
    expect(await closing).toMatchObject({ totals: { accepted: 0 }, abandoned: [] })
    expect(client.track(event('a'))).toMatchObject({ left: { _tag: 'Closed' } })
    expect(client.stats().refusedBy.Closed).toBe(1)
    expect(told.filter(({ _tag }) => _tag === 'NotAccepted')).toMatchObject([{ from: 'client' }])
    await client[Symbol.asyncDispose]()
    // The sink is not its own.
    expect([isComplete, sink.closed]).toEqual([true, []])
  })

  it('waits for full batches of what others add to its store meanwhile', async () => {
    const [inner, added] = [memoryOutbox<Message>(), new Subject<void>()]
    const outbox = { ...inner, watch: (call: () => void) => (added.subscribe(call), () => undefined) }
    const { client, clock, sink } = open({ outbox }, () => ({ verdict: yes, after: 20 }))
    client.track(event('a'))
    void client.close()
    for (let n = 0; n < 150; n++) {
      void inner.enqueue(sink.calls[0]?.item.members ?? [])
      added.next()
      await clock.advance(10)
    }
    expect(sink.calls).toHaveLength(8)
  })
})

it('bounds batches whose results are not stored', async () => {
  const ack = () => new Promise<void>(() => undefined)
  const { client, clock, sink } = open({ size: 2, outbox: { ...memoryOutbox<Message>(), ack } })
  for (const id of many(60)) client.track(event(id))
  await clock.advance(5_000)
  expect(sink.calls).toHaveLength(17)
})

describe('a timeout that is none', () => {
  it('is reported, and the default is taken', async () => {
    const answer: Answer = (_, number) => ({ verdict: number < 4 ? busy : yes })
    const { client, clock, defects } = open({ size: 1 }, answer)
    client.track(event('a'))
    const flushed = client.flush(anything({ timeout: '2000' }))
    const closing = client.close(anything({ timeout: Number.NaN }))
    await clock.advance(60_000)
    expect([await flushed, await closing]).toMatchObject([{ delivered: 1 }, { totals: { delivered: 1 } }])
    expect(defects()).toEqual(['the timeout of flush', 'the timeout of close'])
  })

  const others = [null, {}, { timeout: undefined }, { timeout: -1 }, { timeout: Infinity }]
  it.each(others)('is no %j', async (given) => {
    const { client, defects } = open()
    await client.flush(anything(given))
    await client.close(anything(given))
    expect(defects()).toEqual([])
  })
})

it('a store whose close never answers delays the end of a client by the time of a request, and is reported', async () => {
  const outbox = { ...memoryOutbox<Message>(), close: () => new Promise<void>(() => undefined) }
  const { client, clock, defects } = open({ outbox, size: 1, timeout: 9 }, () => ({ verdict: yes, after: 5 }))
  client.track(event('a'))
  await turn()
  const closing = client.close({ timeout: 0 })
  await clock.advance(13)
  expect(defects()).toEqual([])
  await clock.advance(1)
  expect(await closing).toMatchObject({ abandoned: [], totals: { delivered: 1 } })
  expect([defects(), clock.pending()]).toEqual([['the close of the outbox'], 0])
})

it('sends no half of a batch that is refused in the last 500 ms of a close (DE15)', async () => {
  const refusal = { verdict: left(refused('status', { status: 400 })), after: 300 }
  const { client, clock, requests } = open({ size: 2 }, () => refusal)
  for (const id of ['a', 'b']) client.track(event(id))
  await turn()
  const { abandoned, totals } = await clock.run(client.close({ timeout: 700 }))
  expect([requests(), abandoned.length, totals.waiting]).toEqual([['0 a,b'], 2, 0])
})
