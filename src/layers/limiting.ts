import { left } from 'fp-ts/lib/Either.js'
import { type Clock, steady, systemClock } from '../clock/Clock.ts'
import { retryable } from '../outcome/Failure.ts'
import type { Verdict } from '../outcome/Verdict.ts'
import { fromRun, nothingToCancel, type Run, runOf } from '../sink/Run.ts'
import type { Sink } from '../sink/Sink.ts'
import { type Held, type Lane, type Lanes, lanesBy, oneLane } from './Lane.ts'

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

const FULL: Verdict = left(retryable('laneFull'))
const LATE: Verdict = left(retryable('late', { detail: 'the deadline came while it waited in its lane' }))

const checked = (name: string, value: number, least: number): number => {
  if (Number.isSafeInteger(value) && value >= least) return value
  throw new RangeError(
    `limiting: ${name} must be a whole number of at least ${String(least)}, not ${String(value)}`,
  )
}

const laneRun = <A>(
  runInner: Run<A>,
  lanes: Lanes<A>,
  concurrency: number,
  queue: number,
  now: () => number,
): Run<A> => {
  const complete = (held: Held<A>): void => {
    const { to } = held
    held.to = undefined
    to?.complete()
  }

  const start = (held: Held<A>): void => {
    const { lane } = held
    lane.running++
    held.cancelInner = nothingToCancel
    const cancel = runInner(held.item, held.attempt, {
      next: (verdict) => {
        held.to?.next(verdict)
      },
      complete: () => {
        if (held.to === undefined) return
        lane.running--
        complete(held)
        drain(lane)
      },
      error: (defect) => {
        const { to } = held
        if (to === undefined) return
        held.to = undefined
        lane.running--
        to.error(defect)
        drain(lane)
      },
    })
    if (held.to === undefined) cancel()
    else held.cancelInner = cancel
  }

  const begin = (held: Held<A>): void => {
    held.lane.waiting.remove(held)
    if (now() < held.attempt.until) {
      start(held)
      return
    }
    held.to?.next(LATE)
    complete(held)
  }

  // A loop and not a recursion: a sink may end at once, and so may everything that waits behind it.
  const drain = (lane: Lane<A>): void => {
    if (lane.draining) return
    lane.draining = true
    for (
      let oldest = lane.waiting.oldest();
      oldest !== undefined && lane.running < concurrency;
      oldest = lane.waiting.oldest()
    ) {
      begin(oldest)
    }
    lane.draining = false
    lanes.forget(lane)
  }

  const cancel = (held: Held<A>): void => {
    if (held.to === undefined) return
    held.to = undefined
    const { lane, cancelInner } = held
    if (cancelInner === undefined) {
      lane.waiting.remove(held)
      lanes.forget(lane)
      return
    }
    cancelInner()
    lane.running--
    // Not at once: who stops a whole pipeline cancels one delivery after the other, and would find the next ones just started.
    if (lane.waiting.size() > 0) {
      queueMicrotask(() => {
        drain(lane)
      })
    } else {
      lanes.forget(lane)
    }
  }

  return (item, attempt, receiver) => {
    let lane: Lane<A>
    try {
      lane = lanes.of(item)
    } catch (defect) {
      receiver.error(defect)
      return nothingToCancel
    }
    if (lane.running + lane.waiting.size() >= concurrency + queue) {
      receiver.next(FULL)
      receiver.complete()
      return nothingToCancel
    }
    const held: Held<A> = {
      older: undefined,
      newer: undefined,
      item,
      attempt,
      lane,
      to: receiver,
      cancelInner: undefined,
    }
    lane.waiting.push(held)
    drain(lane)
    return () => {
      cancel(held)
    }
  }
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
    return fromRun(sink.name, laneRun(runOf(sink), lanes, concurrency, queue, now), sink.close)
  }
}
