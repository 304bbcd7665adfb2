import { left, right } from 'fp-ts/lib/Either.js'
import { request as httpRequest } from 'node:http'
import { Readable } from 'node:stream'
import { of } from 'rxjs'
import { request } from 'undici'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { deliver, failover, lift, onlyAttempt, partlyFailed, refused, retryable } from '../../src/index.ts'
import { sink, systemClock, bodyOf, type Clock, type Failure, type Handler } from '../../src/index.ts'
import type { Sink, SinkOptions, Verdict, WaitOptions, Payload } from '../../src/index.ts'
import type { LogEvent } from '../../src/log/index.ts'
import { webhook } from '../../src/http/webhook.ts'
import { ndjson } from '../../src/sink/ndjson.ts'
import { virtualClock } from '../../src/testing/index.ts'
import { deliverOnce, hear, payloadOf } from './deliverOnce.ts'
import { subscribeTo } from '../../src/sink/layer.ts'
import { receiverOf } from '../support/http.ts'
import { throwing } from '../support/check.ts'

const heard = async (mine: Sink<number>): Promise<ReadonlyArray<unknown>> => {
  const { told } = hear(mine, 1)
  await virtualClock().settle()
  return told
}

/** A Promise may reject with anything, whatever the lint says. */
const rejecting = (reason: unknown): Promise<never> => Promise.resolve().then(throwing(reason))

const delivered = right({ sink: 'mine' })

test('the body of a Response is cancelled, and one that was read is left alone', async () => {
  const [unread, read] = [new Response('a body'), new Response('a body')]
  await read.text()
  await heard(sink('mine', async () => unread))
  const told = await heard(sink('mine', async () => read))
  expect(told).toEqual([right({ sink: 'mine', status: 200 }), 'complete'])
  expect(unread.bodyUsed).toBe(true)
})

describe('the answer of an HTTP client', () => {
  const verdictOn = async (value: unknown) => (await heard(sink('mine', async () => value)))[0]
  const failed = { _tag: 'Left', left: { _tag: 'Retryable', reason: 'status', status: 500 } }

  const failures = [{ status: 500 }, { statusCode: 500, status: 'error' }, { status: 500, data: {} }]
  test.each([...failures, { statusCode: 500 }])('seed 2: %j is judged by its status', async (value) =>
    expect(await verdictOn(value)).toMatchObject(failed),
  )
  test.each([200, 204, 299])('status %d is delivered', async (status) =>
    expect(await verdictOn({ status })).toEqual(right({ sink: 'mine', status })),
  )
  test.each([404, 301, 100])('status %d is final', async (status) =>
    expect(await verdictOn({ status })).toMatchObject({ left: { _tag: 'Refused' } }),
  )
  const none = [{ status: 99 }, { status: 600 }, { status: 500.5 }, { status: '500' }, { statusCode: null }]
  test.each([...none, {}, 500, [500]])('%j is a value like any other', async (value) =>
    expect(await verdictOn(value)).toEqual(delivered),
  )
  test.each([{ 'retry-after': '2' }, new Headers({ 'Retry-After': '2' }), { 'retry-after': ['2', '9'] }])(
    'its Retry-After counts: %o',
    async (headers) => {
      const before = Math.floor(systemClock.now())
      const verdict = await verdictOn({ statusCode: 503, headers })
      expect(verdict).toMatchObject({ left: { notBefore: expect.any(Number) as number } })
      const { left: failure } = verdict as { left: { notBefore: number } }
      expect(failure.notBefore - before).toBeGreaterThanOrEqual(1_900)
    },
  )

  const clients: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
    'undici.request': (url) => request(url, { method: 'POST', body: '{}' }),
    'node:http': (url) =>
      new Promise((resolve, reject) => {
        httpRequest(url, { method: 'POST' }, resolve).on('error', reject).end('{}')
      }),
    fetch: (url) => fetch(url, { method: 'POST', body: '{}' }),
  }
  test.each(Object.entries(clients))('seed 2: %s: a 503 fails, and holds no connection', async (_, post) => {
    const receiver = await receiverOf(() => ({ do: 'hugeBody', code: 503, bytes: 3_000_000 }))
    const posting = sink('mine', () => post(receiver.url))
    const left = { _tag: 'Retryable', status: 503 }
    for (let n = 0; n < 3; n++) expect((await deliverOnce(posting, 1)).verdicts).toMatchObject([{ left }])
    // The receiver itself ends a connection that stands still after 6 s.
    await expect.poll(receiver.connections, { timeout: 5_000 }).toBe(0)
  })

  test('a body that does not end within 5 s is destroyed, and one that ended leaves no timer', async () => {
    const clock = virtualClock()
    const endless = new Readable({ read: () => undefined })
    const answering = (body: Readable) => sink('mine', async () => ({ statusCode: 200, body }))
    for (const body of [endless, Readable.from(['a'])]) hear(answering(body), 1, { ...onlyAttempt, clock })
    await expect.poll(clock.pending).toBe(1)
    await clock.advance(4_999)
    expect(endless.destroyed).toBe(false)
    await clock.advance(1)
    expect(endless.destroyed).toBe(true)
  })

  test('a body that the host reads is left alone', async () => {
    const body = Readable.from(['a'.repeat(20_000), 'b'])
    const text = (async () => (await body.toArray()).join(''))()
    await verdictOn({ statusCode: 200, body })
    expect((await text).length).toBe(20_001)
  })
})

describe('a sink that was closed', () => {
  const closing = (name = 'mine') => sink(name, () => delivered, { close: async () => undefined })

  test('C7: answers Retryable, if it has something to close', async () => {
    const [mine, without] = [closing(), sink('mine', () => delivered)]
    await mine.close()
    await without.close()
    expect((await heard(mine))[0]).toMatchObject({ left: { _tag: 'Retryable', reason: 'closed' } })
    expect((await heard(without))[0]).toEqual(delivered)
  })

  test.each<readonly [string, (clock: Clock) => Sink<Payload<unknown>>]>([
    ['a sink', () => closing()],
    ['a webhook', () => webhook({ url: 'http://127.0.0.1:9/' })],
    ['a file', () => ndjson('/nowhere/at/all')],
    ['a sink of a failover', () => failover([closing(), closing('other')])],
  ])('C7: %s: what waits does not end by it, and one Defect names it', async (_, make) => {
    const clock = virtualClock()
    const made = make(clock)
    await made.close({ timeout: 0 })
    const events: LogEvent[] = []
    const ends: unknown[] = []
    const done = of(payloadOf('1'), payloadOf('2'))
      .pipe(lift(), deliver(made, { clock, onEvent: (event: LogEvent): unknown => events.push(event) }))
      .subscribe((end) => ends.push(end))
    await clock.advance(5 * 3_600_000)
    done.unsubscribe()
    expect(ends).toEqual([])
    const defects = events.flatMap((event) => (event._tag === 'Defect' ? [String(event.error)] : []))
    expect(new Set(defects).size).toBe(defects.length)
    for (const name of made.name.split(' > ')) expect(defects.join()).toContain(`the sink ${name} was closed`)
  })
})

test.each<readonly [string, unknown]>([
  ['false', false],
  ['a Failure that is not in a Left', refused('gone')],
  ['a Left of a text', left('boom')],
  ['a Left of nothing', left(undefined)],
  ['a list of Eithers', [delivered, left(refused('gone'))]],
  ['what Promise.allSettled says of a row that failed', [{ status: 'rejected', reason: new Error('gone') }]],
  ['a Right of a failure', right(refused('gone'))],
  ['a Right of an Either', right(delivered)],
  ['a TaskEither of an async function', async () => delivered],
  ['a list with holes', left(partlyFailed(Object.assign(new Array(2), { 1: delivered })))],
  ['an empty list', left(partlyFailed([]))],
])('an answer that says neither yes nor no is a defect: %s', async (_name, value) => {
  const told = await heard(sink('mine', async () => value))
  expect(told).toEqual(['defect', expect.any(TypeError)])
  const advice = 'to fail, answer left(refused(…)), left(retryable(…)) or left(partlyFailed(…))'
  expect(String(told[1])).toContain(advice)
})

describe('a time limit', () => {
  const never = (): Promise<never> => new Promise(() => {})
  const afterwards = (options: SinkOptions, wait: number): ReadonlyArray<unknown> => {
    const clock = virtualClock()
    const { told } = hear(sink<number>('mine', never, options), 1, { ...onlyAttempt, clock })
    clock.tick(wait)
    return told
  }

  test('is 30 seconds by default, and can be changed and switched off', () => {
    expect(afterwards({}, 29_999)).toEqual([])
    expect(afterwards({}, 30_000)).toMatchObject([left({ reason: 'timeout' }), 'complete'])
    expect(afterwards({ timeout: 50 }, 50)).toMatchObject([left({ reason: 'timeout' }), 'complete'])
    expect(afterwards({ timeout: Infinity }, 1e9)).toEqual([])
  })
  const words = /timeout must be a number of milliseconds above 0/
  test.each([0, -1, NaN])('must not be %d', (timeout) =>
    expect(() => sink('mine', never, { timeout })).toThrow(words),
  )
})

describe('the verdict of a handler', () => {
  const threw = (words: RegExp): Verdict => left(retryable('threw', { detail: expect.stringMatching(words) }))
  const fails = throwing('broken pipe')
  const accepted = right({ sink: 'mine', status: 202 })
  const cases: ReadonlyArray<readonly [string, Handler<number>, Verdict]> = [
    ['fulfilled with anything: delivered', async () => 'thing', delivered],
    ['fulfilled with nothing: delivered', async () => {}, delivered],
    ['a Promise of a Right', async () => accepted, accepted],
    ['a Promise of a Left', async () => left(refused('gone')), left(refused('gone'))],
    ['a Right of something else: delivered', async () => right(5), delivered],
    [
      'a Left of something else: as if it had been thrown',
      async () => left(new Error('no')),
      threw(/^Error at \S+, with the message: no$/),
    ],
    ['a TaskEither', () => async () => left(refused('gone')), left(refused('gone'))],
    ['an Either at once', () => left(retryable('busy')), left(retryable('busy'))],
    ['a rejection', async () => fails(), threw(/^Error at \S+, with the message: broken pipe$/)],
    ['a throw', fails, threw(/^Error at \S+, with the message: broken pipe$/)],
    ['a TaskEither that throws', () => fails, threw(/^Error at \S+, with the message: broken pipe$/)],
    ['a rejection with a Failure', () => rejecting(refused('gone')), left(refused('gone'))],
    ['a rejection with nothing', () => rejecting(undefined), threw(/^a thrown undefined$/)],
  ]

  test.each(cases)('%s', async (_name, handler, verdict) => {
    expect(await heard(sink('mine', handler))).toEqual([verdict, 'complete'])
  })

  test('is what failureOf makes of an error', async () => {
    const mine = sink('mine', () => Promise.reject(new RangeError('no')), {
      failureOf: (error) => (error instanceof RangeError ? refused('range') : retryable('other')),
    })
    expect(await heard(mine)).toEqual([left(refused('range')), 'complete'])
  })

  test('is none when failureOf throws or answers none: that is a defect', async () => {
    const defect = new Error('in failureOf')
    const mine = sink('mine', () => Promise.reject(new Error('no')), { failureOf: throwing(defect) })
    expect(await heard(mine)).toEqual(['defect', defect])
    const none = sink('mine', () => Promise.reject(new Error('no')), { failureOf: () => ({}) as Failure })
    expect(await heard(none)).toEqual(['defect', expect.any(TypeError)])
  })
})

test('the end of a delivery does not abort its signal', async () => {
  let signal: AbortSignal | undefined
  const mine = sink('mine', async (_item: number, context) => void (signal = context.signal))
  await heard(mine)
  expect(signal?.aborted).toBe(false)
})

describe('close', () => {
  const closing = () => {
    const times: unknown[] = []
    return { times, mine: sink('mine', () => delivered, { close: async (options) => times.push(options) }) }
  }

  test('calls the host once, with the time', async () => {
    const { times, mine } = closing()
    await Promise.all([mine.close({ timeout: 10 }), mine.close({ timeout: 20 })])
    await mine.close({ timeout: 30 })
    expect(times).toEqual([{ timeout: 10 }])
  })

  const wrong = [undefined, 1_000, '5', { timeout: Number.NaN }, { timeout: 'soon' }, { timeOut: 5 }]
  test.each(wrong)('C8: closes with 30 s when it is given %j', async (given) => {
    const { times, mine } = closing()
    await mine.close(given as WaitOptions)
    expect(times).toEqual([{ timeout: 30_000 }])
  })

  test('rejects with what the host throws, each time', async () => {
    const mine = sink('mine', () => delivered, { close: throwing('stuck') })
    await expect(mine.close({ timeout: 10 })).rejects.toThrow('stuck')
    await expect(mine.close({ timeout: 10 })).rejects.toThrow('stuck')
  })
})

test('types: the item is inferred, and a forgotten return does not compile', () => {
  const producer = { send: async (_text: string, _options: { signal: AbortSignal }) => 'offset 1' }
  interface Event {
    readonly type: 'track'
  }
  const kafka = sink('kafka', (p: Payload<Event>, { signal }) => producer.send(bodyOf(p, 0), { signal }))
  expectTypeOf(kafka).toEqualTypeOf<Sink<Payload<Event>>>()

  sink('either', async (n: number): Promise<Verdict> => (n > 0 ? delivered : left(refused('no'))))
  // @ts-expect-error a delivery without an end would count as delivered
  sink('forgotten', (p: Payload<Event>, { signal }) => void producer.send(bodyOf(p, 0), { signal }))
  // @ts-expect-error an Either at once must be a verdict
  sink('wrong', () => left('no'))
  expectTypeOf(subscribeTo(kafka)).parameter(0).toEqualTypeOf<Payload<Event>>()
})
