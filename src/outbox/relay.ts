/**
 * The relay delivers the entries of an outbox to a sink. Together with `withRetry` it is the only place that retries.
 *
 *     outbox.lease ─▶ sink.deliver ─▶ step ─┬─▶ outbox.ack    final: delivered, rejected or expired
 *                                           └─▶ outbox.nack   waits for its retry
 *
 * An outcome is counted and reported after the outbox has stored it. So a crash can repeat a delivery, and never loses one.
 *
 * @module
 */

import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Awaitable } from '../core/awaitable.ts'
import { whenAnswered } from '../core/awaitable.ts'
import { steady } from '../core/clock.ts'
import type { Cancel, Clock, Random } from '../core/clock.ts'
import * as Failure from '../core/failure.ts'
import type { Verdict } from '../core/failure.ts'
import * as Outcome from '../core/outcome.ts'
import { closed } from '../core/refusal.ts'
import type { Closed, Full } from '../core/refusal.ts'
import type { Totals } from '../core/totals.ts'
import type { Listener } from '../log/logEvent.ts'
import { deadlineOf } from '../policy/retryPolicy.ts'
import type { RetryPolicy } from '../policy/retryPolicy.ts'
import { step } from '../policy/step.ts'
import type { Sink } from '../sink/sink.ts'
import { deliveries } from './deliveries.ts'
import { abandonedOf } from './outbox.ts'
import type { EndedDeadLetter, Entry, Outbox } from './outbox.ts'
import { poller } from './poller.ts'
import { reporting } from './reporting.ts'
import { storeCalls } from './storeCalls.ts'

export interface RelayOptions<A> {
  readonly sink: Sink<A>
  readonly outbox: Outbox<A>
  readonly retry: RetryPolicy
  readonly clock: Clock
  readonly random: Random
  /** The maximum number of entries in flight. */
  readonly maxInFlight: number
  readonly onEvent?: Listener | undefined
  /** Whether anything listens to this kind of log event. Default: whether there is an `onEvent`. */
  readonly hears?: (tag: 'Accepted' | 'Ended') => boolean
  /** Called once for each item, after the outbox has stored its outcome. Calls never nest. */
  readonly ended: (outcome: Outcome.Outcome<A>) => void
  /** Called a turn after the outbox reported changes made by others (`watch`). */
  readonly storeChanged?: () => void
}

/** Delivers the entries of an outbox to a sink, with retries. */
export interface Relay<A> {
  /** Adds an item to the outbox. `Full` if there is no room, `Closed` after `stopAccepting`. */
  readonly offer: (item: A) => Awaitable<Either<Full | Closed, Entry<A>>>
  /** Adds an item for which the outbox has no room to its dead letters. */
  readonly offerDead: (item: A, failure: Failure.Failure) => Awaitable<Either<Closed, void>>
  /** From now on `offer` answers `Closed`. */
  readonly stopAccepting: () => void
  /** From now on no delivery starts. Those in flight continue. */
  readonly stopStarting: () => void
  /**
   * Cancels all deliveries and waits for open store calls. `done` receives the items that are not finished: none of a durable
   * outbox, which keeps them.
   */
  readonly abort: (done: (unfinished: ReadonlyArray<A>) => void) => void
  readonly isAborted: () => boolean
  /** Asks the outbox for due entries. */
  readonly poll: () => void
  /** The outbox ended a record that it could not read, as a dead letter: it counts as rejected. */
  readonly endedCorrupt: (id: string) => void
  /**
   * Whether anything is in flight, or could start before `instant`. An outbox with `watch` may not know when: then anything that
   * waits counts for `Infinity` only.
   */
  readonly hasWorkBefore: (instant: number) => boolean
  /** Deliveries that still run, including those that already have a verdict. */
  readonly running: () => number
  /** Calls `listener` after every change of the above. */
  readonly onChange: (listener: () => void) => Cancel
  /** Moves matching dead letters back into the outbox. Answers how many: 0 after `stopAccepting`. */
  readonly redrive: (matches: (deadLetter: EndedDeadLetter<A>) => boolean) => Promise<number>
  /** Logs. Never throws. */
  readonly report: Listener
  readonly totals: () => Totals
  /** The time of due times and deadlines. */
  readonly now: () => number
}

/** Deliveries do not wait for a slow store: up to this many results may be unsaved. A crash repeats their deliveries. */
const MAX_UNSAVED = 16

/** Makes a relay, which starts at once with what the outbox already holds. */
export const relay = <A>(options: RelayOptions<A>): Relay<A> => {
  const { sink, outbox, retry, clock, random, maxInFlight } = options
  const isShared = outbox.watch !== undefined
  const maxRetries = Math.max(1, Math.floor(maxInFlight / 2))
  const now = steady(clock)
  const window = deadlineOf(retry)
  const { onEvent, ended, hears = () => onEvent !== undefined } = options
  const report = reporting(onEvent, hears, ended, now, isShared ? 0 : outbox.stats().waiting)
  const listeners = new Set<() => void>()
  /** Leased, and not started because the relay is stopped, or not saved because the store failed until then. */
  const leftOver: Array<Entry<A>> = []
  let state: 'open' | 'closed' | 'stopped' | 'aborted' = 'open'
  let lookTimer: Cancel | undefined

  const isStopped = (): boolean => state === 'stopped' || state === 'aborted'

  const changed = (): void => {
    // Called several times for each entry, and usually nothing listens.
    if (listeners.size === 0) return
    for (const listener of listeners) listener()
  }
  const onChange = (listener: () => void): Cancel => {
    listeners.add(listener)
    return () => {
      listeners.delete(listener)
    }
  }
  const storeFailed = (error: unknown): void => report.defect('outbox', error)
  const store = storeCalls(clock, storeFailed, changed)

  const end = (entry: Entry<A>, outcome: Outcome.Outcome<A>): void => {
    store.save({
      run: () => outbox.ack([{ entry, outcome }]),
      saved: () => {
        report.ended(outcome)
        pollNew()
      },
      gaveUp: () => {
        // A durable outbox hands the entry out again after a restart. For another one this is the last chance to report it.
        if (!outbox.durable) report.ended(outcome)
        changed()
      },
    })
    if (store.unsaved() > 0) pollNew()
  }

  const putBack = (entry: Entry<A>, due: number): void => {
    store.save({
      run: () => outbox.nack([{ entry, due }]),
      saved: poll,
      gaveUp: () => {
        leftOver.push(entry)
        changed()
      },
    })
    if (store.unsaved() > 0) poll()
  }

  const onVerdict = (entry: Entry<A>, startedAt: number, verdict: Verdict): void => {
    const at = now()
    const { id, item } = entry
    // If no request was made in the first attempt, it does not count: neither as an attempt nor for the deadline.
    const isUnstarted =
      entry.firstAttemptAt === undefined && isLeft(verdict) && !Failure.wasStarted(verdict.left)
    const firstAttemptAt = isUnstarted ? at : startedAt
    const next = step(retry, entry.progress, firstAttemptAt, verdict, at, random)
    switch (next._tag) {
      case 'Deliver':
        end(entry, Outcome.delivered(item, next.attempts, next.receipt))
        return
      case 'Reject':
        end(entry, Outcome.rejected(item, next.attempts, next.failure))
        return
      case 'Expire':
        end(entry, Outcome.expired(item, next.failure))
        return
      case 'Wait': {
        const { progress, due, delay, because } = next
        const attempts = isUnstarted ? 0 : progress.attempts
        report.log({ _tag: 'Waiting', at, item, attempts, failure: progress.lastFailure, delay, because })
        putBack(isUnstarted ? entry : { id, item, firstAttemptAt, progress }, due)
      }
    }
  }

  const inFlight = deliveries(sink, onVerdict, changed, report.defect)

  const start = (entry: Entry<A>): void => {
    const at = now()
    const firstAttemptAt = entry.firstAttemptAt ?? at
    if (isStopped()) {
      leftOver.push(entry)
    } else if (entry.progress !== undefined && at >= firstAttemptAt + window) {
      const { attempts, lastFailure } = entry.progress
      end(entry, Outcome.expired(entry.item, Failure.expired(attempts, firstAttemptAt, lastFailure)))
    } else {
      inFlight.start(entry, firstAttemptAt, firstAttemptAt + window)
    }
  }

  const { poll, pollNew, isPolling, clearTimer } = poller<A>({
    outbox,
    clock,
    now,
    free: () => maxInFlight - inFlight.count() - Math.max(0, store.unsaved() - MAX_UNSAVED),
    freeRetries: () => maxRetries - inFlight.retries(),
    isStopped,
    start,
    failed: storeFailed,
    changed,
  })

  const lookAgain = (): void => {
    if (state === 'aborted') return
    lookTimer ??= clock.schedule(0, () => {
      lookTimer = undefined
      pollNew()
      options.storeChanged?.()
    })
  }
  const unwatch = whenAnswered<Cancel | undefined, Cancel | undefined>(
    () => outbox.watch?.(lookAgain),
    (cancel) => cancel,
    (error) => {
      storeFailed(error)
      return undefined
    },
  )

  const isWorking = (): boolean =>
    inFlight.count() > 0 || isPolling() || store.isBusy() || report.isReporting()

  const stopStarting = (): void => {
    if (state !== 'aborted') state = 'stopped'
    clearTimer()
  }

  /** Reports what is unfinished as abandoned, and answers its items when all were reported. */
  const handBack = (cancelled: ReadonlyArray<Entry<A>>, done: (items: ReadonlyArray<A>) => void): void => {
    const finish = (entries: ReadonlyArray<Entry<A>>): void => {
      for (const entry of entries) report.ended(abandonedOf(entry))
      report.afterReports(() => done(entries.map(({ item }) => item)))
    }
    if (outbox.durable) {
      finish([])
      return
    }
    const ended = cancelled.map((entry) => ({ entry, outcome: abandonedOf(entry) }))
    whenAnswered(
      () => outbox.ack(ended),
      () => undefined,
      storeFailed,
    )
    whenAnswered(
      () => outbox.takeRemaining(),
      (remaining) => finish([...cancelled, ...remaining]),
      (error) => {
        storeFailed(error)
        finish(cancelled)
      },
    )
  }

  poll()

  return {
    offer: (item) => {
      if (state !== 'open') return left(closed(item))
      return store.call(
        () => outbox.enqueue([item]),
        ([answer]) => {
          if (answer === undefined) throw new Error('the outbox did not answer for the item')
          if (isLeft(answer)) return answer
          report.accepted(item)
          pollNew()
          return answer
        },
      )
    },
    offerDead: (item, failure) => {
      if (state !== 'open') return left(closed(item))
      const outcome = Outcome.rejected(item, 0, failure)
      return store.call(
        () => outbox.addDeadLetter?.(item, outcome),
        () => {
          report.accepted(item)
          report.ended(outcome)
          return right(undefined)
        },
      )
    },
    stopAccepting: () => {
      if (state === 'open') state = 'closed'
    },
    stopStarting,
    abort: (done) => {
      stopStarting()
      store.stopRetrying()
      const cancelled = inFlight.cancelAll()
      const whenIdle = (): void => {
        if (isPolling() || store.isBusy()) return
        stopListening()
        handBack([...cancelled, ...leftOver.splice(0)], (items) => {
          state = 'aborted'
          lookTimer?.()
          whenAnswered(
            () => unwatch?.(),
            () => undefined,
            storeFailed,
          )
          done(items)
          changed()
        })
      }
      const stopListening = onChange(whenIdle)
      whenIdle()
    },
    isAborted: () => state === 'aborted',
    poll: pollNew,
    hasWorkBefore: (instant) => {
      if (isWorking()) return true
      if (isStopped()) return false
      const isUndated = isShared && instant === Infinity && outbox.stats().waiting > 0
      return isUndated || (outbox.nextDue() ?? Infinity) < instant
    },
    running: inFlight.running,
    onChange,
    redrive: async (matches) => {
      if (state !== 'open') return 0
      return store.call(
        () => outbox.dead.redrive(matches),
        (count) => {
          report.redriven(count)
          pollNew()
          return count
        },
      )
    },
    endedCorrupt: (id) => {
      report.endedCorrupt(id)
      changed()
    },
    report: report.log,
    totals: () => {
      const counted = report.totals()
      if (isShared) return { ...counted, waiting: outbox.stats().waiting }
      if (isWorking() || leftOver.length > 0) return counted
      // Records that cannot be read leave the store without an outcome.
      return { ...counted, waiting: Math.min(counted.waiting, outbox.stats().waiting) }
    },
    now,
  }
}
