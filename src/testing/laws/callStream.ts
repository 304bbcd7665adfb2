import * as fc from 'fast-check'
import type { Kind } from '../../event/model.ts'
import { seededRandom } from '../random.ts'
import { trackingCallOf } from './events.ts'
import { invalidCallOf } from './invalidInput.ts'

/** Endless calls for `headrace gen`. The share of them is refused; the others have unique message ids. */
export const callStream = function* (seed: number, kinds: ReadonlyArray<Kind>, share: number) {
  const random = seededRandom(seed)
  const weight = Math.round(share * 1e6)
  const calls = fc.oneof(
    { weight: 1e6 - weight, arbitrary: trackingCallOf(...kinds) },
    { weight, arbitrary: invalidCallOf(...kinds) },
  )
  for (let next = 0; ;)
    for (const each of fc.sample(calls, { numRuns: 500, seed: Math.floor(random() * 2 ** 31) }))
      yield 'call' in each ? { ...each.call, messageId: `gen-${String(seed)}-${String(next++)}` } : each.input
}
