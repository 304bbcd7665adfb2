import * as fc from 'fast-check'
import type { Kind } from '../../event/model.ts'
import { seededRandom } from '../random.ts'
import { trackingCallOf } from './events.ts'
import { invalidCallOf } from './invalidInput.ts'

const CHUNK = 500

/** What a stream of calls is made of. */
export interface CallStreamOptions {
  /** The same seed gives the same calls, and a longer stream begins like a shorter one. */
  readonly seed: number
  /** Default: all seven. */
  readonly kinds?: ReadonlyArray<Kind>
  /** The share of calls that must be refused, from 0 to 1. Default 0. */
  readonly invalid?: number
}

/** Values without end; no more than 500 are held. */
const endless = function* <A>(values: fc.Arbitrary<A>, seed: number): Generator<A, never> {
  const random = seededRandom(seed)
  for (;;) yield* fc.sample(values, { numRuns: CHUNK, seed: Math.floor(random() * 2 ** 31) })
}

/**
 * Tracking calls without end, for `headrace gen` and for tests of load. Each is a value for `JSON.stringify`. Those that are valid have
 * message ids that do not repeat.
 */
export const callStream = function* ({
  seed,
  kinds = [],
  invalid = 0,
}: CallStreamOptions): Generator<unknown, never> {
  const random = seededRandom(seed)
  const valid = endless(trackingCallOf(...kinds), seed)
  const refused = endless(invalidCallOf(...kinds), seed)
  for (let number = 0; ; number++)
    yield random() < invalid
      ? refused.next().value.input
      : { ...valid.next().value.call, messageId: `gen-${String(seed)}-${String(number)}` }
}
