/** What code without types, or in a hurry, does to a pipeline: every mistake is told at once, and costs nothing in silence. */
import { createRequire } from 'node:module'
import { format } from 'node:util'
import type createDebug from 'debug'
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import { concat, firstValueFrom, from, NEVER, of, Subject, Subscription, throwError } from 'rxjs'
import type { Observable } from 'rxjs'
import { ConfigError } from '../../src/core/refusal.ts'
import { describe, expect, it, onTestFinished, test, vi } from 'vitest'
import { sign, withConcurrency, withDedupe, withRateLimit, withRetryAfterGate } from '../../src/index.ts'
import { exponential } from '../../src/policy/index.ts'
import { pull } from '../../src/sources/pull.ts'
import { push } from '../../src/sources/push.ts'
import { memoryOutbox, type Outbox } from '../../src/outbox/index.ts'
import type { LogEvent } from '../../src/log/index.ts'
import { batch, deliver, encode, enrich, filterRight, firstSuccess, type Threw } from '../../src/index.ts'
import { flatMapRight, lift, mapRight, onlyAttempt, route, showRefusal, splitRight } from '../../src/index.ts'
import { memory } from '../../src/sink/memory.ts'
import { sink, tapRight, validate, withBisection, withCircuitBreaker, withTimeout } from '../../src/index.ts'
import { createClient } from '../../src/client/createClient.ts'
import { createCollector } from '../../src/collector/createCollector.ts'
import { webhookDestination } from '../../src/destination/createDestination.ts'
import { ndjson } from '../../src/sink/ndjson.ts'
import { ndjsonLines as linesOf } from '../../src/sources/ndjson.ts'
import { webhook } from '../../src/http/webhook.ts'
import { virtualClock } from '../../src/testing/index.ts'
import { hear, payloadOf } from '../sink/deliverOnce.ts'
import { answered, receiverOf, until } from '../support/http.ts'
import { all, throwing, turns } from '../support/check.ts'

type Untyped = (...given: ReadonlyArray<unknown>) => unknown
const untyped = (f: unknown): Untyped => f as Untyped

const errorOf = async (stream: Observable<unknown>): Promise<string> => {
  const end = await all(stream).catch((error: unknown) => error)
  return end instanceof Error ? `${end.name}: ${end.message}` : 'no error'
}

describe('deliver refuses when the pipeline is put together', () => {
  test.each<[string, unknown, RegExp]>([
    ['nothing', undefined, /TypeError: deliver: expected a sink, got undefined/],
    ['a function', async (item: unknown) => item, /TypeError: .*got a function: wrap a function with sink/],
    ['what makes a sink', memory, /TypeError: .*call what makes a sink or a layer/],
    ['a layer', withTimeout({ timeout: 5 }), /TypeError: .*got a function/],
    ['an object', { name: 'a' }, /TypeError: .*got an object: it needs name, deliver and close/],
  ])('%s', (_, given, message) =>
    expect(() => untyped(deliver)(given)).toThrow(expect.toSatisfy((error) => message.test(String(error)))),
  )

  test.each<[string, object, RegExp]>([
    ['retry: 5', { retry: 5 }, /retry must be a policy of headrace\/policy, such as exponential\(\)/],
    ['a stop that is none', { stop: 1 }, /stop must be an Observable/],
    ['an outbox that is none', { outbox: {} }, /outbox must be an Outbox/],
  ])('%s', (_, options, message) => expect(() => untyped(deliver)(memory(), options)).toThrow(message))
})

test.each<[string, () => unknown]>([
  ['must be an object such as { webhooks: [{ url }] }, not undefined', () => untyped(webhookDestination)()],
  ['entries with a url; name is an option: give it in the', () => untyped(webhookDestination)({ name: 'a' })],
  ["writeKey is the first argument: createClient('key', {", () => untyped(createClient)({ writeKey: 'k' })],
  ['Invalid argument of mapRight: ', () => untyped(mapRight)()],
  ['Invalid argument of enrich: ', () => untyped(enrich)()],
  ['(the options are endpoint, egress, tls, headers, ', () => untyped(createClient)('k', { host: 'a' })],
])('%s', (message, make) => expect(make).toThrow(message))

test.each<readonly [string, unknown]>([
  ['deliver', deliver(memory())],
  ['encode', encode((item: object) => item)],
  ['batch', batch()],
  ['sign', sign('s')],
  ['mapRight', mapRight(String)],
  ['filterRight', filterRight(Boolean)],
  ['flatMapRight', flatMapRight(() => right(1))],
  ['tapRight', tapRight(String)],
  ['enrich', enrich(async (item) => item)],
])('%s: plain values are a TypeError that names the operator', async (name, operator) => {
  const through = operator as (source: Observable<unknown>) => Observable<unknown>
  const said = new RegExp(`^TypeError: ${name}: expected an Either, got .*: put validate\\(\\) or lift\\(\\)`)
  for (const each of [5, null, undefined, {}, 'text']) expect(await errorOf(through(of(each)))).toMatch(said)
})

const PROMISE = 'answered a promise: use enrich, which waits for it'
const EITHER = 'answered an Either: use flatMapRight'
test.each<readonly [string, string, unknown]>([
  ['mapRight', PROMISE, mapRight(async () => 1)],
  ['mapRight', EITHER, mapRight(() => right(1))],
  ['filterRight', PROMISE, untyped(filterRight)(async () => true)],
  ['tapRight', PROMISE, tapRight(() => Promise.reject(new Error('no')))],
  ['flatMapRight', PROMISE, untyped(flatMapRight)(async () => right(1))],
  ['flatMapRight', 'answered a number: answer left(…) or right(…)', untyped(flatMapRight)(() => 1)],
  ['enrich', EITHER, enrich(async () => left(1))],
  ['splitRight', 'answered a string: answer an array', untyped(splitRight)(() => 'ab')],
  ['splitRight', 'threw Error', splitRight(() => Object.defineProperty([], 0, { get: throwing(Error()) }))],
])('%s: a function that %s', async (name, words, operator) => {
  const through = operator as (source: Observable<unknown>) => Observable<Either<Threw, never>>
  const [ended] = await all(through(of(right('a'))))
  expect(ended).toMatchObject({ left: { _tag: 'Threw', operator: name, input: 'a' } })
  expect(ended?._tag === 'Left' && showRefusal(ended.left)).toBe(`the function of ${name} ${words}`)
})

test('enrich asks for nothing more, and aborts its signal, when its subscriber has gone', async () => {
  const asked: AbortSignal[] = []
  const ask = async (_: number, { signal }: { signal: AbortSignal }) => asked.push(signal)
  await firstValueFrom(from([1, 2, 3]).pipe(lift(), enrich(ask, { concurrency: 1 })), { defaultValue: 0 })
  await new Promise(setImmediate)
  expect(asked.map(({ aborted }) => aborted)).toEqual([true])
})

test('validate refuses what is no io-ts codec', () => {
  for (const codec of [undefined, { parse: () => 1 }, () => 1])
    expect(() => untyped(validate)(codec)).toThrow(/^validate: expected an io-ts codec/)
})

test('batch wants an Observable for flush, and a function for sizeOf', () =>
  expect(() => untyped(batch)({ flush: 5, sizeOf: 5 })).toThrow(
    /options of batch: flush must be an Observable, not a number; sizeOf must be a function/,
  ))

const nonsense = { nonsense: 1 }
const some = sink('some', async () => 1)
const url = 'http://127.0.0.1:9/hook'
test.each<readonly [string, () => unknown]>([
  ['batch', () => untyped(batch)(nonsense)],
  ['batch with sizeOf', () => untyped(batch)({ sizeOf: () => 1, ...nonsense })],
  ['encode', () => untyped(encode)(String, nonsense)],
  ['encode with a body', () => untyped(encode)(String, { toBytes: String })],
  ['encode with a format', () => untyped(encode)({ toBytes: String, contentType: 'a/b', ...nonsense })],
  ['enrich', () => untyped(enrich)(async () => 1, nonsense)],
  ['deliver', () => untyped(deliver)(some, nonsense)],
  ['batch of deliver', () => untyped(deliver)(some, { batch: nonsense })],
  ['memoryOutbox', () => untyped(memoryOutbox)(nonsense)],
  ['pull', () => untyped(pull)([], lift(), nonsense)],
  ['push', () => untyped(push)(nonsense)],
  ['ndjson as a source', () => untyped(linesOf)([], nonsense)],
  ['ndjson as a sink', () => untyped(ndjson)('events.ndjson', nonsense)],
  ['memory', () => untyped(memory)(nonsense)],
  ['sink', () => untyped(sink)('some', async () => 1, nonsense)],
  ['firstSuccess', () => untyped(firstSuccess)([some], nonsense)],
  ['route', () => untyped(route)({ keyOf: String, open: () => some, ...nonsense })],
  ['withBisection', () => untyped(withBisection)(nonsense)],
  ['withCircuitBreaker', () => untyped(withCircuitBreaker)(nonsense)],
  ['withConcurrency', () => untyped(withConcurrency)({ concurrency: 1, ...nonsense })],
  ['withDedupe', () => untyped(withDedupe)({ keyOf: String, window: 1, ...nonsense })],
  ['withRateLimit', () => untyped(withRateLimit)({ perSecond: 1, ...nonsense })],
  ['withRetryAfterGate', () => untyped(withRetryAfterGate)(nonsense)],
  ['exponential', () => untyped(exponential)(nonsense)],
  ['webhook', () => untyped(webhook)({ url, ...nonsense })],
  ['settings of webhookDestination', () => untyped(webhookDestination)({ webhooks: [{ url }], ...nonsense })],
  ['webhookDestination', () => untyped(webhookDestination)({ webhooks: [{ url }] }, nonsense)],
  ['createClient', () => untyped(createClient)('key', nonsense)],
  ['createCollector', () => untyped(createCollector)(nonsense)],
])('an unknown option is a fault in every function that takes options: %s', (_, make) =>
  expect(make).toThrow(/unknown option "(nonsense|batch\.nonsense|toBytes)"/),
)

test.each<readonly [string, (n: number) => unknown, ReadonlyArray<number>]>([
  ['maxInFlight of deliver', (maxInFlight) => deliver(some, { maxInFlight }), [0, -1, Infinity]],
  ['batch.maxCount of deliver', (maxCount) => untyped(deliver)(some, { batch: { maxCount } }), [0, Infinity]],
  ['concurrency of withConcurrency', (concurrency) => withConcurrency({ concurrency }), [0, -1, Infinity]],
  ['queue of withConcurrency', (queue) => withConcurrency({ concurrency: 1, queue }), [-1, Infinity]],
  ['maxDelay of withRetryAfterGate', (maxDelay) => withRetryAfterGate({ maxDelay }), [-1, Infinity]],
  ['window of pull', (window) => pull([1], lift(), { window }), [0, -1]],
  ['maxCount of push', (maxCount) => push({ maxCount }), [0]],
  ['maxBytes of ndjsonLines', (maxBytes) => untyped(linesOf)([], { maxBytes }), [0]],
  ['maxCount of memory', (maxCount) => memory({ maxCount }), [0]],
  ['maxCount of memoryOutbox', (maxCount) => memoryOutbox({ maxCount }), [0]],
  ['maxBytes of memoryOutbox', (maxBytes) => memoryOutbox({ maxBytes }), [0]],
  ['keepDead of memoryOutbox', (keepDead) => memoryOutbox({ keepDead }), [-1]],
])('a number out of its bounds is a fault: %s', (name, make, wrong) => {
  for (const n of [...wrong, 1.5, NaN]) {
    expect(() => make(n)).toThrow(ConfigError)
    expect(() => make(n)).toThrow(`${name.replace(/ .*/, '')} must be a whole number`)
  }
})

test('a webhook refuses for good what is no payload', async () => {
  const hook = webhook(url)
  const { told } = hear(hook, { type: 'track' } as never)
  expect(told).toMatchObject([left({ _tag: 'Refused', reason: 'notAPayload' }), 'complete'])
  await hook.close({ timeout: 0 })
})

test.each([
  [{ do: 'silence' }, 0, { left: { reason: 'timeout' } }],
  [{ do: 'slowBody', code: 200, bytesPerSecond: 1_000 }, 1, { _tag: 'Right' }],
] as const)('a webhook has 5 s without an option (N8): %o', async (fault, early, verdict) => {
  const clock = virtualClock()
  const receiver = await receiverOf([fault])
  const hook = webhook({ url: receiver.url })
  const headers = answered()
  const { told } = hear(hook, payloadOf('{}'), { ...onlyAttempt, clock })
  await (fault.do === 'silence' ? receiver.arrived(1) : headers)
  clock.tick(4_999)
  expect(told).toHaveLength(early)
  clock.tick(1)
  expect(told).toMatchObject([verdict, 'complete'])
  await until(() => receiver.connections() === 0)
  await hook.close({ timeout: 0 })
})

test('a pipeline without onEvent writes to the debug log (N23)', () => {
  vi.stubEnv('DEBUG', 'headrace:*')
  // The package that its types describe.
  const debug = createRequire(import.meta.url)('debug') as typeof createDebug
  const log = vi.spyOn(debug, 'log').mockReturnValue(undefined)
  debug.enable('headrace:*')
  onTestFinished(() => {
    debug.disable()
    vi.restoreAllMocks()
    vi.unstubAllEnvs()
  })
  const busy = sink<string>('busy', () => left({ _tag: 'Retryable', reason: 'busy' }))
  const options = { clock: virtualClock(), retry: exponential() }
  of('a').pipe(lift(), deliver(busy, options)).subscribe().unsubscribe()
  const lines = log.mock.calls.map((each: ReadonlyArray<unknown>) => format(...each)).join()
  for (const word of ['accepted', 'waits', 'abandoned']) expect(lines).toContain(word)
})

describe('one outbox, one deliver', () => {
  it('tells the second one what to do instead, until the first has ended', async () => {
    const outbox = memoryOutbox<string>({})
    const subscription = new Subject<string>().pipe(lift(), deliver(memory<string>(), { outbox })).subscribe()
    const second = of('b').pipe(lift(), deliver(memory<string>(), { outbox }))
    expect(await errorOf(second)).toMatch(/another part works on this outbox: .*route\(/)
    subscription.unsubscribe()
    expect([await errorOf(second), await errorOf(second)]).toEqual(['no error', 'no error'])
    // Also inside the first outcome, of an item that waited there.
    void outbox.enqueue(['a'])
    const first = of('b').pipe(lift(), deliver(memory<string>(), { outbox }))
    let inside: Promise<string> | undefined
    first.subscribe(() => void (inside ??= errorOf(second)))
    expect(await inside).toMatch(/another part works/)
  })

  it('lets one follow the other, also after an error of the source', async () => {
    const outbox = memoryOutbox<unknown>({})
    const through = (item$: Observable<unknown>) => item$.pipe(lift(), deliver(memory<unknown>(), { outbox }))
    expect(await errorOf(concat(through(of('a')), through(of('b'))))).toBe('no error')
    expect(await errorOf(through(throwError(() => new Error('planted'))))).toBe('Error: planted')
    expect(await errorOf(through(of('c')))).toBe('no error')
    const stopped = NEVER.pipe(lift(), deliver(memory<unknown>(), { outbox, stop: of('now') }))
    const next = new Promise((done) => stopped.subscribe({ complete: () => done(errorOf(through(of('c')))) }))
    expect(await next).toBe('no error')
    // The first one is torn down after the second began.
    const busy = new Subscription()
    const second = concat(['e', 'f'], NEVER).pipe(lift(), deliver(some, { outbox, maxInFlight: 1 }))
    const seen: string[] = []
    through(of('d')).subscribe({ complete: () => busy.add(second.subscribe(({ _tag }) => seen.push(_tag))) })
    await turns()
    expect(seen).toEqual(['Delivered', 'Delivered'])
    expect(await errorOf(through(of('e')))).toContain('another part works on this outbox')
    busy.unsubscribe()
  })
})

test('an outbox that loses an entry is reported as a defect', async () => {
  const events: LogEvent[] = []
  const leaky: Outbox<string> = { ...memoryOutbox<string>({}), nack: () => undefined }
  const clock = virtualClock()
  const never = sink<string>('never', () => Promise.reject(new Error('down')))
  of('a')
    .pipe(lift(), deliver(never, { outbox: leaky, clock, onEvent: (event) => events.push(event) }))
    .subscribe()
  await clock.settle()
  expect(events.filter(({ _tag }) => _tag === 'Defect')).toMatchObject([
    { where: 'outbox', error: { message: /^1 entries left the outbox without an outcome/ } },
  ])
})

test('sign wants payloads', async () =>
  expect(await errorOf(of(right({} as never)).pipe(sign('s')))).toMatch(/sign: .*put encode\(\) before/))
