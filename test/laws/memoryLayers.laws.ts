/** The layers that remember in memory: rate limit and dedupe; and route, which remembers its open sinks. */
import * as fc from 'fast-check'
import { right } from 'fp-ts/lib/Either.js'
import { describe } from 'vitest'
import { onlyAttempt, route, withDedupe, withRateLimit, type Layer, type Sink } from '../../src/index.ts'
import type { Verdict } from '../../src/index.ts'
import { subscribeTo } from '../../src/sink/layer.ts'
import { scriptedSink, virtualClock } from '../../src/testing/index.ts'
import { holds, itKeeps, law, lawTable, same, type Drawn, type Law } from '../support/check.ts'
import { deliverAll, isOver, type Item, type Step, type Wrap } from './deliveries.ts'
import { notBeforeOf, silent, steps, verdictIn } from './memoryLayers.ts'

export type MakeRateLimit = (perSecond: number, burst: number) => Layer
const rates = fc.tuple(fc.tuple(fc.integer({ min: 1, max: 300 }), fc.integer({ min: 1, max: 20 })), steps)

const limited = (make: MakeRateLimit, [[perSecond, burst], script]: Drawn<typeof rates>) =>
  deliverAll(make(perSecond, burst), script)

export const { each: rateLimitLaws } = lawTable(rates, limited, {
  'R1 in any window of t seconds at most burst + t * perSecond deliveries start': ({ ran }, [rate]) => {
    const [perSecond, burst] = rate
    const starts = ran.flatMap(({ started }) => (started ? [started.at] : []))
    const mayStart = (first: number, last: number): number => burst + ((last - first) / 1_000) * perSecond
    const tooMany = starts.flatMap((first, from) =>
      starts.slice(from).filter((last, more) => more + 1 > mayStart(first, last) + 1e-6),
    )
    same(tooMany, [])
  },
  'R2 a delivery starts, or is told a later moment; the first of a burst start': ({ ran }, [[, burst]]) => {
    for (const [at, one] of ran.entries()) {
      const notBefore = notBeforeOf(verdictIn(one))
      same(one.started === undefined, notBefore !== undefined)
      holds((notBefore ?? Infinity) > one.arrived.at, 'held until now')
      // The first `burst` after a pause that fills the bucket are never held back.
      holds(at >= burst || notBefore === undefined, 'held back within the burst')
    }
  },
})

export type MakeDedupe = (window: number, maxCount: number) => Wrap
const counts = fc.integer({ min: 1, max: 10 })
const dedupes = fc.tuple(fc.integer({ min: 1, max: 200 }), steps)
const isDuplicate = (said: Verdict | undefined) => said?._tag === 'Right' && said.right.duplicate === true

export const dedupeLaws = (make: MakeDedupe): ReadonlyArray<Law> => [
  law('D1 of one key at most one is in flight, and none is left', dedupes, async ([window, script]) => {
    const { ran, timersLeft } = await deliverAll(make(window, 100), script)
    for (const { item, started } of ran)
      holds(started?.beside.every(({ key }) => key !== item.key) !== false, 'two in flight')
    same([ran.filter(({ started, ended }) => started && !ended), timersLeft], [[], 0])
  }),
  law('D2 a duplicate within the window of a success is marked', dedupes, async ([window, script]) => {
    const { ran } = await deliverAll(make(window, 100), script)
    for (const [at, one] of ran.entries()) {
      if (one.step.cancelAt !== null) continue
      const verdict = verdictIn(one)
      holds(verdict !== undefined && isOver(one), 'no verdict')
      const isWithin = ran
        .slice(0, at)
        .filter(({ item, replied }) => item.key === one.item.key && replied?._tag === 'Right')
        .some(({ ended }) => ended?.how === 'completed' && one.arrived.at < ended.at + window)
      same(isDuplicate(verdict), isWithin && verdict?._tag === 'Right')
    }
  }),
  law('D4 it remembers maxCount successes at most: the oldest is forgotten', counts, async (maxCount) => {
    const plain = { gap: 0, after: null, rest: null, defect: 'none', within: null } as const
    const taken: Omit<Step, 'key'> = { ...plain, said: { kind: 'taken' }, cancelAt: null, again: null }
    const keys = [...Array.from({ length: maxCount + 1 }, (_, key) => key), maxCount, 0]
    const script = keys.map((key) => ({ ...taken, key }))
    const { ran } = await deliverAll(make(1_000, maxCount), script)
    same(ran.map((one) => isDuplicate(verdictIn(one))).slice(-2), [true, false])
  }),
]

export interface RouteMade {
  readonly maxCount: number
  readonly idleTimeout: number
  readonly open: (key: number) => Sink<number> | undefined
}

export type MakeRoute = (made: RouteMade) => Sink<number>
const visit = fc.record({ pause: fc.oneof(fc.constant(0), fc.nat(150)), key: fc.nat(5), after: fc.nat(80) })
const visits = fc.tuple(
  fc.integer({ min: 1, max: 3 }),
  fc.integer({ min: 1, max: 100 }),
  fc.array(visit, { maxLength: 40, size: 'max' }),
)

export const routeLaws = (make: MakeRoute): ReadonlyArray<Law> => [
  // Never more than maxCount, none is closed in use, and idle ones close in time.
  law('O1 each item goes to the open sink of its key', visits, ([maxCount, idleTimeout, script]) => {
    const clock = virtualClock()
    let after = 0
    const opened: Array<{ key: number; sink: ReturnType<typeof scriptedSink<number>> }> = []
    const isOpen = (one: (typeof opened)[number]): boolean => one.sink.closed.length === 0
    const open = (key: number): Sink<number> | undefined => {
      if (key === 5) return undefined
      const verdict = right({ sink: `sink ${key}` })
      const made = scriptedSink<number>({ clock, reply: () => ({ verdict, after }) })
      opened.push({ key, sink: made })
      const close: typeof made.close = (options) => {
        holds(made.running() === 0, 'closed in use')
        return made.close(options)
      }
      return { ...made, close }
    }
    const sink = make({ maxCount, idleTimeout, open })
    for (const visit of script) {
      clock.tick(visit.pause)
      after = visit.after
      const busy = opened.filter((one) => isOpen(one) && one.sink.running() > 0)
      const hasOwn = opened.some((one) => isOpen(one) && one.key === visit.key)
      const verdicts: Verdict[] = []
      const hear = { ...silent, next: (verdict: Verdict) => verdicts.push(verdict) }
      subscribeTo(sink)(visit.key, { ...onlyAttempt, clock }, hear)
      holds(opened.filter(isOpen).length <= maxCount, 'too many are open')
      const [verdict] = verdicts
      if (!hasOwn && busy.length >= maxCount) same(notBeforeOf(verdict), 0)
      else if (visit.key === 5) same(verdict?._tag === 'Left' && verdict.left._tag === 'Refused', true)
      else holds(notBeforeOf(verdict) === undefined, 'held with room')
    }
    clock.tick(100 + idleTimeout)
    same([opened.filter(isOpen).length, clock.pending()], [0, 0])
    for (const { key, sink: one } of opened) holds(!one.calls.some(({ item }) => item !== key), 'wrong key')
  }),
]

describe('withRateLimit', () =>
  itKeeps(rateLimitLaws((perSecond, burst) => withRateLimit({ perSecond, burst }))))
const keyOf = ({ key }: Item) => key
describe('withDedupe', () =>
  itKeeps(dedupeLaws((keyTimeout, maxCount) => withDedupe({ keyOf, keyTimeout, maxCount }))))
describe('route', () => itKeeps(routeLaws((made) => route({ ...made, keyOf: (item: number) => item }))))
