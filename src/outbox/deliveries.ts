import { left } from 'fp-ts/lib/Either.js'
import { messageOf } from '../core/awaitable.ts'
import type { Cancel } from '../core/clock.ts'
import { retryable } from '../core/failure.ts'
import type { Verdict } from '../core/failure.ts'
import { linkedList } from '../core/linkedList.ts'
import type { Link } from '../core/linkedList.ts'
import { nothingToCancel, subscribeTo } from '../sink/layer.ts'
import type { Sink } from '../sink/sink.ts'
import type { Entry } from './outbox.ts'

/** The deliveries of a relay. */
export interface Deliveries<A> {
  /** Starts an attempt. `until`: no request may start at or after it. */
  readonly start: (entry: Entry<A>, firstAttemptAt: number, until: number) => void
  /** Deliveries without a verdict. */
  readonly count: () => number
  /** How many of them are retries. */
  readonly retries: () => number
  /** Deliveries of which something still runs, including those that already have a verdict. */
  readonly running: () => number
  /** Cancels all deliveries and answers the entries that had no verdict. */
  readonly cancelAll: () => ReadonlyArray<Entry<A>>
}

interface Delivery<A> extends Link<Delivery<A>> {
  readonly entry: Entry<A>
  readonly firstAttemptAt: number
  hasVerdict: boolean
  isFinished: boolean
  cancel: Cancel
}

/**
 * Runs deliveries. `onVerdict` is called exactly once for each that is not cancelled; `onFinished` when nothing of it runs any
 * more. An error of the sink is reported to `onDefect` and counts as a retryable failure.
 */
export const deliveries = <A>(
  sink: Sink<A>,
  onVerdict: (entry: Entry<A>, firstAttemptAt: number, verdict: Verdict) => void,
  onFinished: () => void,
  onDefect: (where: string, error: unknown) => void,
): Deliveries<A> => {
  const subscribe = subscribeTo(sink)
  // A linked list: a Set keeps finished deliveries alive until the next full garbage collection (92 instead of 65 µs an event).
  const all = linkedList<Delivery<A>>()
  let count = 0
  let retries = 0

  const setVerdict = (delivery: Delivery<A>, verdict: Verdict): void => {
    if (delivery.hasVerdict) return
    delivery.hasVerdict = true
    count--
    if (delivery.entry.progress !== undefined) retries--
    onVerdict(delivery.entry, delivery.firstAttemptAt, verdict)
  }

  const finish = (delivery: Delivery<A>): void => {
    if (delivery.isFinished) return
    delivery.isFinished = true
    all.remove(delivery)
    onFinished()
  }

  return {
    start: (entry, firstAttemptAt, until) => {
      const { item, progress } = entry
      const delivery: Delivery<A> = {
        older: undefined,
        newer: undefined,
        entry,
        firstAttemptAt,
        hasVerdict: false,
        isFinished: false,
        cancel: nothingToCancel,
      }
      count++
      if (progress !== undefined) retries++
      all.push(delivery)
      const attempt = { number: (progress?.attempts ?? 0) + 1, until, lastFailure: progress?.lastFailure }
      const cancel = subscribe(item, attempt, {
        next: (verdict) => setVerdict(delivery, verdict),
        complete: () => finish(delivery),
        error: (error) => {
          if (delivery.isFinished) return
          onDefect(sink.name, error)
          setVerdict(delivery, left(retryable('defect', { detail: messageOf(error) })))
          finish(delivery)
        },
      })
      // It may have finished, or been cancelled, before `subscribe` returned.
      if (delivery.isFinished) cancel()
      else delivery.cancel = cancel
    },
    count: () => count,
    retries: () => retries,
    running: all.size,
    cancelAll: () => {
      const cancelled = all.drain()
      const withoutVerdict = cancelled.filter(({ hasVerdict }) => !hasVerdict).map(({ entry }) => entry)
      count = 0
      retries = 0
      // Mark all first: cancelling one delivery may make another one answer, which must be ignored.
      for (const delivery of cancelled) delivery.hasVerdict = delivery.isFinished = true
      for (const delivery of cancelled) delivery.cancel()
      return withoutVerdict
    },
  }
}
