import { pipe } from 'fp-ts/lib/function.js'
import type { Event } from '../event/Event.ts'
import type { Payload, Signer } from '../event/Payload.ts'
import { contramap } from '../layers/contramap.ts'
import { observing } from '../layers/observing.ts'
import { timingOut } from '../layers/timingOut.ts'
import type { Sink } from '../sink/Sink.ts'
import type { Surroundings } from './sinkOf.ts'

/**
 * A host's own sink in place of URLs: each attempt within its time, and told. It has no lane: as many deliveries overlap as there are
 * items in a round, and a sink that cannot bear that is wrapped in `limiting`. It is given the signer with each payload: what waits has
 * none, whoever stores it.
 */
export const ownSinkOf = (
  own: Sink<Payload<Event>>,
  signer: Signer | undefined,
  { clock, tell, timeout }: Surroundings,
): Sink<Payload<Event>> =>
  pipe(
    signer === undefined ? own : contramap((payload: Payload<Event>) => ({ ...payload, signer }))(own),
    timingOut(timeout, { clock }),
    observing(tell, { clock, only: 'Attempted' }),
  )
