import * as fc from 'fast-check'
import * as E from 'fp-ts/lib/Either.js'
import { EMPTY, of, Subscription, tap } from 'rxjs'
import { right } from '../../core/either.ts'
import type { Clock } from '../../core/clock.ts'
import { messageOf, type Verdict } from '../../core/failure.ts'
import { kindOf } from '../../core/json.ts'
import type { LogEvent } from '../../log/logEvent.ts'
import { deliver } from '../../operators/deliver.ts'
import { both, exponential, limitRetries } from '../../policy/retryPolicy.ts'
import type { Attempt, Sink } from '../../sink/sink.ts'
import { scriptedSink, type Reply, type ScriptedSink } from '../scriptedSink.ts'
import { makeWorld, type World } from '../simulate.ts'
import { virtualClock } from '../virtualClock.ts'
import { same, lawsOver, silent, type Law, type Run } from './law.ts'
import { sinkLaws, type SinkLawOptions } from './sinkLaws.ts'
import { anyFailure, anyReply, carriesId, itemsOf, networkSink, plainStep } from './sinkWorld.ts'
import { playSink, type SinkItem } from './sinkWorld.ts'

/**
 * Makes the layer under test, anew for each input. Give it time and room, so that it has nothing to do.
 * @inline
 */
export type MakeLayer<A = SinkItem> = (world: World) => (sink: Sink<A>) => Sink<A>

interface LayerInput<out A> {
  readonly seed: number
  readonly item: A
  readonly attempt: Attempt
  readonly reply: Reply
  /** 0: at once. Odd, and the times of the reply are even: the order of events at one moment is free. */
  readonly cancel: number | null
  /** Deliveries, one after another. Each second one succeeds, so that no circuit opens. */
  readonly times: number
}

const inputsOf = <A>(item: fc.Arbitrary<A>): fc.Arbitrary<LayerInput<A>> =>
  fc.record({
    seed: fc.nat(),
    item,
    attempt: fc.record({
      number: fc.integer({ min: 1, max: 40 }),
      until: fc.integer({ min: Date.UTC(2027, 0, 1), max: Date.UTC(2028, 0, 1) }),
      lastFailure: anyFailure,
    }),
    reply: anyReply,
    cancel: fc.option(fc.nat(60).map((half) => Math.max(0, 2 * half - 21))),
    times: fc.constantFrom(1, 1, 12),
  })

const heard = new WeakSet<object>()
/** The parts of an attempt that are no data. */
const MORE = { from: 'laws', headers: { 'X-Laws': 'on' }, report: (event: LogEvent) => void heard.add(event) }

/** The attempt at the inner sink: whether its clock is the given one, and whether its listener hears. */
const attemptOf = ({ number, until, lastFailure, clock, from, headers, report }: Attempt, given: Clock) => {
  const event: LogEvent = { _tag: 'Defect', at: 0, from: 'laws', where: 'laws', error: undefined }
  report?.(event)
  const header = headers?.['X-Laws']
  return { number, until, lastFailure, isOnClock: clock === given, from, header, hears: heard.has(event) }
}

const playLayer = async <A>(make: MakeLayer<A>, input: LayerInput<A>, log: Run['log']) => {
  const { seed, item, attempt, reply, cancel, times } = input
  // A reply may come before `subscribe` returns.
  const isCancelled = cancel !== 0 || reply.after !== undefined
  const cancels = Array.from({ length: times }, (_, at) => (isCancelled && at % 2 === 0 ? cancel : null))
  const steps = cancels.map((each) => ({ ...plainStep, item, cancel: each }))
  const inners: Array<ScriptedSink<A>> = []
  let [isOver, startedAfter] = [false, 0]
  const inside = (world: World): Sink<A> => {
    // A delivery has 2,000 ms.
    const nth = (): Reply => {
      if (isOver) startedAfter++
      return world.clock.monotonic() % 4_000 < 2_000 ? reply : { verdict: right({ sink: 'inner' }) }
    }
    const inner = scriptedSink<A>({ name: 'inner', clock: world.clock, reply: nth })
    inners.push(inner)
    const all = make(world)(inner)
    const seen = tap<Verdict>({ subscribe: () => (isOver = false), unsubscribe: () => (isOver = true) })
    return {
      name: all.name,
      close: (how) => all.close(how),
      deliver: (...of) => all.deliver(...of).pipe(seen),
    }
  }
  const played = { seed, script: [], steps }
  const given = { ...attempt, ...MORE }
  const { clock, name, close, periods } = await playSink(inside, played, { timeout: 1_000 }, log, given)
  const timers = clock.timers()
  await clock.run(close({ timeout: 50 }))
  const all = inners.flatMap((inner) => inner.calls)
  // A layer may start in a microtask, and need not start what is cancelled at once.
  const calls = all.filter(({ ended, startedAt, endedAt }) => ended !== 'cancelled' || endedAt !== startedAt)
  return {
    attempts: calls.map(({ attempt }) => attemptOf(attempt, clock)),
    told: periods.map(({ deliveries }) => deliveries.map(({ told }) => told)),
    ends: { all: calls.map(({ ended, endedAt }) => ({ ended, endedAt })), startedAfter },
    name,
    closed: inners.map(({ closed }) => closed),
    timers,
  }
}

/** The outcome of the item in a pipeline whose inner sink gives the same reply to three attempts. */
const playPiped = async <A>(make: MakeLayer<A>, { seed, item, reply }: LayerInput<A>, log: Run['log']) => {
  const world = makeWorld(seed, {}, log)
  const { clock } = world
  const inner = scriptedSink<A>({ name: 'inner', clock, reply: () => reply })
  const ends: unknown[] = []
  // Later than the rest of the attempt before, which may fill the room of the layer.
  const retry = both(exponential({ base: 1_000 }), limitRetries(2))
  const running = of(right(item))
    .pipe(deliver(make(world)(inner), { retry, clock, random: () => 0.5 }))
    .subscribe({
      next: (end) => ends.push({ at: clock.monotonic(), end }),
      error: (error: unknown) => ends.push(String(error)),
    })
  await clock.advance(10_000)
  running.unsubscribe()
  return {
    ends,
    attempts: inner.calls.map(({ attempt, startedAt, ended }) => {
      return { attempt: attemptOf(attempt, clock), startedAt, ended }
    }),
  }
}

/** Longer than a layer gives a delivery if it has nothing to do. */
const FAR_AHEAD = 100 * 24 * 3_600_000

/** Verdicts of one layer on two clocks. One clock moves far ahead while a delivery runs on the other. */
const playTwoClocks = async <A>(make: MakeLayer<A>, input: LayerInput<A>, log: Run['log']) => {
  const { seed, item, attempt, reply } = input
  const world = makeWorld(seed, {}, log)
  const told: unknown[] = []
  const sinks = new Map<Clock | undefined, Sink<A>>()
  const layered = make(world)({
    name: 'inner',
    deliver: (each, given) => sinks.get(given.clock)?.deliver(each, given) ?? EMPTY,
    close: () => Promise.resolve(),
  })
  const clocks = [world.clock, virtualClock()]
  const running = new Subscription()
  for (const clock of clocks) {
    sinks.set(clock, scriptedSink({ clock, reply: () => reply }))
    const tell = (value: unknown): void => void told.push([clocks.indexOf(clock), clock.monotonic(), value])
    const observer = { next: tell, error: tell, complete: () => tell('complete') }
    running.add(layered.deliver(item, { ...attempt, clock }).subscribe(observer))
  }
  for (const clock of clocks) await clock.advance(FAR_AHEAD)
  running.unsubscribe()
  return told
}

const FUNCTION = 'give a function that answers the layer, as () => withTimeout({ timeout: 1_000 })'

/** Without an arbitrary, the deliveries are of objects such as `{ id: 'item-3', value: 3 }`. @inline */
interface LayerLaws {
  (make: MakeLayer, options?: SinkLawOptions<SinkItem>): ReadonlyArray<Law>
  <A>(make: MakeLayer<A>, options: SinkLawOptions<A> & { readonly item: fc.Arbitrary<A> }): ReadonlyArray<Law>
}

/**
 * The laws of a layer of your own: it passes on input and output as long as it has nothing to do. With them
 * come the laws of a sink, for a sink inside the layer that keeps them.
 *
 * @example
 * ```ts no-run
 * import { test } from 'vitest'
 * import { withTimeout } from 'headrace'
 * import { layerLaws, registerLaws } from 'headrace/testing/laws'
 *
 * registerLaws({ test }, layerLaws(() => withTimeout({ timeout: 30_000 })))
 * ```
 */
export const layerLaws: LayerLaws = <A>(given: MakeLayer<A>, options: SinkLawOptions<A> = {}) => {
  const make: MakeLayer<A> = (world) => {
    const layer = E.tryCatch(() => given(world), messageOf)
    if (E.isRight(layer) && typeof layer.right === 'function') return layer.right
    throw new TypeError(`${FUNCTION}; ${E.isRight(layer) ? `got ${kindOf(layer.right)}` : layer.left}`)
  }
  const item = itemsOf(options)
  type Seen = Awaited<ReturnType<typeof playLayer<A>>>
  const passes = (key: keyof Seen, statement: string) => ({
    statement,
    check: async (seen: Seen, input: LayerInput<A>) => {
      same(seen[key], (await playLayer<A>(() => (sink) => sink, input, silent.log))[key])
    },
  })
  return [
    ...lawsOver('layer', inputsOf(item), (input, { log }) => playLayer(make, input, log), {
      'passes-attempt': passes(
        'attempts',
        'The sink inside gets the attempt, all of it; a layer may add headers.',
      ),
      'passes-verdict': passes('told', 'What the sink inside tells is told, unchanged and at its time.'),
      'passes-cancel': passes('ends', 'A cancel cancels the delivery inside, at its moment.'),
      'keeps-name': passes('name', 'It has the name of the sink inside: failures are remembered by it.'),
      'passes-close': passes('closed', 'close closes the sink inside once, with its time.'),
      'leaves-no-timer': passes('timers', 'No timer is left after a delivery.'),
    }),
    ...lawsOver('layer', inputsOf(item), (input, { log }) => playPiped(make, input, log), {
      'passes-in-a-pipeline': {
        statement: 'In a pipeline an item has the same attempts and the same end as without the layer.',
        check: async (seen, input) => same(seen, await playPiped<A>(() => (sink) => sink, input, silent.log)),
      },
    }),
    ...lawsOver('layer', inputsOf(item), (input, { log }) => playTwoClocks(make, input, log), {
      'separates-clocks': {
        statement: 'What a delivery tells depends on the clock of its attempt, and on no other clock.',
        check: async (told, input) =>
          same(told, await playTwoClocks<A>(() => (sink) => sink, input, silent.log)),
      },
    }),
    // Without items of the caller, A is SinkItem, as `itemsOf` says.
    ...sinkLaws<A>((world) => make(world)(networkSink(world)), {
      ...(options.item === undefined && { carries: (request, each) => carriesId(request, each as SinkItem) }),
      retryAfter: true,
      ...options,
      item,
    }),
  ]
}
