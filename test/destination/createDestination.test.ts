import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memoryOutbox, type Nack } from '../../src/outbox/index.ts'
import { both, deadline, exponential } from '../../src/policy/index.ts'
import { toWebhookBody, type Event } from '../../src/event/index.ts'
import type { Payload } from '../../src/index.ts'
import { webhookDestination } from '../../src/destination/createDestination.ts'
import type { CloseResult } from '../../src/outbox/close.ts'
import { anyEvent } from '../../src/testing/laws/index.ts'
import { forAllAsync, throwing } from '../support/check.ts'
import { mutated } from '../support/mutated.ts'
import { busy, gone, open, track, yes, type Answer } from './virtual.ts'

const nowhere = { webhooks: [{ url: 'http://127.0.0.1:9/' }] }

describe('close', () => {
  it('answers one promise, also inside a callback of the close', async () => {
    const { clock, destination } = open([() => ({ verdict: busy })])
    const inside: Array<Promise<CloseResult<Payload<Event>>>> = []
    destination.outcomes$.subscribe(() => inside.push(destination.close()))
    await destination.send(track('m1'))
    const closing = destination.close({ timeout: 0 })
    await clock.advance(10_000)
    expect([inside, (await closing).abandoned.map(({ id }) => id)]).toEqual([[closing], ['m1']])
  })

  it('inside an outcome lets that request end', async () => {
    const { clock, destination, urls } = open([() => ({ verdict: yes, after: 10, rest: 20 })])
    let closed = false
    destination.outcomes$.subscribe(() => void destination.close().then(() => (closed = true)))
    await destination.send(track('m1'))
    await clock.advance(29)
    expect([closed, urls[0]?.closed]).toEqual([false, []])
    await clock.advance(1)
    expect([closed, urls[0]?.calls[0]?.ended]).toEqual([true, 'completed'])
  })

  it('starts nothing in its last 500 ms, and cuts what runs 500 ms after its time (H19, DE15)', async () => {
    const slow = () => ({ verdict: yes, after: 400 })
    const { clock, destination, urls, outcomes } = open([slow], { concurrency: 2 })
    for (let id = 0; id < 10; id++) await destination.send(track(String(id)))
    const closing = destination.close({ timeout: 1_000 })
    await clock.advance(1_000)
    const { totals, abandoned } = await closing
    // Two at a time, at 0 and at 400 ms; those of 800 ms would have ended at 1,200.
    expect([urls[0]?.calls.length, totals.delivered, abandoned.length]).toEqual([4, 4, 6])
    expect(outcomes.filter(({ attempts }) => attempts > 0)).toHaveLength(4)
  })

  it.each([0, 300, 3_000])('ends 500 ms after %d ms, and names what it cuts (H19)', async (timeout) => {
    const hangs = () => ({ verdict: yes, after: Infinity })
    const { clock, destination, outcomes } = open([hangs], { concurrency: 1 })
    for (const id of ['1', '2']) await destination.send(track(id))
    let closedAt = NaN
    void destination.close({ timeout }).then(() => (closedAt = clock.monotonic()))
    await clock.advance(60_000)
    expect(closedAt).toBe(timeout + 500)
    const failure = { reason: 'closed', detail: expect.stringContaining('may have arrived') as unknown }
    const waited = { attempts: 0, lastFailure: undefined }
    expect(outcomes).toMatchObject([{ _tag: 'Abandoned', attempts: 1, lastFailure: failure }, waited])
  })

  it('stores the start of an attempt that it cuts, for a restart (DE4), which tells how it ends', async () => {
    const kept: Array<Nack<Payload<Event>>> = []
    const inner = memoryOutbox<Payload<Event>>()
    const nack = (list: Readonly<typeof kept>) => (kept.push(...list), inner.nack(list))
    const outbox = { ...inner, keeps: () => true, takeRemaining: () => [], nack }
    const answer: Answer = (id, number) =>
      id === 'retried' && number === 1 ? { verdict: busy } : { verdict: yes, after: Infinity }
    const { clock, destination } = open([answer], { outbox })
    const firstAttemptAt = clock.now()
    for (const id of ['cut', 'retried']) await destination.send(track(id))
    await clock.advance(1_100)
    void destination.close({ timeout: 0 })
    await clock.advance(500)
    expect(kept.slice(1)).toMatchObject([
      { entry: { item: { id: 'cut' }, firstAttemptAt, progress: undefined } },
      { entry: { item: { id: 'retried' }, firstAttemptAt, progress: { attempts: 1 } } },
    ])
    const next = open([() => ({ verdict: yes })], { outbox, clock })
    await clock.settle()
    expect(next.ended().toSorted()).toEqual(['Delivered cut', 'Delivered retried'])
  })

  it.each([
    ['fail', 0, () => Promise.reject(new Error('stuck'))],
    ['wait for ever', 1_100 + 1_600, () => new Promise<never>(() => undefined)],
  ])('logs a sink and an outbox that %s at their close', async (_, within, close) => {
    const options = { outbox: { ...memoryOutbox<Payload<Event>>(), close }, timeout: 1_100 }
    const { clock, destination, defects } = open([() => ({ verdict: yes })], options, close)
    let completedAt = NaN
    destination.outcomes$.subscribe({ complete: () => (completedAt = clock.monotonic()) })
    await destination.send(track('m1'))
    const closing = destination.close()
    await clock.advance(60_000)
    expect([completedAt, defects()]).toEqual([within, ['the close of the sink', 'the close of the outbox']])
    expect((await closing).totals).toMatchObject({ delivered: 1 })
    expect(clock.pending()).toBe(0)
  })

  it('resolves ready and idle; send answers Closed', async () => {
    const { clock, destination } = open([() => ({ verdict: busy })], { maxCount: 1 })
    await destination.send(track('m1'))
    const waited: string[] = []
    void destination.ready().then(() => waited.push('room'))
    void destination.idle().then(() => waited.push('rest'))
    await clock.advance(0)
    expect(waited).toEqual([])
    expect(await destination.send(track('m2'))).toMatchObject({ left: { _tag: 'Full' } })
    const closing = destination.close()
    expect(await destination.send(track('m2'))).toMatchObject({ left: { _tag: 'Closed' } })
    await clock.advance(0)
    expect(waited).toEqual(['room'])
    await clock.run(closing)
    expect(waited).toEqual(['room', 'rest'])
    await Promise.all([destination[Symbol.asyncDispose](), destination.idle(), destination.ready()])
    expect(await destination.redrive()).toBe(0)
  })
})

it.each([true, false])('orders an outbox without the key, and what the host redrives: %s', async (isMade) => {
  const outbox = Object.assign(memoryOutbox<Payload<Event>>(), !isMade && { orders: true as const })
  const answer: Answer = (_, __, at) => ({ verdict: at === 0 ? gone : yes, after: 1 })
  const given = isMade ? () => outbox : outbox
  const { clock, destination, urls } = open([answer], { outbox: given, orderBy: () => 7 as never })
  for (const id of ['m1', 'm2']) await destination.send(track(id))
  await clock.advance(2)
  await outbox.dead.redrive(() => true)
  await clock.advance(1)
  expect(urls[0]?.calls.map(({ startedAt }) => startedAt)).toEqual([0, 1, 2])
  expect(destination.stats()).toMatchObject({ rejected: 1, delivered: 2 })
})

it('ready waits until an event has left, after Full for its bytes', async () => {
  const { clock, destination } = open([() => ({ verdict: yes, after: 10 })], { maxBytes: 700 })
  const call = track('m2')
  await destination.send(track('m1'))
  expect(await destination.send(call)).toMatchObject({ left: { _tag: 'Full', input: call } })
  let isReady = false
  void destination.ready().then(() => (isReady = true))
  await clock.advance(9)
  expect(isReady).toBe(false)
  await clock.advance(1)
  expect([isReady, (await destination.send(call))._tag]).toEqual([true, 'Right'])
})

it('an attempt that outlives its deadline is reported with the time, and its dead letter is dated', async () => {
  const { clock, destination, told } = open([() => ({ verdict: gone, after: 1_500 })], {
    retry: both(exponential(), deadline(1_000)),
  })
  await destination.send(track('m1'))
  await clock.advance(1_500)
  expect(told.find(({ _tag }) => _tag === 'Attempted')).toMatchObject({ sink: 'url0', late: 500 })
  expect(await destination.dead.list()).toMatchObject([{ at: clock.now() }])
  expect([destination.stats().dead, await destination.redrive()]).toEqual([1, 1])
})

it('send answers NotStored if newId throws: nothing is wrong with the call', async () => {
  const { destination, defects } = open([() => ({ verdict: yes })], { newId: throwing('no ids today') })
  const { messageId, ...without } = track('m1')
  expect(await destination.send(without)).toMatchObject({ left: { _tag: 'NotStored', input: without } })
  expect((await destination.send({ ...without, messageId: 'm2' }))._tag).toBe('Right')
  expect([messageId, defects()]).toEqual(['m1', ['newId or the clock']])
})

it('its URLs have its egress rules', async () => {
  const options = { egress: { allow: ['169.254.7.7'] }, logger: false } as const
  const destination = webhookDestination({ webhooks: [{ url: 'http://169.254.7.7/' }] }, options)
  expect(await destination.close()).toMatchObject({ totals: { accepted: 0 } })
})

it('ready goes on when an event could not be stored, and send answers NotStored', async () => {
  let fail = (): void => undefined
  const enqueue = () => new Promise<never>((_, reject) => (fail = () => reject(new Error('disk'))))
  const outbox = { ...memoryOutbox<Payload<Event>>({ maxCount: 1 }), enqueue }
  const { destination, clock } = open([() => ({ verdict: yes })], { outbox })
  const sending = destination.send(track('m1'))
  const ready = destination.ready().then(() => 'ready')
  fail()
  expect(await sending).toMatchObject({ left: { _tag: 'NotStored' } })
  expect(await Promise.race([ready, clock.settle().then(() => 'waits')])).toBe('ready')
})

it('looks for keys that an event does not have in its first hundred calls, though nothing listens', async () => {
  for (const calls of [99, 100]) {
    const lines: string[] = []
    const warn = (line: string) => lines.push(line)
    const logger = { debug: warn, info: warn, warn, error: warn }
    const destination = webhookDestination(nowhere, { logger })
    for (let n = 0; n < calls; n++) await destination.send(track('m'))
    await destination.send({ ...track('n'), ...{ propertes: {} } })
    expect(lines.filter((line) => line.includes('propertes'))).toHaveLength(calls < 100 ? 1 : 0)
    await destination.close({ timeout: 0 })
  }
})

it('events that are refused come out of refusals$, as TooLarge if they can never fit', async () => {
  const destination = webhookDestination(nowhere, { maxBytes: 1, logger: false })
  const refusals: string[] = []
  let isOver = false
  const complete = () => (isOver = true)
  destination.refusals$.subscribe({ next: ({ _tag }) => refusals.push(_tag), complete })
  await destination.send({ type: 'track', event: 'without an id' } as never)
  const big = track('big', 'x'.repeat(64_000))
  const tooLarge = { _tag: 'TooLarge', limit: 64_000, id: 'big' }
  expect(await destination.send(big)).toMatchObject({ left: tooLarge })
  expect(await destination.send(track('m1'))).toMatchObject({ left: { ...tooLarge, limit: 1, id: 'm1' } })
  destination.disable()
  await destination.send({ type: 'track', event: 'E', userId: 'u' })
  await destination.close({ timeout: 0 })
  expect([refusals, isOver]).toEqual([['Invalid', 'TooLarge', 'TooLarge', 'Disabled'], true])
  expect(destination.stats().refused).toBe(4)
  await expect(destination.sendIn(() => undefined, track('m2'))).rejects.toThrow('needs an outbox')
})

it('EV8: what the caller changes after `send` changes nothing that is sent or seen', () =>
  forAllAsync(anyEvent, fc.nat(), async (event, seed) => {
    const { clock, destination, urls, outcomes } = open([() => ({ verdict: yes })])
    const call = structuredClone(event)
    const answer = destination.send(call)
    mutated(call, seed)
    await answer
    await clock.advance(1)
    const sent = urls[0]?.calls.map(({ item }) => [item.items, item.text])
    expect(sent).toEqual([[[event], JSON.stringify(toWebhookBody(event))]])
    expect(outcomes.map(({ item }) => item.items)).toEqual([[event]])
  }))
