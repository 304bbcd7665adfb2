/**
 * Lanes and what stands in them.
 *
 * @module
 */

import { left } from 'fp-ts/lib/Either.js'
import { steady, systemClock } from '../core/clock.ts'
import type { Cancel, Clock } from '../core/clock.ts'
import { retryable } from '../core/failure.ts'
import type { Verdict } from '../core/failure.ts'
import { linkedList } from '../core/linkedList.ts'
import type { LinkedList, Link } from '../core/linkedList.ts'
import { nothingToCancel, fromRun, runOf } from './layer.ts'
import type { Receiver, Run } from './layer.ts'
import type { Attempt, Sink } from './sink.ts'

/** A delivery in its lane: it waits, or it runs. */
export interface Held<A> extends Link<Held<A>> {
  readonly item: A
  readonly attempt: Attempt
  readonly lane: Lane<A>
  /** Who is told; undefined when the delivery is over or cancelled. */
  to: Receiver | undefined
  /** Undefined as long as it waits. */
  cancelInner: Cancel | undefined
}

/** Deliveries of which only so many run at a time. */
export interface Lane<A> {
  readonly key: unknown
  readonly waiting: LinkedList<Held<A>>
  running: number
  /** A loop is already starting deliveries of this lane, so a slot that becomes free is seen by it. */
  draining: boolean
}

/** Which lane an item takes. */
export interface Lanes<A> {
  readonly of: (item: A) => Lane<A>
  /** Lets go of a lane that nothing uses. */
  readonly forget: (lane: Lane<A>) => void
  /** How many lanes there are. */
  readonly size: () => number
}

const emptyLane = <A>(key: unknown): Lane<A> => ({
  key,
  waiting: linkedList<Held<A>>(),
  running: 0,
  draining: false,
})

/** The same lane for all. */
export const oneLane = <A>(): Lanes<A> => {
  const lane = emptyLane<A>(undefined)
  return { of: () => lane, forget: () => undefined, size: () => 1 }
}

/** A lane for each key, as long as something is in it. */
export const lanesBy = <A>(by: (item: A) => unknown): Lanes<A> => {
  const lanes = new Map<unknown, Lane<A>>()
  return {
    of: (item) => {
      const key = by(item)
      const known = lanes.get(key)
      if (known !== undefined) return known
      const lane = emptyLane<A>(key)
      lanes.set(key, lane)
      return lane
    },
    forget: (lane) => {
      if (lane.running === 0 && lane.waiting.size() === 0 && !lane.draining) lanes.delete(lane.key)
    },
    size: () => lanes.size,
  }
}

const FULL: Verdict = left(retryable('laneFull'))
const LATE: Verdict = left(retryable('late', { detail: 'the deadline came while it waited in its lane' }))

/** The bounds of each lane, and the time by which it is judged what is late: milliseconds since 1970. */
export interface LaneLimits {
  readonly concurrency: number
  readonly queue: number
  readonly now: () => number
}

/** A run of which at most so many go on at a time in each lane. `withConcurrency` says what that means. */
export const laneRun = <A>(
  runInner: Run<A>,
  lanes: Lanes<A>,
  { concurrency, queue, now }: LaneLimits,
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

/** What a lane is like, and which lane an item takes. */
export interface ConcurrencyOptions<in A> {
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
 * import { withConcurrency, sink } from 'headrace'
 *
 * const store = sink('store', async (row: { id: string; text: string }) => row.text)
 * const atMost16 = withConcurrency({ concurrency: 16 })(store)
 * const inOrder = withConcurrency({ concurrency: 1, by: (row: { id: string }) => row.id })(store)
 */
export const withConcurrency = <B>(
  options: ConcurrencyOptions<B>,
): (<A extends B>(sink: Sink<A>) => Sink<A>) => {
  const concurrency = checked('concurrency', options.concurrency, 1)
  const queue = checked('queue', options.queue ?? 1_000, 0)
  const now = steady(options.clock ?? systemClock)
  const { by } = options

  return <A extends B>(sink: Sink<A>) => {
    const lanes = by === undefined ? oneLane<A>() : lanesBy<A>(by)
    return fromRun(sink.name, laneRun(runOf(sink), lanes, { concurrency, queue, now }), sink.close)
  }
}
