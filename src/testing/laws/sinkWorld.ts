import * as fc from 'fast-check'
import { isObservable, type Subscription } from 'rxjs'
import { inspect, isDeepStrictEqual } from 'node:util'
import { kindOf } from '../../core/json.ts'
import { sink } from '../../sink/fromFunction.ts'
import { assertSink } from '../../sink/layer.ts'
import { onlyAttempt, type Attempt, type Sink } from '../../sink/sink.ts'
import { statusTable, verdictOf } from '../../sink/status.ts'
import type { FaultScript } from '../faults.ts'
import { makeWorld, type World } from '../simulate.ts'
import { faultScript } from './faultScript.ts'
import type { Run } from './law.ts'

/** Makes the sink under test, anew for each input. It reaches the network with `network.request({ body, signal })`. */
export type MakeSink<A> = (world: World) => Sink<A>

/** What is delivered by default. */
export interface SinkItem {
  readonly id: string
  readonly value: number
}

/** A sink that keeps the laws: one request for each item. */
export const networkSink = <A>(
  { clock, network }: Pick<World, 'clock' | 'network'>,
  timeout = 1_000,
): Sink<A> =>
  sink(
    'network',
    async (item, { signal }) => {
      const { status, headers } = await network.request({ body: JSON.stringify(item), signal })
      const answer = { status, retryAfter: headers['retry-after'] }
      return verdictOf(statusTable, 'network', answer, clock.now(), clock.now())
    },
    { clock, timeout },
  )

/** Items to deliver, such as `{ id: 'i3', value: 3 }`. */
const sinkItem: fc.Arbitrary<SinkItem> = fc.nat(9).map((value) => ({ id: `i${String(value)}`, value }))

/** The items that laws deliver. Without an arbitrary of the caller, A is SinkItem: that form of `sinkLaws` leaves it no other type. */
export const itemsOf = <A>({ item }: { readonly item?: fc.Arbitrary<A> }): fc.Arbitrary<A> =>
  item ?? (sinkItem as fc.Arbitrary<A>)

/** A delivery. Times are milliseconds. @inline */
export interface SinkStep<out A> {
  /** Its time after the start of the delivery before it, or what of that one it starts within. */
  readonly starts: number | 'verdict' | 'complete'
  readonly item: A
  /** From its start to its cancel; null for none. */
  readonly cancelAfter: number | null
}

/** A world with one to six deliveries, as data. */
export interface SinkInput<out A> {
  readonly seed: number
  readonly script: FaultScript
  readonly steps: ReadonlyArray<SinkStep<A>>
}

/** What a network in memory does. The kinds that are left out look like others there; without them more statuses are drawn. */
export const anyScript = faultScript({
  timeout: 50,
  without: ['hugeBody', 'gzipBomb', 'hugeHeader', 'slowBody', 'interim', 'garbage', 'truncate'],
})

/** `hasNetwork`: whether the network has a script. */
export const sinkInputs = <A>(item: fc.Arbitrary<A>, hasNetwork: boolean): fc.Arbitrary<SinkInput<A>> =>
  fc.record({
    seed: fc.nat(),
    script: hasNetwork ? anyScript : fc.constant([]),
    steps: fc.array(
      fc.record({
        starts: fc.oneof(fc.constantFrom<SinkStep<A>['starts']>(0, 'verdict', 'complete'), fc.nat(30)),
        item,
        cancelAfter: fc.option(fc.nat(60)),
      }),
      { minLength: 1, maxLength: 6, size: 'max' },
    ),
  })

/** One thing that a delivery told. `running` counts the requests at that moment, `sent` those before it. */
export interface Told {
  readonly what: 'verdict' | 'complete' | 'error' | 'throw'
  readonly value: unknown
  readonly at: number
  readonly running: number
  readonly sent: number
}

/** One subscription. */
export interface Delivery {
  readonly startedAt: number
  readonly told: ReadonlyArray<Told>
  /** What it told after its cancel. */
  readonly late: ReadonlyArray<Told>
  readonly isCancelled: () => boolean
  readonly cancel: () => void
  /** What its item looked like at the start, and looks like now. */
  readonly item: () => { readonly before: string; readonly now: string }
}

/** The last thing that a delivery told, if it is over. */
export const endOf = ({ told }: Delivery): Told | undefined => told.find(({ what }) => what !== 'verdict')

/** A sink in its world, ready to deliver. */
export interface OpenSink<in A> extends World {
  readonly sink: Sink<A>
  /** Starts a delivery. `onTold` is called from within what its observer is told. */
  readonly deliver: (item: A, onTold?: (told: Told) => void, attempt?: Attempt) => Delivery
}

const textOf = (value: unknown): string => inspect(value, { depth: 9, breakLength: Infinity })

/** A copy, so that a sink that changes its item does not change the input. What cannot be copied is given itself. */
const copyOf = <A>(item: A): A => {
  try {
    const copy = structuredClone(item)
    return isDeepStrictEqual(copy, item) ? copy : item
  } catch {
    return item
  }
}

/** More timers than this in one call are taken for a loop. */
const MAX_TIMERS = 20_000

/** Makes the sink and its world. Throws a TypeError if it is no sink. */
export const openSink = <A>(
  make: MakeSink<A>,
  { seed, script }: Pick<SinkInput<A>, 'seed' | 'script'>,
  run: Pick<Run, 'log'>,
): OpenSink<A> => {
  const world = makeWorld(seed, { network: script, maxTimers: MAX_TIMERS }, run.log)
  const { clock, network } = world
  const sink = make(world)
  assertSink('sinkLaws', sink)
  let started = 0

  const deliver: OpenSink<A>['deliver'] = (given, onTold = () => undefined, attempt = onlyAttempt) => {
    const item = copyOf(given)
    const before = textOf(item)
    const index = started++
    const log = (line: string): void => world.log(`delivery ${String(index)} ${line}`)
    const told: Told[] = []
    const late: Told[] = []
    let isCancelled = false
    let subscription: Subscription | undefined

    const hear = (what: Told['what'], value?: unknown): void => {
      log(`${what} ${value === undefined ? '' : textOf(value)}`)
      const at = clock.monotonic()
      const one = { what, value, at, running: network.running(), sent: network.calls.length }
      ;(isCancelled ? late : told).push(one)
      onTold(one)
    }
    const delivery: Delivery = {
      startedAt: clock.monotonic(),
      told,
      late,
      isCancelled: () => isCancelled,
      cancel: () => {
        if (endOf(delivery) !== undefined) return
        isCancelled = true
        log('is cancelled')
        subscription?.unsubscribe()
      },
      item: () => ({ before, now: textOf(item) }),
    }
    log(`of ${before} starts`)
    try {
      const verdicts = sink.deliver(item, attempt)
      if (!isObservable(verdicts))
        throw new TypeError(`deliver answered ${kindOf(verdicts)}, not an Observable`)
      subscription = verdicts.subscribe({
        next: (verdict) => hear('verdict', verdict),
        complete: () => hear('complete'),
        error: (error: unknown) => hear('error', error),
      })
    } catch (error) {
      hear('throw', error)
    }
    return delivery
  }
  return { ...world, sink, deliver }
}
