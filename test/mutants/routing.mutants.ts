import { route, withCircuitBreaker, withDedupe, withRateLimit } from '../../src/index.ts'
import { breakerLaws, type MakeBreaker } from '../laws/circuitBreaker.laws.ts'
import { dedupeLaws, rateLimitLaws, routeLaws } from '../laws/memoryLayers.laws.ts'
import type { MakeDedupe, MakeRateLimit, MakeRoute } from '../laws/memoryLayers.laws.ts'
import type { Item } from '../laws/deliveries.ts'
import { itCatches } from '../support/mutants.ts'

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
  'O1: one too many is open': (made) => route({ ...made, maxCount: made.maxCount + 1, keyOf: Number }),
  'O1: idle ones stay open': (made) => route({ ...made, idleTimeout: made.idleTimeout + 200, keyOf: Number }),
})
