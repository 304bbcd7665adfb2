import { right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../src/core/clock.ts'
import { failover, firstSuccess, toAll } from '../../src/sink/combine.ts'
import { withCircuitBreaker } from '../../src/sink/circuitBreaker.ts'
import { withDedupe } from '../../src/sink/dedupe.ts'
import { makeLayer } from '../../src/sink/layer.ts'
import { withRateLimit } from '../../src/sink/rateLimit.ts'
import { route } from '../../src/sink/route.ts'
import type { Attempt, Sink } from '../../src/sink/sink.ts'
import {
  breakerLaws,
  dedupeLaws,
  rateLimitLaws,
  routeLaws,
  type MakeBreaker,
  type MakeDedupe,
  type MakeRateLimit,
  type MakeRoute,
} from '../laws/memoryLayers.laws.ts'
import {
  failoverLaws,
  firstSuccessLaws,
  nestedLaws,
  toAllLaws,
  type MakeCombination,
} from '../laws/routing.laws.ts'
import { itCatches } from '../support/mutants.ts'

const given =
  (make: MakeCombination, change: (attempt: Attempt) => Attempt): MakeCombination =>
  (sinks, clock) =>
    makeLayer(
      make(sinks, clock),
      (subscribe) => (item, attempt, observer) => subscribe(item, change(attempt), observer),
    )

/** Answers a success whatever the sink says. */
const succeeding = (sink: Sink<number>): Sink<number> =>
  makeLayer(
    sink,
    (subscribe) => (item, attempt, observer) =>
      subscribe(item, attempt, {
        next: () => observer.next(right({ sink: sink.name })),
        complete: () => observer.complete(),
        error: (defect) => observer.error(defect),
      }),
  )

const forgetting = (attempt: Attempt): Attempt => ({ ...attempt, lastFailure: undefined })
const inTurn = (sinks: ReadonlyArray<Sink<string>>, clock: Clock): Sink<string> => failover(sinks, { clock })
const all = (sinks: ReadonlyArray<Sink<string>>, clock: Clock): Sink<string> => toAll(sinks, { clock })
const first = (sinks: ReadonlyArray<Sink<string>>, clock: Clock): Sink<string> =>
  firstSuccess(sinks, { clock })

/** Ends its delivery, and cancels the others, at the first success. */
const abortingTheOthers: MakeCombination = (sinks, clock) =>
  makeLayer(
    first(sinks, clock),
    (subscribe) => (item, attempt, observer) =>
      subscribe(item, attempt, {
        next: (verdict) => {
          observer.next(verdict)
          if (verdict._tag === 'Right') observer.complete()
        },
        complete: () => observer.complete(),
        error: (defect) => observer.error(defect),
      }),
  )

itCatches<MakeCombination>('first success', firstSuccessLaws, {
  'it forgets what failed before': ['F1', given(first, forgetting)],
  'the deadline is forgotten': ['F1', given(first, (attempt) => ({ ...attempt, until: 5 }))],
  'a success aborts the others': ['F1', abortingTheOthers],
  'only the first sink is asked': ['F1', (sinks, clock) => first(sinks.slice(0, 1), clock)],
  'they are asked in turn': ['F1', inTurn],
})

itCatches<MakeCombination>('failover', failoverLaws, {
  'all are asked at the same time': ['V1', first],
  'they are asked in another order': ['V1', (sinks, clock) => inTurn([...sinks].reverse(), clock)],
  'it forgets who refused for good': ['V2', given(inTurn, forgetting)],
  'it knows no deadline': ['V2', given(inTurn, (attempt) => ({ ...attempt, until: Infinity }))],
  'it does not obey Retry-After': [
    'V1',
    (sinks) =>
      failover(sinks, { clock: { now: () => 1e15, monotonic: () => 0, schedule: () => () => undefined } }),
  ],
})

itCatches<MakeCombination>('toAll', toAllLaws, {
  'it forgets who took it': ['W2', given(all, forgetting)],
  'one success is enough': ['W1', first],
  'they are asked in turn': ['W1', inTurn],
})

itCatches<MakeCombination>('nested combinations', (make) => nestedLaws(make, all), {
  'the inner one forgets': ['X1', given(inTurn, forgetting)],
  'the inner one wants all': ['X1', all],
})

itCatches<MakeRateLimit>('the rate limit', rateLimitLaws, {
  'one too many starts at once': [
    'R1',
    (perSecond, burst, clock) => withRateLimit({ perSecond, burst: burst + 1, clock }),
  ],
  'it is one a second too fast': [
    'R1',
    (perSecond, burst, clock) => withRateLimit({ perSecond: perSecond + 1, burst, clock }),
  ],
  'it knows no burst': ['R2', (perSecond, _, clock) => withRateLimit({ perSecond, burst: 1, clock })],
})

itCatches<MakeBreaker>('the circuit breaker', breakerLaws, {
  'it opens one failure late': [
    'B1',
    (failures, openFor, clock) => withCircuitBreaker({ failures: failures + 1, openFor, clock }),
  ],
  'it closes one millisecond early': [
    'B2',
    (failures, openFor, clock) => withCircuitBreaker({ failures, openFor: openFor - 1 || 1, clock }),
  ],
  'it never opens': ['B1', () => (sink) => sink],
})

itCatches<MakeDedupe>('dedupe', dedupeLaws, {
  'repeats in flight are sent': ['D1', () => (sink) => sink],
  'the window is too short': [
    'D2',
    (window, maxKeys, clock) => withDedupe({ keyOf: Number, window: Math.ceil(window / 2), maxKeys, clock }),
  ],
  'all items have one key': [
    'D3',
    (_, maxKeys, clock) => (sink) =>
      withDedupe({ keyOf: () => 1, window: 1_000, maxKeys, clock })(succeeding(sink)),
  ],
  'it remembers more than it may': [
    'D4',
    (window, maxKeys, clock) => withDedupe({ keyOf: Number, window, maxKeys: maxKeys + 1, clock }),
  ],
})

itCatches<MakeRoute>('route', routeLaws, {
  'one too many is open': [
    'O1',
    ({ maxOpen, ...made }) => route({ ...made, maxOpen: maxOpen + 1, keyOf: Number }),
  ],
  'idle sinks stay open': [
    'O1',
    (made) => route({ ...made, idleTimeout: made.idleTimeout + 200, keyOf: Number }),
  ],
  'two keys share a sink': ['O1', (made) => route({ ...made, keyOf: (item) => item & ~1 })],
})
