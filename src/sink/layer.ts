/**
 * How our own layers meet: a delivery as the function one would give to `new Observable`. The Observable is made once, at the
 * border; one Observable a layer costs 12 to 16 % of a request, this costs 5 (research/performance.md, parts 2 and 7).
 * A run has none of RxJS's guards, so it must keep the contract itself: `next` at most once, then `complete`, nothing after
 * `complete`, `error` or the cancel; the sink laws test that.
 *
 * @module
 */

import type { Task } from 'fp-ts/lib/Task.js'
import { Observable } from 'rxjs'
import type { Unsubscribable } from 'rxjs'
import type { Cancel } from '../core/clock.ts'
import type { Verdict } from '../core/failure.ts'
import type { Attempt, Sink } from './sink.ts'

/** Who is told of a delivery. */
export interface Receiver {
  readonly next: (verdict: Verdict) => void
  readonly complete: () => void
  readonly error: (defect: unknown) => void
}

/** Starts a delivery. It may tell its receiver before it returns. Cancelling after the end does nothing. */
export type Run<A> = (item: A, attempt: Attempt, receiver: Receiver) => Cancel

const RUN: unique symbol = Symbol('headrace.run')

interface WithRun<A> {
  readonly [RUN]: Run<A>
}

const hasRun = <A>(sink: Sink<A>): sink is Sink<A> & WithRun<A> => RUN in sink

/** The cancel of something that has nothing to cancel. */
export const nothingToCancel: Cancel = () => undefined

/** A sink whose deliveries are given as a run. */
export const fromRun = <A>(name: string, run: Run<A>, close: (within: number) => Task<void>): Sink<A> => {
  const start: Run<A> = (item, attempt, receiver) => {
    try {
      return run(item, attempt, receiver)
    } catch (defect) {
      receiver.error(defect)
      return nothingToCancel
    }
  }
  const sink: Sink<A> & WithRun<A> = {
    name,
    deliver: (item, attempt) => new Observable((subscriber) => start(item, attempt, subscriber)),
    close,
    [RUN]: start,
  }
  return sink
}

const WITHOUT_VERDICT = 'the sink completed without a verdict'

/** Holds a sink that is not ours to the contract: one verdict, one end, nothing after it; no verdict at all is a defect. */
const guarded = (receiver: Receiver): Receiver => {
  let told = false
  let ended = false
  const fail = (defect: unknown): void => {
    if (ended) return
    ended = true
    receiver.error(defect)
  }
  return {
    next: (verdict) => {
      if (told || ended) return
      told = true
      receiver.next(verdict)
    },
    complete: () => {
      if (!told) {
        fail(new Error(WITHOUT_VERDICT))
      } else if (!ended) {
        ended = true
        receiver.complete()
      }
    },
    error: fail,
  }
}

/** Its clean-up may throw. Who cancels has stopped listening, and may have others to cancel: so that ends here. */
const cancelOf =
  (subscription: Unsubscribable): Cancel =>
  () => {
    try {
      subscription.unsubscribe()
    } catch {
      // Nobody is left to tell.
    }
  }

/** The run of a sink: its own when we made it, else its Observable, subscribed. A `deliver` that throws is a defect. */
export const runOf = <A>(sink: Sink<A>): Run<A> =>
  hasRun(sink)
    ? sink[RUN]
    : (item, attempt, receiver) => {
        const to = guarded(receiver)
        try {
          return cancelOf(sink.deliver(item, attempt).subscribe(to))
        } catch (defect) {
          to.error(defect)
          return nothingToCancel
        }
      }
