import type { Clock } from '../clock/Clock.ts'
import type { Random } from '../clock/Random.ts'
import type { Event } from '../event/Event.ts'
import type { Payload } from '../event/Payload.ts'
import { limiting } from '../layers/limiting.ts'
import type { Tell } from '../observe/Happening.ts'
import { retrying } from '../outbox/retrying.ts'
import { always } from '../policy/RetryPolicy.ts'
import type { RetryPolicy } from '../policy/RetryPolicy.ts'
import type { Sink } from '../sink/Sink.ts'

/** What a destination's relay works with. */
export interface Work {
  readonly sink: Sink<Payload<Event>>
  readonly retry: RetryPolicy
  readonly inRound: number
}

/** What ordering needs to know. */
export interface OrderingOptions {
  readonly orderBy: (event: Event) => string
  /** As many as can be accepted can wait in lanes, so no lane is ever full. */
  readonly maxCount: number
  readonly clock: Clock
  readonly random: Random
  readonly tell: Tell
}

/**
 * Keeps the order within a key: a lane of one for each key, outside retry (DE7). So the retries move inside the lane, and the
 * relay around it only waits. A dead head holds its key for as long as its retries last. How far an item's retries got is then
 * kept in memory alone.
 */
export const ordering = ({ sink, retry }: Work, options: OrderingOptions): Work => {
  const { orderBy, maxCount, clock, random, tell } = options
  const key = ({ items: [event] }: Payload<Event>): string => (event === undefined ? '' : orderBy(event))
  const stubborn = retrying(retry, { clock, random, maxCount, tell })(sink)
  const inOrder = limiting<Payload<Event>>({ concurrency: 1, by: key, queue: maxCount, clock })
  return { sink: inOrder(stubborn), retry: always, inRound: maxCount }
}
