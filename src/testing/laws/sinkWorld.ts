import * as fc from 'fast-check'
import * as E from 'fp-ts/lib/Either.js'
import * as RA from 'fp-ts/lib/ReadonlyArray.js'
import { isObservable, Subject, takeUntil, throwError, type Observable, type Subscription } from 'rxjs'
import { inspect, isDeepStrictEqual } from 'node:util'
import { brotliDecompressSync, unzipSync } from 'node:zlib'
import { valueOr } from '../../core/either.ts'
import { earliestRetry, isRetryable, isVerdict, type Verdict } from '../../core/failure.ts'
import { partlyFailed, refused, retryable } from '../../core/failure.ts'
import { kindOf } from '../../core/json.ts'
import type { WaitOptions } from '../../core/options.ts'
import { sink } from '../../sink/fromFunction.ts'
import { assertSink } from '../../sink/layer.ts'
import { onlyAttempt, type Attempt, type Sink } from '../../sink/sink.ts'
import { meaningOf, statusTable, type StatusTable } from '../../sink/status.ts'
import { effectOf, faultPlayer, healthy, type Misbehaviour, type FaultScript } from '../faults.ts'
import type { NetworkCall, NetworkRequest } from '../network.ts'
import type { Reply } from '../scriptedSink.ts'
import { makeWorld, type World } from '../simulate.ts'
import { faultScript } from './faultScript.ts'
import type { Run } from './law.ts'

/** Makes the sink under test, anew for each input. Its network is `network.fetch` or `network.request`. */
export type MakeSink<A> = (world: World) => Sink<A>

/** The default items. */
export interface SinkItem {
  readonly id: string
  readonly value: number
}

/** A sink that keeps the laws: one request for each item. */
export const networkSink = <A>({ network }: World, timeout = 1_000): Sink<A> =>
  sink(
    'network',
    (item, { signal }) =>
      network.fetch('http://receiver.test/', { method: 'POST', body: JSON.stringify(item), signal }),
    { timeout },
  )

const sinkItem: fc.Arbitrary<SinkItem> = fc.nat(9).map((value) => ({ id: `item-${String(value)}`, value }))

/** The items of laws. Without the caller's arbitrary, A is SinkItem: `sinkLaws` has no other form. */
export const itemsOf = <A>({ item }: { readonly item?: fc.Arbitrary<A> }): fc.Arbitrary<A> =>
  item ?? (sinkItem as fc.Arbitrary<A>)

export const anyFailure = fc
  .nat(4_000)
  .map((ms) => (ms % 3 === 0 ? refused('status', { status: ms }) : retryable('status', { notBefore: ms })))

export const PARTLY = 'a part of a list fails, if there are lists'

type Ends = ReadonlyArray<Verdict | null | undefined>
const anyEnd = fc.option(anyFailure.map(E.left), { freq: 2 })
/** The failures of members of a list that its sink took, by place, over and over; null: taken. */
export const anyMembers: fc.Arbitrary<Ends> = fc.array(anyEnd, { maxLength: 6 })
/** Makes a success one of each member, which fails by `fails` from place `n` on. `settled`: those before. */
export const partly =
  (settled: Ends, fails: Ends, n: number, reach: Run['reach']) =>
  (verdict: Verdict): Verdict => {
    const members = settled.map((one, at) => one ?? fails[(n + at) % fails.length] ?? verdict)
    if (E.isLeft(verdict) || members.every(E.isRight)) return verdict
    reach(PARTLY)
    return E.left(partlyFailed(members))
  }

const even = fc.integer({ min: 1, max: 25 }).map((half) => 2 * half)
const verdict = fc.oneof(
  fc.nat(9).map((status) => E.right({ sink: 'inner', status })),
  anyFailure.map((failure) => E.left(failure)),
)

/** Replies of scripted sinks, with a verdict or a defect or both. All times are even. */
export const anyReply: fc.Arbitrary<Reply> = fc
  .record({ verdict, defect: fc.constant('planted'), after: even, rest: even }, { requiredKeys: [] })
  .filter((reply) => 'verdict' in reply || 'defect' in reply)

/** A delivery. Times are milliseconds. @inline */
interface SinkStep<out A> {
  readonly item: A
  /** From the start of the one before it; null: when all before it are over. */
  readonly wait: number | null
  /** From its start to its cancel, 0: at once; `verdict`: within its verdict, as by take(1); null: none. */
  readonly cancel: number | 'verdict' | null
  /** It is subscribed once more from within this moment. */
  readonly again: 'verdict' | 'complete' | null
  /** From its start to `until` of its attempt; null: that of the attempt of all. */
  readonly until: number | null
  /** Which attempt it is; null: that of the attempt of all. */
  readonly number: number | null
}

/** A world with deliveries, as data. */
export interface SinkInput<out A> {
  readonly seed: number
  readonly script: FaultScript
  readonly steps: ReadonlyArray<SinkStep<A>>
}

/** Faults of a network in memory. The left-out kinds look like others there; statuses take their place. */
export const anyScript = faultScript({
  timeout: 50,
  without: ['hugeBody', 'gzipBomb', 'hugeHeader', 'slowBody', 'interim', 'garbage', 'truncate'],
})

const statuses = faultScript({
  timeout: 50,
  maxSteps: 12,
  without: [
    ...(['interim', 'silence', 'reset', 'hangUp', 'refuse', 'dns', 'tls', 'headersOnly'] as const),
    ...(['slowBody', 'truncate', 'hugeBody', 'gzipBomb', 'hugeHeader', 'garbage', 'redirect'] as const),
  ],
})

export const plainStep = { wait: null, cancel: null, again: null, until: null, number: null }

const none = { weight: 6, arbitrary: fc.constant(null) }

export const sinkInputs = <A>(item: fc.Arbitrary<A>, hasNetwork: boolean): fc.Arbitrary<SinkInput<A>> => {
  const step = fc.record<SinkStep<A>>({
    item,
    wait: fc.oneof(none, fc.constant(0), fc.nat(30)),
    cancel: fc.oneof(none, fc.constant('verdict'), { weight: 3, arbitrary: fc.nat(60) }),
    again: fc.constantFrom(null, null, null, 'verdict', 'complete'),
    until: fc.oneof(none, fc.constantFrom(1, 20, 60)),
    number: fc.constantFrom(null, null, 2, 9),
  })
  const onlyItem = item.map((each): SinkStep<A> => ({ ...plainStep, item: each }))
  const atOnce = step.map((each) => ({ ...each, wait: -1 }))
  const faults: fc.Arbitrary<FaultScript> = hasNetwork ? anyScript : fc.constant([])
  const inputOf = (script: typeof faults, steps: fc.Arbitrary<Array<SinkStep<A>>>) =>
    fc.record({ seed: fc.nat(), script, steps })
  const any = inputOf(faults, fc.array(step, { minLength: 1, maxLength: 6, size: 'max' }))
  const oneByOne = inputOf(statuses, fc.array(onlyItem, { minLength: 1, maxLength: 12, size: 'max' }))
  const crowd = inputOf(faults, fc.array(atOnce, { minLength: 4, maxLength: 24, size: 'max' }))
  const all = [any, { weight: 1, arbitrary: crowd }, ...(hasNetwork ? [oneByOne] : [])]
  return fc.oneof({ withCrossShrink: true }, ...all)
}

/** One subscription, and its notifications. */
export interface Delivery {
  /** Which item of the trace, and its text. */
  readonly item: number
  readonly before: string
  readonly startedAt: number
  /** By `monotonic`. */
  readonly until: number
  readonly told: Array<{ what: 'verdict' | 'complete' | 'error'; value: unknown; at: number }>
  isCancelled: boolean
}

/** Deliveries that overlap, often one alone; until `endedAt`, or for ever. */
export interface Period {
  readonly deliveries: ReadonlyArray<Delivery>
  readonly endedAt: number
  /** Requests until the next period. */
  readonly calls: ReadonlyArray<NetworkCall & { readonly meaning: Meaning }>
}

/** The network's treatment of a request, or a verdict. `failed`: not delivered; may be retried or not. */
export type Meaning = 'delivered' | 'retryable' | 'refused' | 'failed'

export const answerTo = ({ ended, fault }: NetworkCall) => {
  const effect = effectOf(fault, 'http://receiver.test/')
  return ended === 'answered' && effect.what === 'answer' ? effect : undefined
}

const meaningOfCall = (statuses: StatusTable, call: NetworkCall): Meaning => {
  const answer = answerTo(call)
  if (answer === undefined) return call.fault.do === 'tls' ? 'failed' : 'retryable'
  const means = meaningOf(statuses, answer.status)
  // A redirect, a 408 and a 425 are read in different ways.
  if (means === 'redirect' || (means === 'retry' && [408, 425].includes(answer.status))) return 'failed'
  return means === 'retry' ? 'retryable' : means
}

export const meaningOfVerdict = (verdict: Verdict): Meaning => {
  if (verdict._tag === 'Right') return 'delivered'
  if (!isRetryable(verdict.left)) return 'refused'
  return earliestRetry(verdict.left) === Infinity ? 'failed' : 'retryable'
}

/** The readings of bytes: as text, unpacked, and with base64 parts decoded. */
const readings = (body: string | Uint8Array = ''): ReadonlyArray<string> => {
  const packed = typeof body === 'string' ? [] : [unzipSync, brotliDecompressSync]
  const unpacked = packed.flatMap((unpack) => RA.rights([E.tryCatch(() => String(unpack(body)), String)]))
  const texts = [typeof body === 'string' ? body : Buffer.from(body).toString(), ...unpacked]
  const parts = texts.flatMap((text) => text.match(/[\w+/-]{12,}/g) ?? [])
  return [...texts, ...parts.map((part) => Buffer.from(part, 'base64').toString())]
}

export const carriesId = ({ url = '', headers = {}, body }: NetworkRequest, { id }: SinkItem): boolean =>
  [url, ...Object.values(headers), ...readings(body)].some((text) => text.includes(id))

const inspected = (value: unknown): string => inspect(value, { depth: 9, breakLength: Infinity })

/** A copy, which a sink may change without changing the input; or the item if it cannot be copied. */
const copyOf = <A>(item: A): A => {
  const copy = valueOr(item, () => structuredClone(item))
  return isDeepStrictEqual(copy, item) ? copy : item
}

const verdictsOf = <A>(sink: Sink<A>, item: A, attempt: Attempt): Observable<Verdict> => {
  try {
    const verdicts = sink.deliver(item, attempt)
    if (isObservable(verdicts)) return verdicts
    throw new TypeError(`deliver answered ${kindOf(verdicts)}, not an Observable`)
  } catch (error) {
    return throwError(() => new Error(`deliver threw: ${String(error)}`))
  }
}

/** More timers than this in one call are taken for a loop. */
const MAX_TIMERS = 20_000

/** Longer than a gate, a breaker or a Retry-After holds back. */
const REST = 2 * 3_600_000

/** Makes the sink and its world, and plays the steps. Rejects with a TypeError if it is no sink. */
export const playSink = async <A>(
  make: MakeSink<A>,
  { seed, script, steps }: SinkInput<A>,
  { timeout, statuses = statusTable }: { readonly timeout: number; readonly statuses?: StatusTable },
  log: Run['log'],
  given: Attempt = onlyAttempt,
) => {
  let fault: Misbehaviour | undefined
  const world = makeWorld(seed, { network: (each) => fault ?? scripted(each), maxTimers: MAX_TIMERS }, log)
  const { clock, network } = world
  const attempt = { ...given, clock }
  const scripted = faultPlayer<NetworkRequest>(clock, script)
  const sink = make(world)
  assertSink('sinkLaws', sink)
  const made = steps.map((step, at) => {
    const item = copyOf(step.item)
    const retried = step.number === null ? {} : { number: step.number, lastFailure: retryable('network') }
    const own = { ...attempt, ...retried }
    return { at, step, item, before: inspected(item), own, verdicts: verdictsOf(sink, item, own) }
  })
  const periods: Array<{ deliveries: Delivery[]; sent: number; endedAt: number }> = []
  const subscriptions: Subscription[] = []
  let started = 0
  let open = 0

  const start = (one: (typeof made)[number], isAgain: boolean, over = (): void => undefined): Delivery => {
    const { at, step, item, before, own } = one
    const name = `delivery ${String(started++)}`
    const cancels = new Subject<void>()
    const startedAt = clock.monotonic()
    const until = startedAt + (step.until ?? Infinity)
    const dated = { ...own, until: clock.now() + until - startedAt }
    const verdicts = step.until === null ? one.verdicts : verdictsOf(sink, item, dated)
    const delivery: Delivery = { item: at, before, startedAt, until, told: [], isCancelled: false }
    if (open++ === 0) periods.push({ deliveries: [], sent: network.calls.length, endedAt: Infinity })
    const period = periods.at(-1)
    period?.deliveries.push(delivery)

    const end = (): void => {
      if (--open === 0 && period !== undefined) period.endedAt = clock.monotonic()
      over()
    }
    const cancel = (): void => {
      if (delivery.isCancelled || delivery.told.some(({ what }) => what !== 'verdict')) return
      delivery.isCancelled = true
      world.log(`${name} is cancelled`)
      cancels.next()
      end()
    }
    const hear = (what: Delivery['told'][number]['what'], value?: unknown): void => {
      if (delivery.isCancelled) return
      world.log(`${name} ${what} ${value === undefined ? '' : inspected(value)}`)
      delivery.told.push({ what, value, at: clock.monotonic() })
      if (what !== 'verdict') end()
      if (what === step.again && !isAgain) start(one, true)
      if (what === step.cancel) cancel()
    }
    world.log(`${name} of ${before} starts`)
    const subscription = verdicts.pipe(takeUntil(cancels)).subscribe({
      next: (verdict) => hear('verdict', verdict),
      complete: () => hear('complete'),
      error: (error: unknown) => hear('error', error),
    })
    subscriptions.push(subscription)
    if (step.cancel === 0) cancel()
    else if (typeof step.cancel === 'number') clock.schedule(step.cancel, cancel)
    return delivery
  }
  /** Cancels all that still runs, such as a delivery with a timer of the machine. */
  const stop = (): void => subscriptions.forEach((each) => each.unsubscribe())
  /** Delivers the first item again, alone, over a healthy network, much later. Answers its verdict. */
  const alone = async (): Promise<Verdict | undefined> => {
    const [first] = made
    if (first === undefined) return undefined
    fault = healthy
    await clock.advance(REST)
    const step = { ...first.step, ...plainStep }
    let over = (): void => undefined
    const ended = new Promise<void>((resolve) => (over = resolve))
    // Asked for now: it may depend on what failed before.
    const { told } = start({ ...first, step, verdicts: verdictsOf(sink, first.item, first.own) }, true, over)
    await clock.run(ended, { timeout }).catch(() => undefined)
    stop()
    return told.map(({ value }) => value).find(isVerdict)
  }

  await clock.advance(0)
  const early = network.calls.length
  for (const [at, one] of made.entries()) {
    // Twice: for a delivery, and for the one that starts at its end.
    if (at > 0 && one.step.wait !== -1) await clock.advance(one.step.wait ?? 2 * timeout)
    start(one, false)
  }
  await clock.advance(2 * timeout)
  const seen = periods.map((period, at): Period => {
    const calls = network.calls.slice(period.sent, periods[at + 1]?.sent)
    return { ...period, calls: calls.map((call) => ({ ...call, meaning: meaningOfCall(statuses, call) })) }
  })
  stop()
  return {
    clock,
    name: sink.name,
    close: (options: WaitOptions) => sink.close({ ...options, clock }),
    /** Requests before any delivery was subscribed. */
    early,
    periods: seen,
    items: made.map(({ item, before }) => ({ item, before, now: inspected(item) })),
    alone,
    stop,
    /** Starts a delivery of each item, over a network that never answers. */
    hang: () => {
      fault = { do: 'silence' }
      made.forEach((one) => start({ ...one, step: { ...one.step, ...plainStep } }, true))
    },
  }
}

export type SinkTrace = Awaited<ReturnType<typeof playSink>>
