import { left } from 'fp-ts/lib/Either.js'
import { messageOf } from '../core/awaitable.ts'
import type { Cancel } from '../core/clock.ts'
import { retryable } from '../core/failure.ts'
import type { Verdict } from '../core/failure.ts'
import { linkedList } from '../core/linkedList.ts'
import type { Link } from '../core/linkedList.ts'
import { nothingToCancel, runOf } from '../sink/layer.ts'
import type { Sink } from '../sink/sink.ts'
import type { Entry } from './outbox.ts'

/** Who is told how rounds go. */
export interface DeliveriesListener<A> {
  /** The verdict of a round, exactly once for each that is not cancelled. `since`: when the entry's first attempt started. */
  readonly settled: (entry: Entry<A>, firstAttemptAt: number, verdict: Verdict) => void
  /** A delivery has come to rest: nothing of it runs any more. */
  readonly rested: () => void
  readonly defect: (where: string, error: unknown) => void
}

/** The rounds that are under way. */
export interface Deliveries<A> {
  /** Starts a round. `until`: no attempt may start at or after it. */
  readonly start: (entry: Entry<A>, firstAttemptAt: number, until: number) => void
  /** Entries whose verdict is still out. */
  readonly inFlight: () => number
  /** Those of them that were tried before. */
  readonly retries: () => number
  /** Deliveries of which something still runs, siblings of ended ones included. */
  readonly running: () => number
  /** Cancels everything, and answers the entries whose verdict was still out. */
  readonly cancelAll: () => ReadonlyArray<Entry<A>>
}

interface Delivery<A> extends Link<Delivery<A>> {
  readonly entry: Entry<A>
  readonly firstAttemptAt: number
  settled: boolean
  /** Nothing of it runs any more, or it was cancelled. */
  over: boolean
  cancel: Cancel
}

/** Runs a sink for entries, and keeps count. A defect of the sink is a retryable failure of that entry alone. */
export const deliveries = <A>(sink: Sink<A>, listener: DeliveriesListener<A>): Deliveries<A> => {
  const run = runOf(sink)
  // Not a Set: with one, what had ended lived on until the next full garbage collection (65 instead of 92 µs for `destination.send`
  // in a long run). Probably its emptied tables, each of which links to the next one; that part was not traced.
  const running = linkedList<Delivery<A>>()
  let maxInFlight = 0
  let retries = 0

  const settle = (delivery: Delivery<A>, verdict: Verdict): void => {
    if (delivery.settled) return
    delivery.settled = true
    maxInFlight--
    if (delivery.entry.progress !== undefined) retries--
    listener.settled(delivery.entry, delivery.firstAttemptAt, verdict)
  }

  const rest = (delivery: Delivery<A>, without: string): void => {
    if (delivery.over) return
    delivery.over = true
    running.remove(delivery)
    if (!delivery.settled) settle(delivery, left(retryable('defect', { detail: without })))
    listener.rested()
  }

  return {
    start: (entry, firstAttemptAt, until) => {
      const { progress } = entry
      const delivery: Delivery<A> = {
        older: undefined,
        newer: undefined,
        entry,
        firstAttemptAt,
        settled: false,
        over: false,
        cancel: nothingToCancel,
      }
      maxInFlight++
      if (progress !== undefined) retries++
      running.push(delivery)
      const attempt = { number: (progress?.attempts ?? 0) + 1, until, lastFailure: progress?.lastFailure }
      const fail = (error: unknown): void => {
        if (delivery.over) return
        listener.defect(sink.name, error)
        rest(delivery, messageOf(error))
      }
      try {
        const cancel = run(entry.item, attempt, {
          next: (verdict) => {
            settle(delivery, verdict)
          },
          complete: () => {
            rest(delivery, 'the sink ended without a verdict')
          },
          error: fail,
        })
        // Its verdict may come before its cancel, and who hears the verdict may cancel everything.
        if (delivery.over) cancel()
        else delivery.cancel = cancel
      } catch (error) {
        fail(error)
      }
    },
    inFlight: () => maxInFlight,
    retries: () => retries,
    running: running.size,
    cancelAll: () => {
      const cancelled = running.drain()
      maxInFlight = 0
      retries = 0
      const cut = cancelled.filter((delivery) => !delivery.settled).map((delivery) => delivery.entry)
      // First all of them: the cancel of one may make another speak, and neither is listened to any more.
      for (const delivery of cancelled) delivery.settled = delivery.over = true
      for (const delivery of cancelled) delivery.cancel()
      return cut
    },
  }
}
