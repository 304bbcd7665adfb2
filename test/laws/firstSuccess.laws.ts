/** First success, against an oracle in plain code that knows the whole script beforehand. */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { it } from 'vitest'
import type { Clock } from '../../src/core/clock.ts'
import { allFailed, type Failure, refused, retryable, type Verdict } from '../../src/core/failure.ts'
import { firstSuccess } from '../../src/sink/firstSuccess.ts'
import { subscribeTo } from '../../src/sink/layer.ts'
import type { Attempt, Sink } from '../../src/sink/sink.ts'
import { type Reply, type ScriptedSink, scriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { holds, lawTable, same } from '../support/check.ts'

/** A missing key is as good as an undefined one. */
const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

export type MakeFirstSuccess = (sinks: ReadonlyArray<Sink<number>>, clock: Clock) => Sink<number>

const START = 1_000_000
const ITEM = 42

interface Child {
  /** What is remembered of it; null for nothing. */
  readonly past: Failure | null
  readonly wins: boolean
  readonly final: boolean
  /** Null for at once. */
  readonly after: number | null
  readonly rest: number | null
  readonly defect: 'none' | 'only' | 'after'
}

interface World {
  readonly children: ReadonlyArray<Child>
  readonly memory: 'none' | 'each' | 'other'
  readonly number: number
  readonly until: number
  readonly cancelAt: number | null
}

const past: fc.Arbitrary<Failure | null> = fc.oneof(
  fc.constant(null),
  fc.constant(refused('status', { status: 410 })),
  fc.constant(retryable('network')),
  // The moment itself, and one millisecond to either side.
  fc.constantFrom(-1, 0, 1, 5_000).map((ms) => retryable('status', { status: 429, notBefore: START + ms })),
  fc.constant(
    allFailed([
      { sink: 'x', failure: refused('certificate') },
      { sink: 'y', failure: refused('status', { status: 404 }) },
    ]),
  ),
)

const moment = fc.option(fc.oneof(fc.nat(3), fc.nat(100)))

const child: fc.Arbitrary<Child> = fc.record({
  past,
  wins: fc.boolean(),
  final: fc.boolean(),
  after: moment,
  rest: moment,
  defect: fc.constantFrom('none', 'none', 'none', 'only', 'after'),
})

const firstSuccessWorld: fc.Arbitrary<World> = fc.record({
  children: fc.array(child, { minLength: 1, maxLength: 5, size: 'max' }),
  memory: fc.constantFrom('none', 'each', 'each', 'other'),
  number: fc.integer({ min: 1, max: 30 }),
  until: fc.constantFrom(Infinity, START + 14_400_000),
  cancelAt: fc.oneof({ weight: 2, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat(120) }),
})

const nameOf = (at: number): string => `sink ${at}`

const failureAt = ({ final }: Child, at: number): Failure =>
  final ? refused('status', { status: 400 + at }) : retryable('status', { status: 500 + at })

const replyOf = (one: Child, at: number): Reply => ({
  ...(one.defect === 'only'
    ? {}
    : { verdict: one.wins ? right({ sink: nameOf(at), status: 200 }) : left(failureAt(one, at)) }),
  ...(one.after === null ? {} : { after: one.after }),
  ...(one.rest === null ? {} : { rest: one.rest }),
  ...(one.defect === 'none' ? {} : { defect: new Error(`defect ${at}`) }),
})

const priorOfWorld = ({ memory, children }: World): Failure | undefined => {
  if (memory === 'none') return undefined
  if (memory === 'other') return retryable('threw')
  // A sink that no longer exists may be remembered too.
  const causes = children.flatMap((one, at) =>
    one.past === null ? [] : [{ sink: nameOf(at), failure: one.past }],
  )
  return allFailed([{ sink: 'gone', failure: refused('status') }, ...causes].reverse())
}

interface Heard {
  readonly at: number
  readonly kind: 'next' | 'complete' | 'error'
  readonly verdict?: Verdict
}

interface Trace {
  readonly heard: ReadonlyArray<Heard>
  readonly sinks: ReadonlyArray<ScriptedSink<number>>
  readonly attempt: Attempt
  readonly pending: number
}

const play = (make: MakeFirstSuccess, world: World): Trace => {
  const clock = virtualClock({ start: START })
  const sinks = world.children.map((one, at) =>
    scriptedSink<number>({ name: nameOf(at), clock, reply: () => replyOf(one, at) }),
  )
  const sink = make(sinks, clock)
  const attempt: Attempt = { number: world.number, until: world.until, lastFailure: priorOfWorld(world) }
  const heard: Heard[] = []
  const at = (): number => clock.monotonic()
  const cancel = subscribeTo(sink)(ITEM, attempt, {
    next: (verdict) => heard.push({ at: at(), kind: 'next', verdict }),
    complete: () => heard.push({ at: at(), kind: 'complete' }),
    error: () => heard.push({ at: at(), kind: 'error' }),
  })
  if (world.cancelAt !== null) {
    clock.tick(world.cancelAt)
    cancel()
  }
  clock.tick(1_000)
  return { heard, sinks, attempt, pending: clock.pending() }
}

const rememberedOf = (world: World, at: number): Failure | null =>
  world.memory === 'each' ? (world.children[at]?.past ?? null) : null

const isAsked = (world: World, at: number): boolean => {
  const remembered = rememberedOf(world, at)
  if (remembered === null) return true
  if (remembered._tag === 'Retryable') return (remembered.notBefore ?? 0) <= START
  return false
}

const verdictTime = (one: Child): number => one.after ?? 0
const endTime = (one: Child): number => verdictTime(one) + (one.rest ?? 0)
/** A defect with no verdict comes when the delivery ends. */
const knownTime = (one: Child): number => (one.defect === 'only' ? endTime(one) : verdictTime(one))

const oracle = (world: World): ReadonlyArray<Heard> => {
  const asked = world.children.flatMap((one, at) => (isAsked(world, at) ? [{ one, at }] : []))
  const winners = asked
    .filter(({ one }) => one.wins && one.defect !== 'only')
    // What answers on the spot is before what answers after 0 ms.
    .sort((a, b) => (a.one.after ?? -1) - (b.one.after ?? -1) || a.at - b.at)
  const latest = (times: ReadonlyArray<number>): number => Math.max(0, ...times)

  const [winner] = winners
  const causes = world.children.map((one, at) => ({
    sink: nameOf(at),
    failure:
      (isAsked(world, at) ? null : rememberedOf(world, at)) ??
      (one.defect === 'only' ? retryable('defect', { detail: `defect ${at}` }) : failureAt(one, at)),
  }))
  const next: Heard =
    winner === undefined
      ? { at: latest(asked.map(({ one }) => knownTime(one))), kind: 'next', verdict: left(allFailed(causes)) }
      : {
          at: verdictTime(winner.one),
          kind: 'next',
          verdict: right({ sink: nameOf(winner.at), status: 200 }),
        }
  const complete: Heard = { at: latest(asked.map(({ one }) => endTime(one))), kind: 'complete' }
  const { cancelAt } = world
  // What happens at the very start comes before any cancel, and what is due at the moment of the cancel has happened.
  return [next, complete].filter(({ at }) => cancelAt === null || at <= cancelAt)
}

export const firstSuccessLaws = lawTable(
  firstSuccessWorld,
  (make: MakeFirstSuccess, world) => play(make, world),
  {
    'F1 verdict and end are those of the oracle, at its times': ({ heard }: Trace, world: World) =>
      holds(isSame(heard, oracle(world)), 'something else'),
    'F2 each sink that may be asked is asked once, at the same time, and no other': ({ sinks }, world) =>
      sinks.forEach(({ calls }, at) =>
        same(
          calls.map(({ startedAt }) => startedAt),
          isAsked(world, at) ? [0] : [],
        ),
      ),
    'F3 a success aborts no sink; a cancel cancels all that runs, at its moment': (
      { sinks, pending },
      { cancelAt },
    ) => {
      same([pending, ...sinks.map((sink) => sink.running())], [0, ...sinks.map(() => 0)])
      for (const { ended, endedAt } of sinks.flatMap(({ calls }) => calls)) {
        if (cancelAt === null) holds(ended !== 'cancelled', 'cancelled')
        else holds((endedAt ?? Infinity) <= cancelAt, 'it ran on')
      }
    },
    'F4 each sink gets the item, the number, the deadline, and its own last failure': (
      { sinks, attempt: { number, until } },
      world,
    ) =>
      sinks.forEach(({ calls }, at) => {
        for (const { item, attempt } of calls) {
          same([item, attempt.number, attempt.until], [ITEM, number, until])
          same(attempt.lastFailure ?? null, rememberedOf(world, at))
        }
      }),
    'F5 several sinks share their work, one sink alone has nothing to share': ({ sinks }) => {
      const all = sinks.flatMap(({ calls }) => calls.map((call) => call.attempt.shared))
      if (all.length < 2) return same(all[0], undefined)
      holds(new Set(all).size === 1 && all[0] !== undefined, 'not shared')
    },
  },
)

it('firstSuccess keeps its laws', () =>
  fc.assert(firstSuccessLaws.all((sinks, clock) => firstSuccess(sinks, { clock }))))
