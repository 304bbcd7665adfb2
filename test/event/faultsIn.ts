/** Faults, by what is looked at. */
import type * as t from 'io-ts'
import { isLeft } from 'fp-ts/lib/Either.js'
import { Event } from '../../src/event/event.ts'
import type { Event as Model } from '../../src/event/kinds.ts'
import { faultsOf } from '../../src/event/codecFaults.ts'
import type { Fault } from '../../src/core/refusal.ts'

/** What is wrong with an event. */
export const faultsIn = (input: unknown, codec: t.Type<Model, unknown> = Event): ReadonlyArray<Fault> => {
  const decoded = codec.decode(input)
  return isLeft(decoded) ? faultsOf(decoded.left) : []
}
