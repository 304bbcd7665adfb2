import { pipe } from 'fp-ts/lib/function.js'
import type { Clock } from '../clock/Clock.ts'
import type { Event } from '../event/Event.ts'
import type { Payload } from '../event/Payload.ts'
import { firstSuccess } from '../layers/firstSuccess.ts'
import { limiting } from '../layers/limiting.ts'
import { observing } from '../layers/observing.ts'
import { timingOut } from '../layers/timingOut.ts'
import type { Tell } from '../observe/Happening.ts'
import type { Sink } from '../sink/Sink.ts'
import type { Numbers } from './numbersOf.ts'

/** What stands around the URLs of a destination. */
export interface Surroundings extends Pick<Numbers, 'timeout' | 'concurrency' | 'inRound'> {
  readonly clock: Clock
  readonly tell: Tell
}

/**
 * Every URL in a lane of its own (DE8), each attempt within its time (DE3), and the first success of all of them (DE1). A lane
 * can hold all that is in a round, so it is full only with what ended elsewhere.
 */
export const sinkOf = (
  urls: ReadonlyArray<Sink<Payload<Event>>>,
  { clock, tell, timeout, concurrency, inRound }: Surroundings,
): Sink<Payload<Event>> => {
  const inTime = timingOut(timeout, { clock })
  const attempts = observing(tell, { clock, only: 'Attempted' })
  const lane = limiting<Payload<unknown>>({ concurrency, queue: inRound, clock })
  const passedOver = observing(tell, { clock, only: 'PassedOver' })
  return firstSuccess(
    urls.map((url) => pipe(url, inTime, attempts, lane, passedOver)),
    { clock },
  )
}
