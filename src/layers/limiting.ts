import { type Clock, steady, systemClock } from '../clock/Clock.ts'
import { fromRun, runOf } from '../sink/Run.ts'
import type { Sink } from '../sink/Sink.ts'
import { laneRun, lanesBy, oneLane } from './Lane.ts'

/** What a lane is like, and which lane an item takes. */
export interface LimitingOptions<in A> {
  /** Deliveries that may run at a time, for each lane. At least 1. */
  readonly concurrency: number
  /** Deliveries that may wait, for each lane. Default 1,000; 0 for none. */
  readonly queue?: number
  /** The key of an item: each key has a lane of its own. Keys are told apart as in a `Map`. Default: one lane for all. */
  readonly by?: (item: A) => unknown
  readonly clock?: Clock
}

const checked = (name: string, value: number, least: number): number => {
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new RangeError(
    `limiting: ${name} must be a whole number of at least ${String(least)}, not ${String(value)}`,
  )
}

/**
 * Lets at most `concurrency` deliveries run at a time; the others wait in a lane, first come, first served (DE8).
 *
 * A place in the lane is held until the delivery is complete, so a body that is still drained counts. What does not fit gets the
 * verdict `Retryable('laneFull')` at once; what reaches its start at or after `attempt.until` gets `Retryable('late')` and is not
 * started (DE4). A cancelled delivery gives its place back.
 *
 * With `by`, each key has a lane of its own, forgotten when it is empty; `concurrency: 1` then keeps the order within a key (DE7).
 *
 * @throws RangeError if `concurrency` is not a whole number of at least 1, or `queue` one of at least 0.
 *
 * @example
 * import { limiting, sink } from 'headrace'
 *
 * const store = sink('store', async (row: { id: string; text: string }) => row.text)
 * const atMost16 = limiting({ concurrency: 16 })(store)
 * const inOrder = limiting({ concurrency: 1, by: (row: { id: string }) => row.id })(store)
 */
export const limiting = <B>(options: LimitingOptions<B>): (<A extends B>(sink: Sink<A>) => Sink<A>) => {
  const concurrency = checked('concurrency', options.concurrency, 1)
  const queue = checked('queue', options.queue ?? 1_000, 0)
  const now = steady(options.clock ?? systemClock)
  const { by } = options

  return <A extends B>(sink: Sink<A>) => {
    const lanes = by === undefined ? oneLane<A>() : lanesBy<A>(by)
    return fromRun(sink.name, laneRun(runOf(sink), lanes, { concurrency, queue, now }), sink.close)
  }
}
