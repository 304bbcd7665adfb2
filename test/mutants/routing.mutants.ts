import { failover, route, toAll, withCircuitBreaker, withDedupe, withRateLimit } from '../../src/index.ts'
import { makeLayer } from '../../src/sink/layer.ts'
import { propertyOf } from '../../src/testing/laws/index.ts'
import type { MakeCombination } from '../../src/testing/laws/combinatorLaws.ts'
import { breakerLaws, type MakeBreaker } from '../laws/circuitBreaker.laws.ts'
import { dedupeLaws, rateLimitLaws, routeLaws } from '../laws/memoryLayers.laws.ts'
import type { MakeDedupe, MakeRateLimit, MakeRoute } from '../laws/memoryLayers.laws.ts'
import type { Item } from '../laws/deliveries.ts'
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
  'nested/group-asked-once: the inner one forgets': forgetting,
  'nested/group-asked-once: the inner one wants all': all,
})

itCatches<MakeRateLimit>('the rate limit', rateLimitLaws, {
  'R1: one too many starts at once': (perSecond, burst) => withRateLimit({ perSecond, burst: burst + 1 }),
  'R2: it knows no burst': (perSecond, _) => withRateLimit({ perSecond, burst: 1 }),
})

itCatches<MakeBreaker>('the circuit breaker', breakerLaws, {
  'B1: it opens one failure late': (failures, openTimeout) =>
    withCircuitBreaker({ failures: failures + 1, openTimeout }),
})

const keyOf = ({ key }: Item): number => key

itCatches<MakeDedupe>('dedupe', dedupeLaws, {
  'D1: repeats in flight are sent': () => (sink) => sink,
  'D2: the window is too short': (window, maxKeys) =>
    withDedupe({ keyOf, keyTimeout: Math.ceil(window / 2), maxCount: maxKeys }),
  'D4: it remembers more than it may': (window, maxKeys) =>
    withDedupe({ keyOf, keyTimeout: window, maxCount: maxKeys + 1 }),
})

itCatches<MakeRoute>('route', routeLaws, {
  'O1: one too many is open': ({ maxCount, ...made }) =>
    route({ ...made, maxCount: maxCount + 1, keyOf: Number }),
  'O1: idle sinks stay open': (made) =>
    route({ ...made, idleTimeout: made.idleTimeout + 200, keyOf: Number }),
})
