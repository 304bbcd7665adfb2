/** The time of one attempt, against an oracle in plain code; and the number of timers. */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { describe, it } from 'vitest'
import type { Cancel, Clock } from '../../src/core/clock.ts'
import { retryable } from '../../src/core/failure.ts'
import { subscribeTo } from '../../src/sink/layer.ts'
import { type Layer, onlyAttempt } from '../../src/sink/sink.ts'
import { withTimeout } from '../../src/sink/timeout.ts'
import { type Reply, scriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import type { Law } from '../support/check.ts'
import { runs } from '../support/runs.ts'

export type MakeTimeout = (within: number, clock: Clock) => Layer

interface Delivery {
  /** After the one before it. */
  readonly gap: number
  /** When the verdict would come; null for never. */
  readonly after: number | 'at once' | null
  readonly rest: number | null
  readonly end: 'complete' | 'defect' | 'defect without a verdict'
  readonly fails: boolean
  readonly cancelAt: number | null
}

interface World {
  readonly within: number
  readonly deliveries: ReadonlyArray<Delivery>
}

/** Around the limit, one millisecond to either side, and anywhere. */
const around = (within: number): fc.Arbitrary<number> =>
  fc.oneof(
    fc.constantFrom(within - 1, within, within + 1),
    fc.nat(within),
    fc.integer({ min: within, max: within * 2 + 5 }),
  )

const delivery = (within: number): fc.Arbitrary<Delivery> =>
  fc.record({
    gap: fc.oneof(fc.constant(0), fc.nat(within)),
    after: fc.oneof(
      { weight: 5, arbitrary: around(within) },
      { weight: 1, arbitrary: fc.constant('at once' as const) },
      { weight: 1, arbitrary: fc.constant(null) },
    ),
    rest: fc.option(around(within), { nil: null }),
    end: fc.constantFrom('complete', 'complete', 'complete', 'defect', 'defect without a verdict'),
    fails: fc.boolean(),
    cancelAt: fc.option(around(within), { nil: null, freq: 3 }),
  })

const timeoutWorld: fc.Arbitrary<World> = fc.integer({ min: 1, max: 30 }).chain((within) =>
  fc.record({
    within: fc.constant(within),
    deliveries: fc.array(delivery(within), { minLength: 1, maxLength: 12, size: 'max' }),
  }),
)

interface Heard {
  /** From the start of the delivery. */
  readonly at: number
  readonly what: 'Right' | 'Left' | 'timeout' | 'complete' | 'error'
}

interface Ran {
  readonly heard: Heard[]
  readonly startedAt: number
  endedInsideAt: number | undefined
}

interface Trace {
  readonly ran: ReadonlyArray<Ran>
  /** Most timers of the layer at a time. */
  readonly most: number
  /** Timers of the layer without deliveries, counted after each millisecond. */
  readonly idle: number
}

const replyOf = ({ after, rest, end, fails }: Delivery): Reply => {
  if (after === null) return {}
  return {
    ...(end === 'defect without a verdict'
      ? {}
      : { verdict: fails ? left(retryable('network')) : right({ sink: 'inner' }) }),
    ...(after === 'at once' ? {} : { after }),
    ...(rest === null ? {} : { rest }),
    ...(end === 'complete' ? {} : { defect: new Error('planted') }),
  }
}

const counting = (
  clock: Clock,
): { readonly clock: Clock; readonly set: () => number; readonly most: () => number } => {
  let set = 0
  let most = 0
  const schedule = (delay: number, task: () => void): Cancel => {
    let waiting = true
    const done = (): void => {
      if (waiting) set--
      waiting = false
    }
    set++
    most = Math.max(most, set)
    const cancel = clock.schedule(delay, () => {
      done()
      task()
    })
    return () => {
      done()
      cancel()
    }
  }
  return { clock: { ...clock, schedule }, set: () => set, most: () => most }
}

const play = (make: MakeTimeout, { within, deliveries }: World): Trace => {
  const clock = virtualClock()
  const counted = counting(clock)
  const inner = scriptedSink<number>({
    name: 'inner',
    clock,
    reply: (item) => replyOf(deliveries[item] as Delivery),
  })
  const subscribe = subscribeTo(make(within, counted.clock)(inner))
  const ran: Ran[] = []
  let idle = 0

  const begin = (item: number): Cancel => {
    const startedAt = clock.monotonic()
    const one: Ran = { heard: [], startedAt, endedInsideAt: undefined }
    ran[item] = one
    const hear = (what: Heard['what']): void => {
      one.heard.push({ at: clock.monotonic() - startedAt, what })
    }
    return subscribe(item, onlyAttempt, {
      next: (verdict) => {
        const timedOut =
          verdict._tag === 'Left' && verdict.left._tag === 'Retryable' && verdict.left.reason === 'timeout'
        hear(timedOut ? 'timeout' : verdict._tag)
      },
      complete: () => hear('complete'),
      error: () => hear('error'),
    })
  }

  let startAt = 0
  const todo = deliveries.flatMap(({ gap, cancelAt }, item) => {
    startAt += gap
    let cancel: Cancel = () => {}
    const start = {
      at: startAt,
      act: () => {
        cancel = begin(item)
      },
    }
    return cancelAt === null ? [start] : [start, { at: startAt + cancelAt, act: () => cancel() }]
  })
  const end = startAt + 4 * within + 100
  for (let now = 0; now <= end; now++) {
    if (now > 0) clock.tick(1)
    for (const each of todo) {
      if (each.at !== now) continue
      each.act()
      clock.tick(0)
    }
    if (inner.running() === 0) idle += counted.set()
  }
  for (const call of inner.calls) {
    const one = ran[call.item]
    if (one !== undefined && call.endedAt !== undefined) one.endedInsideAt = call.endedAt - one.startedAt
  }
  return { ran, most: counted.most(), idle }
}

/** An attempt has the time up to, but not including, `within`; what is due at the moment of a cancel has happened. */
const oracle = (within: number, one: Delivery): ReadonlyArray<Heard> => {
  const after = one.after === 'at once' ? 0 : (one.after ?? Infinity)
  const end = after + (one.rest ?? 0)
  const withoutVerdict = one.end === 'defect without a verdict'
  const whole: Heard[] = []
  if (withoutVerdict && end < within) whole.push({ at: end, what: 'error' })
  else if (withoutVerdict || after >= within) whole.push({ at: within, what: 'timeout' })
  else whole.push({ at: after, what: one.fails ? 'Left' : 'Right' })
  if (!withoutVerdict && end < within && one.end === 'defect') whole.push({ at: end, what: 'error' })
  else if (whole[0]?.what !== 'error') whole.push({ at: Math.min(end, within), what: 'complete' })
  return whole.filter(({ at }) => one.cancelAt === null || at <= one.cancelAt)
}

/** At `within` both a defect of the sink and the timeout may be due: either may come first. */
const isTie = (within: number, one: Delivery): boolean => {
  const after = one.after === 'at once' ? 0 : (one.after ?? Infinity)
  return one.end !== 'complete' && after + (one.rest ?? 0) === within
}

interface Check {
  readonly id: string
  readonly holds: (trace: Trace, world: World) => boolean
}

const laws: ReadonlyArray<Check> = [
  {
    id: 'T1 verdict and end are those of the oracle, at its times',
    holds: ({ ran }, { within, deliveries }) =>
      deliveries.every(
        (one, at) =>
          isTie(within, one) || JSON.stringify(ran[at]?.heard) === JSON.stringify(oracle(within, one)),
      ),
  },
  {
    id: 'T2 at most one verdict, then one end, and nothing after it',
    holds: ({ ran }) =>
      ran.every(({ heard }) =>
        /^((Right|Left|timeout)( complete| error)?|error)?$/.test(heard.map((each) => each.what).join(' ')),
      ),
  },
  {
    id: 'T3 nothing runs after the timeout',
    holds: ({ ran }, { within }) => ran.every(({ endedInsideAt }) => (endedInsideAt ?? Infinity) <= within),
  },
  { id: 'T4 one timer for all', holds: ({ most }) => most <= 1 },
  { id: 'T5 no timer without deliveries', holds: ({ idle }) => idle === 0 },
]

export const timeoutLaws = (make: MakeTimeout): ReadonlyArray<Law> =>
  laws.map(({ id, holds }) => ({
    id,
    property: fc.asyncProperty(timeoutWorld, async (world) => holds(play(make, world), world)),
  }))

describe('withTimeout', () =>
  it.each(timeoutLaws((within, clock) => withTimeout(within, { clock })))('$id', ({ property }) =>
    fc.assert(property, { numRuns: runs(0.5) }),
  ))
