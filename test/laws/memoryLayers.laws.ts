/** The layers that remember in memory: rate limit, circuit breaker, dedupe; and route, which remembers its open sinks. */
import * as fc from 'fast-check'
import { right } from 'fp-ts/lib/Either.js'
import { describe, it } from 'vitest'
import { onlyAttempt, route, withDedupe, withRateLimit, type Sink, type Verdict } from '../../src/index.ts'
import { subscribeTo } from '../../src/sink/layer.ts'
import { scriptedSink, virtualClock } from '../../src/testing/index.ts'
import { holds, same, type Law } from '../support/check.ts'
import { START, taken, steps, play, notBeforeOf, hearing, run, type Wrap, type Step } from './memoryLayers.ts'

export type MakeRateLimit = (perSecond: number, burst: number) => Wrap

const rates = fc.tuple(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 20 }), steps)

export const rateLimitLaws = (make: MakeRateLimit): ReadonlyArray<Law> => [
  {
    id: 'R1 in any window of t seconds at most burst + t * perSecond deliveries start',
    property: fc.asyncProperty(rates, async ([perSecond, burst, script]) => {
      const { starts } = play(make(perSecond, burst), script)
      for (const [from, first] of starts.entries())
        for (let to = from; to < starts.length; to++) {
          const seconds = ((starts[to] ?? 0) - first) / 1_000
          holds(
            to - from + 1 <= burst + seconds * perSecond + 1e-6,
            `${to - from + 1} starts in ${seconds} s`,
          )
        }
    }),
  },
  {
    id: 'R2 what is held back is told when, later than now; when it is told no other moment, it starts',
    property: fc.asyncProperty(rates, async ([perSecond, burst, script]) => {
      const { heard, starts } = play(make(perSecond, burst), script)
      const held = heard.filter(({ verdict }) => notBeforeOf(verdict) !== undefined)
      for (const { verdict, startedAt } of held)
        holds((notBeforeOf(verdict) ?? 0) > startedAt, 'held until now')
      same(starts.length + held.length, heard.length)
      // The first `burst` after a pause that fills the bucket are never held back.
      holds(
        heard.slice(0, burst).every(({ verdict }) => notBeforeOf(verdict) === undefined),
        'held back within the burst',
      )
    }),
  },
  {
    id: 'R3 one that comes back at its moment, alone, starts',
    property: fc.asyncProperty(
      fc.tuple(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 20 })),
      async ([perSecond, burst]) => {
        const clock = virtualClock({ start: START })
        const inner = scriptedSink<number>({ clock, reply: () => ({ verdict: taken }) })
        const deliver = subscribeTo(make(perSecond, burst)(inner))
        const verdicts: Verdict[] = []
        const send = (): void => {
          deliver(
            0,
            { ...onlyAttempt, clock },
            hearing((verdict) => verdicts.push(verdict)),
          )
        }
        for (let sent = 0; sent <= burst; sent++) send()
        const notBefore = notBeforeOf(verdicts.at(-1)) ?? 0
        clock.tick(notBefore - clock.now())
        send()
        same(verdicts.at(-1), taken)
      },
    ),
  },
]

export type MakeDedupe = (window: number, maxCount: number) => Wrap

const dedupes = fc.tuple(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 1, max: 4 }), steps)

const isDuplicate = (verdict: Verdict | undefined): boolean =>
  verdict?._tag === 'Right' && verdict.right.duplicate === true

export const dedupeLaws = (make: MakeDedupe): ReadonlyArray<Law> => [
  {
    id: 'D1 of one key at most one delivery is in flight, and none is left',
    property: fc.asyncProperty(dedupes, async ([window, , script]) => {
      const { calls, running, pending } = play(make(window, 100), script)
      for (const [at, call] of calls.entries())
        for (const before of calls.slice(0, at))
          if (before.item === call.item)
            holds((before.endedAt ?? Infinity) <= call.startedAt, 'two in flight')
      same([running, pending], [0, 0])
    }),
  },
  {
    id: 'D2 a duplicate is delivered and marked: it follows a success of its key within the window, or shares one in flight',
    property: fc.asyncProperty(dedupes, async ([window, , script]) => {
      const { heard } = play(make(window, 100), script)
      for (const [at, one] of heard.entries()) {
        if (one.step.isCancelled) continue
        holds(one.verdict !== undefined && one.isOver, 'no verdict')
        const sources = heard
          .slice(0, at)
          .filter(
            (each) =>
              each.step.item === one.step.item &&
              each.verdict?._tag === 'Right' &&
              !isDuplicate(each.verdict),
          )
        const within = sources.some(
          (each) => (each.verdictAt ?? 0) >= one.startedAt || one.startedAt < (each.verdictAt ?? 0) + window,
        )
        same(isDuplicate(one.verdict), within && one.verdict?._tag === 'Right')
      }
    }),
  },
  {
    id: 'D4 it remembers maxCount successes at most: the oldest is forgotten',
    property: fc.asyncProperty(fc.integer({ min: 1, max: 10 }), async (maxCount) => {
      const script = Array.from({ length: maxCount + 1 }, (_, item) => item)
      const plain = { pause: 0, kind: 'take', after: 0, isCancelled: false } as const
      const all = [...script, maxCount, 0].map((item): Step => ({ item, ...plain }))
      const { heard } = play(make(1_000, maxCount), all)
      same(heard.map(({ verdict }) => isDuplicate(verdict)).slice(-2), [true, false])
    }),
  },
]

interface Visit {
  readonly pause: number
  readonly key: number
  readonly after: number
}

export interface RouteMade {
  readonly maxCount: number
  readonly idleTimeout: number
  readonly open: (key: number) => Sink<number> | undefined
}

export type MakeRoute = (made: RouteMade) => Sink<number>

const visits = fc.tuple(
  fc.integer({ min: 1, max: 3 }),
  fc.integer({ min: 1, max: 100 }),
  fc.array(
    fc.record<Visit>({ pause: fc.oneof(fc.constant(0), fc.nat(150)), key: fc.nat(5), after: fc.nat(80) }),
    {
      maxLength: 40,
      size: 'max',
    },
  ),
)

export const routeLaws = (make: MakeRoute): ReadonlyArray<Law> => [
  {
    id: 'O1 each item goes to the open sink of its key; never more than maxCount; none is closed in use; idle ones close in time',
    property: fc.asyncProperty(visits, async ([maxCount, idleTimeout, script]) => {
      const clock = virtualClock({ start: START })
      let after = 0
      const opened: Array<{ key: number; sink: ReturnType<typeof scriptedSink<number>> }> = []
      const isOpen = (one: (typeof opened)[number]): boolean => one.sink.closed.length === 0
      const sink = make({
        maxCount,
        idleTimeout,
        open: (key) => {
          if (key === 5) return undefined
          const made = scriptedSink<number>({
            name: `sink ${key}`,
            clock,
            reply: () => ({ verdict: right({ sink: `sink ${key}` }), after }),
          })
          // A sink that is closed while it is in use fails the law.
          const watched: Sink<number> = {
            ...made,
            close: (options) => {
              holds(made.running() === 0, 'closed in use')
              return made.close(options)
            },
          }
          opened.push({ key, sink: made })
          return watched
        },
      })
      for (const visit of script) {
        clock.tick(visit.pause)
        after = visit.after
        const busy = opened.filter((one) => isOpen(one) && one.sink.running() > 0)
        const hasOwn = opened.some((one) => isOpen(one) && one.key === visit.key)
        const verdicts: Verdict[] = []
        const hear = hearing((verdict) => verdicts.push(verdict))
        subscribeTo(sink)(visit.key, { ...onlyAttempt, clock }, hear)
        holds(opened.filter(isOpen).length <= maxCount, 'too many are open')
        const [verdict] = verdicts
        if (!hasOwn && busy.length >= maxCount) same(notBeforeOf(verdict), 0)
        else if (visit.key === 5) same(verdict?._tag === 'Left' && verdict.left._tag === 'Refused', true)
        else holds(notBeforeOf(verdict) === undefined, 'held with room')
      }
      clock.tick(100 + idleTimeout)
      same([opened.filter(isOpen).length, clock.pending()], [0, 0])
      for (const { key, sink: one } of opened)
        holds(
          one.calls.every(({ item }) => item === key),
          'wrong key',
        )
    }),
  },
]

describe('withRateLimit', () =>
  it.each(rateLimitLaws((perSecond, burst) => withRateLimit({ perSecond, burst })))('$id', run))
describe('withDedupe', () =>
  it.each(
    dedupeLaws((window, maxCount) =>
      withDedupe({ keyOf: (item: number) => item, keyTimeout: window, maxCount }),
    ),
  )('$id', run))
describe('route', () =>
  it.each(routeLaws((made) => route({ ...made, keyOf: (item: number) => item })))('$id', run))
