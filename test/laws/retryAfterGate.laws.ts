/** A `Retry-After` holds back everything that goes to a receiver, against an oracle in plain code. */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { describe, it } from 'vitest'
import type { Clock } from '../../src/core/clock.ts'
import { allFailed, type Failure, refused, retryable, partlyFailed } from '../../src/core/failure.ts'
import type { Verdict } from '../../src/core/failure.ts'
import { subscribeTo } from '../../src/sink/layer.ts'
import { withRetryAfterGate } from '../../src/sink/retryAfterGate.ts'
import { type Layer, onlyAttempt } from '../../src/sink/sink.ts'
import { type Call, scriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { holds, type Law, same } from '../support/check.ts'

export type MakeGate = (most: number, clock: Clock) => Layer

/** Wishes are milliseconds from the moment of the verdict. */
type Said =
  | { readonly kind: 'taken' | 'refused' | 'no wish' | 'defect' }
  | { readonly kind: 'wish' | 'alone in a first success'; readonly wish: number }
  | { readonly kind: 'batch'; readonly wishes: ReadonlyArray<number | null> }

interface Delivery {
  /** After the one before it. */
  readonly gap: number
  readonly to: 0 | 1
  readonly after: number | null
  readonly rest: number | null
  readonly said: Said
  readonly cancelAt: number | null
}

interface World {
  readonly most: number
  readonly deliveries: ReadonlyArray<Delivery>
}

const MOST = 60

const wish: fc.Arbitrary<number> = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: -5, max: MOST }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 20 }).map((ms) => ms - 0.5) },
  { weight: 2, arbitrary: fc.constantFrom(NaN, Infinity, -Infinity, 1_000_000) },
)

const said: fc.Arbitrary<Said> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom('taken', 'refused', 'no wish', 'defect').map((kind) => ({ kind }) as const),
  },
  { weight: 3, arbitrary: wish.map((each) => ({ kind: 'wish', wish: each }) as const) },
  { weight: 1, arbitrary: wish.map((each) => ({ kind: 'alone in a first success', wish: each }) as const) },
  {
    weight: 2,
    arbitrary: fc
      .array(fc.option(wish), { minLength: 1, maxLength: 4 })
      .map((wishes) => ({ kind: 'batch', wishes }) as const),
  },
)

const gateWorld: fc.Arbitrary<World> = fc.record({
  most: fc.constantFrom(0, 10, MOST, 3_600_000),
  deliveries: fc.array(
    fc.record({
      gap: fc.oneof(fc.constant(0), fc.nat(20)),
      to: fc.constantFrom(0, 1),
      after: fc.option(fc.nat(20)),
      rest: fc.option(fc.nat(20)),
      said,
      cancelAt: fc.option(fc.nat(30), { freq: 4 }),
    }),
    { minLength: 1, maxLength: 14, size: 'max' },
  ),
})

const failureOf = (what: Said, now: number): Failure | undefined => {
  const asks = (ms: number): Failure => retryable('status', { status: 429, notBefore: now + ms })
  switch (what.kind) {
    case 'taken':
    case 'defect':
      return undefined
    case 'refused':
      return refused('status', { status: 400 })
    case 'no wish':
      return retryable('network')
    case 'wish':
      return asks(what.wish)
    case 'alone in a first success':
      return allFailed([{ sink: 'inner', failure: asks(what.wish) }])
    case 'batch':
      return partlyFailed(
        what.wishes.map((each) => (each === null ? right({ sink: 'inner' }) : left(asks(each)))),
      )
  }
}

interface Ran {
  readonly delivery: Delivery
  readonly startedAt: number
  readonly heard: ReadonlyArray<{ readonly at: number; readonly what: string; readonly verdict?: Verdict }>
  /** What it became inside, if it got there. */
  readonly call: Call<number> | undefined
  readonly replied: Verdict | undefined
  readonly heldUntil: number
  readonly lateWords: number
}

/** The gate, said again in plain code: told of each verdict that is given, in order. */
const oracle = (most: number): { until: number; readonly note: (what: Said, now: number) => void } => {
  const gate = {
    until: -Infinity,
    note: (what: Said, now: number): void => {
      const wishes = what.kind === 'wish' ? [what.wish] : what.kind === 'batch' ? what.wishes : []
      for (const each of wishes) {
        if (each === null || Number.isNaN(each)) continue
        const until = Math.min(Math.ceil(now + each), now + most)
        if (until > now && until > gate.until) gate.until = until
      }
    },
  }
  return gate
}

const play = (make: MakeGate, world: World): { ran: ReadonlyArray<Ran>; pending: number } => {
  const clock = virtualClock({ start: 1_000 })
  const now = (): number => clock.now()
  const layer = make(world.most, clock)
  const gate = oracle(world.most)
  const replied = new Map<number, Verdict>()
  const sinks = [0, 1].map(() => {
    const inner = scriptedSink<number>({
      clock,
      reply: (index) => {
        const delivery = world.deliveries[index]
        if (delivery === undefined) return {}
        const { after, rest } = delivery
        const failure = failureOf(delivery.said, now() + (after ?? 0))
        const verdict = failure === undefined ? right({ sink: 'inner' }) : left(failure)
        if (delivery.said.kind !== 'defect') replied.set(index, verdict)
        return {
          ...(delivery.said.kind === 'defect' ? { defect: new Error('planted') } : { verdict }),
          ...(after === null ? {} : { after }),
          ...(rest === null ? {} : { rest }),
        }
      },
    })
    return { inner, run: subscribeTo(layer(inner)) }
  })
  const ran: Ran[] = []
  world.deliveries.forEach((delivery, index) => {
    clock.tick(delivery.gap)
    const sink = sinks[delivery.to]
    if (sink === undefined) return
    const heard: Array<Ran['heard'][number]> = []
    const heldUntil = gate.until
    const startedAt = now()
    let cancelled = false
    const one = { lateWords: 0 }
    const hear = (what: string, verdict?: Verdict): void => {
      if (cancelled) one.lateWords++
      heard.push({ at: now(), what, ...(verdict === undefined ? {} : { verdict }) })
    }
    const cancel = sink.run(index, onlyAttempt, {
      next: (verdict) => {
        if (replied.get(index) === verdict) gate.note(delivery.said, now())
        hear('next', verdict)
      },
      complete: () => hear('complete'),
      error: () => hear('error'),
    })
    if (delivery.cancelAt !== null) {
      clock.schedule(delivery.cancelAt, () => {
        cancelled = true
        cancel()
      })
    }
    ran.push({
      delivery,
      startedAt,
      heard,
      heldUntil,
      get call() {
        return sink.inner.calls.find(({ item }) => item === index)
      },
      get replied() {
        return replied.get(index)
      },
      get lateWords() {
        return one.lateWords
      },
    })
  })
  clock.tick(100)
  return { ran, pending: clock.pending() }
}

const isHeld = ({ startedAt, heldUntil }: Ran): boolean => startedAt < heldUntil

const checks: Readonly<Record<string, (ran: ReadonlyArray<Ran>, pending: number) => void>> = {
  'G1 nothing starts before the latest moment that was asked for, and everything from then on': (ran) => {
    for (const each of ran) same(each.call === undefined, isHeld(each))
  },
  'G2 what is held back has its verdict at once, with the moment': (ran) => {
    for (const each of ran.filter(isHeld)) {
      const [first, second, ...more] = each.heard
      same([first?.what, second?.what, more.length], ['next', 'complete', 0])
      same([first?.at, second?.at], [each.startedAt, each.startedAt])
      const failure = first?.verdict?._tag === 'Left' ? first.verdict.left : undefined
      if (failure?._tag !== 'Retryable') throw new Error('it may not be tried again')
      same([failure.reason, failure.notBefore], ['held', each.heldUntil])
    }
  },
  'G3 what is started passes unchanged': (ran) => {
    for (const { call, heard, replied, delivery } of ran) {
      if (call === undefined || call.ended === 'cancelled') continue
      const end = delivery.said.kind === 'defect' ? 'error' : 'complete'
      same(
        heard.map(({ what }) => what),
        replied === undefined ? [end] : ['next', end],
      )
      holds(heard[0]?.verdict === replied, 'another verdict')
      same(heard.at(-1)?.at, 1_000 + (call.endedAt ?? NaN))
    }
  },
  'G4 a cancel goes inside, and nothing is emitted after it': (ran) => {
    for (const { lateWords, call, delivery, startedAt } of ran) {
      same(lateWords, 0)
      if (delivery.cancelAt === null || call === undefined) continue
      holds(1_000 + (call.endedAt ?? Infinity) <= startedAt + delivery.cancelAt, 'it ran on')
    }
  },
  'G5 there is no timer': (_ran, pending) => same(pending, 0),
}

export const gateLaws = (make: MakeGate): ReadonlyArray<Law> =>
  Object.entries(checks).map(([id, check]) => ({
    id,
    property: fc.asyncProperty(gateWorld, async (world) => {
      const { ran, pending } = play(make, world)
      check(ran, pending)
    }),
  }))

describe('withRetryAfterGate', () =>
  it.each(gateLaws((most, clock) => withRetryAfterGate({ maxHold: most, clock })))('$id', ({ property }) =>
    fc.assert(property),
  ))
