import { failover, route, toAll, withCircuitBreaker, withDedupe, withRateLimit } from '../../src/index.ts'
import { makeLayer } from '../../src/sink/layer.ts'
import { propertyOf } from '../../src/testing/laws/index.ts'
import type { MakeCombination } from '../../src/testing/laws/combinatorLaws.ts'
import { breakerLaws, type MakeBreaker } from '../laws/circuitBreaker.laws.ts'
import { dedupeLaws, rateLimitLaws, routeLaws } from '../laws/memoryLayers.laws.ts'
import type { MakeDedupe, MakeRateLimit, MakeRoute } from '../laws/memoryLayers.laws.ts'
import { nestedLaws } from '../laws/routing.laws.ts'
import { itCatches } from '../support/mutants.ts'

/** A failover that does not know which of its sinks failed. */
const forgetting: MakeCombination = (sinks) =>
  makeLayer(
    failover(sinks),
    (subscribe) => (item, attempt, observer) =>
      subscribe(item, { ...attempt, lastFailure: undefined }, observer),
  )

const all: MakeCombination = (sinks) => toAll(sinks)

const nested = (make: MakeCombination) =>
  nestedLaws(make, all).map((law) => ({ id: `${law.id} `, property: propertyOf(law) }))

itCatches<MakeCombination>('nested combinations', nested, {
  'the inner one forgets': ['nested/group-asked-once', forgetting],
  'the inner one wants all': ['nested/group-asked-once', all],
})

itCatches<MakeRateLimit>('the rate limit', rateLimitLaws, {
  'one too many starts at once': ['R1', (perSecond, burst) => withRateLimit({ perSecond, burst: burst + 1 })],
  'it knows no burst': ['R2', (perSecond, _) => withRateLimit({ perSecond, burst: 1 })],
})

itCatches<MakeBreaker>('the circuit breaker', breakerLaws, {
  'it opens one failure late': [
    'B1',
    (failures, openTimeout) => withCircuitBreaker({ failures: failures + 1, openTimeout }),
  ],
})

itCatches<MakeDedupe>('dedupe', dedupeLaws, {
  'repeats in flight are sent': ['D1', () => (sink) => sink],
  'the window is too short': [
    'D2',
    (window, maxKeys) => withDedupe({ keyOf: Number, keyTimeout: Math.ceil(window / 2), maxCount: maxKeys }),
  ],
  'it remembers more than it may': [
    'D4',
    (window, maxKeys) => withDedupe({ keyOf: Number, keyTimeout: window, maxCount: maxKeys + 1 }),
  ],
})

itCatches<MakeRoute>('route', routeLaws, {
  'one too many is open': [
    'O1',
    ({ maxCount, ...made }) => route({ ...made, maxCount: maxCount + 1, keyOf: Number }),
  ],
  'idle sinks stay open': [
    'O1',
    (made) => route({ ...made, idleTimeout: made.idleTimeout + 200, keyOf: Number }),
  ],
})
