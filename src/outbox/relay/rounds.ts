import { left } from 'fp-ts/lib/Either.js'
import type { Cancel } from '../../clock/Clock.ts'
import { chain, type Link } from '../../internal/Chain.ts'
import { messageOf } from '../../internal/messageOf.ts'
import { retryable } from '../../outcome/Failure.ts'
import type { Verdict } from '../../outcome/Verdict.ts'
import type { Entry } from '../../sink/Outbox.ts'
import { nothingToCancel, runOf } from '../../sink/Run.ts'
import type { Sink } from '../../sink/Sink.ts'

/** Who is told how rounds go. */
export interface RoundsListener<A> {
  /** The verdict of a round, exactly once for each that is not cancelled. `since`: when the entry's first attempt started. */
  readonly settled: (entry: Entry<A>, since: number, verdict: Verdict) => void
  /** A delivery has come to rest: nothing of it runs any more. */
  readonly rested: () => void
  readonly defect: (where: string, error: unknown) => void
}

/** The rounds that are under way. */
export interface Rounds<A> {
  /** Starts a round. `until`: no attempt may start at or after it. */
  readonly start: (entry: Entry<A>, since: number, until: number) => void
  /** Entries whose verdict is still out. */
  readonly inRound: () => number
  /** Those of them that were tried before. */
  readonly retries: () => number
  /** Deliveries of which something still runs, siblings of ended ones included. */
  readonly running: () => number
  /** Cancels everything, and answers the entries whose verdict was still out. */
  readonly cancelAll: () => ReadonlyArray<Entry<A>>
}

interface Delivery<A> extends Link<Delivery<A>> {
  readonly entry: Entry<A>
  readonly since: number
  settled: boolean
  /** Nothing of it runs any more, or it was cancelled. */
  over: boolean
  cancel: Cancel
}

/** Runs a sink for entries, and keeps count. A defect of the sink is a retryable failure of that entry alone. */
export const rounds = <A>(sink: Sink<A>, listener: RoundsListener<A>): Rounds<A> => {
  const run = runOf(sink)
  // Not a Set: with one, what had ended lived on until the next full garbage collection (65 instead of 92 µs for `destination.send`
  // in a long run). Probably its emptied tables, each of which links to the next one; that part was not traced.
  const running = chain<Delivery<A>>()
  let inRound = 0
  let retries = 0

  const settle = (delivery: Delivery<A>, verdict: Verdict): void => {
    if (delivery.settled) return
    delivery.settled = true
    inRound--
    if (delivery.entry.progress !== undefined) retries--
    listener.settled(delivery.entry, delivery.since, verdict)
  }

  const rest = (delivery: Delivery<A>, without: string): void => {
    if (delivery.over) return
    delivery.over = true
    running.remove(delivery)
    if (!delivery.settled) settle(delivery, left(retryable('defect', { detail: without })))
    listener.rested()
  }

  return {
    start: (entry, since, until) => {
      const { progress } = entry
      const delivery: Delivery<A> = {
        older: undefined,
        newer: undefined,
        entry,
        since,
        settled: false,
        over: false,
        cancel: nothingToCancel,
      }
      inRound++
      if (progress !== undefined) retries++
      running.push(delivery)
      const attempt = { number: (progress?.attempts ?? 0) + 1, until, prior: progress?.last }
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
    inRound: () => inRound,
    retries: () => retries,
    running: running.size,
    cancelAll: () => {
      const cancelled = running.drain()
      inRound = 0
      retries = 0
      const cut = cancelled.filter((delivery) => !delivery.settled).map((delivery) => delivery.entry)
      // First all of them: the cancel of one may make another speak, and neither is listened to any more.
      for (const delivery of cancelled) delivery.settled = delivery.over = true
      for (const delivery of cancelled) delivery.cancel()
      return cut
    },
  }
}
