/**
 * The relay delivers the entries of an outbox to a sink. `withRetry` and the batch relay of the client retry too.
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
import { Subject } from 'rxjs'
import { isPromiseLike, whenAnswered } from '../core/awaitable.ts'
import type { Awaitable } from '../core/awaitable.ts'
import { steady } from '../core/clock.ts'
import type { Cancel, Clock, Random } from '../core/clock.ts'
import type { Failure, Verdict } from '../core/failure.ts'
import * as Outcome from '../core/outcome.ts'
import { serialQueue } from '../core/queue.ts'
import { closed } from '../core/refusal.ts'
import type { Closed, Full } from '../core/refusal.ts'
import { counters } from '../core/totals.ts'
import type { Totals } from '../core/totals.ts'
import { callSafely } from '../log/listeners.ts'
import type { Listener } from '../log/logEvent.ts'
import { deadlineOf } from '../policy/retryPolicy.ts'
import type { RetryPolicy } from '../policy/retryPolicy.ts'
import type { Sink } from '../sink/sink.ts'
import { decide, lateEnd } from './decide.ts'
import { deliveries } from './deliveries.ts'
import { abandonedOf } from './outbox.ts'
import type { Ack, EndedDeadLetter, Entry, Nack, Outbox } from './outbox.ts'
import { poller } from './poller.ts'
import { storeWrites } from './storeWrites.ts'

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

/** Deliveries do not wait for a slow store: up to this many results may be unsaved. A crash repeats their deliveries. */
const MAX_UNSAVED = 16

const ignore = (): void => undefined

export type Relay<A> = ReturnType<typeof relay<A>>

/** Delivers the entries of an outbox to a sink, with retries. It starts at once with what the outbox already holds. */
export const relay = <A>(options: RelayOptions<A>) => {
  const { sink, outbox, retry, clock, random, maxInFlight, onEvent, ended } = options
  const { hears = () => onEvent !== undefined } = options
  const isShared = outbox.watch !== undefined
  const maxRetries = Math.max(1, Math.floor(maxInFlight / 2))
  const now = steady(clock)
  const window = deadlineOf(retry)
  const counts = counters(isShared ? 0 : outbox.stats().waiting)
  const reports = serialQueue()
  const changes = new Subject<void>()
  /** Leased, and not started because the relay is stopped, or not saved because the store failed until then. */
  const leftOver: Array<Entry<A>> = []
  let state: 'open' | 'closed' | 'stopped' | 'aborted' = 'open'
  /** Calls of `offer` and the like that the store has not answered. */
  let calls = 0
  let lookTimer: Cancel | undefined

  const isStopped = (): boolean => state === 'stopped' || state === 'aborted'

  const changed = (): void => {
    // Called several times for each entry, and usually nothing listens.
    if (changes.observed) changes.next()
  }

  const log: Listener = (event) => {
    if (onEvent !== undefined) callSafely(onEvent, event, ignore)
  }
  const defect = (where: string, error: unknown): void => log({ _tag: 'Defect', at: now(), where, error })
  const storeFailed = (error: unknown): void => defect('outbox', error)
  const listenerFailed = (error: unknown): void => defect('outcome listener', error)

  const reportNow = (outcome: Outcome.Outcome<A>): void => {
    counts.end(outcome)
    if (outcome._tag !== 'Delivered' || hears('Ended')) log({ _tag: 'Ended', at: now(), outcome })
    callSafely(ended, outcome, listenerFailed)
  }
  /** What a listener causes is reported after the outcome that it hears. */
  const report = (outcome: Outcome.Outcome<A>): void => reports.take(reportNow, outcome)

  const accepted = (item: A): void => {
    counts.accept()
    if (hears('Accepted')) log({ _tag: 'Accepted', at: now(), item })
  }

  const settled = (write: Ack<A> | Nack<A>): void => {
    if ('outcome' in write) pollNew()
    else poll()
  }
  const writes = storeWrites<Ack<A> | Nack<A>>(
    clock,
    (write) => ('outcome' in write ? outbox.ack([write]) : outbox.nack([write])),
    (write) => {
      if ('outcome' in write) report(write.outcome)
      settled(write)
    },
    storeFailed,
    (write) => {
      // A durable outbox hands the entry out again after a restart. For another one this is the last chance to report it.
      if (!('outcome' in write)) leftOver.push(write.entry)
      else if (!outbox.durable) report(write.outcome)
      changed()
    },
  )
  const save = (write: Ack<A> | Nack<A>): void => {
    writes.save(write)
    if (writes.unsaved() > 0) settled(write)
  }

  const onVerdict = (entry: Entry<A>, startedAt: number, verdict: Verdict): void => {
    const at = now()
    const next = decide(retry, entry, startedAt, verdict, at, random)
    if ('outcome' in next) {
      save(next)
      return
    }
    const { wait, attempts } = next
    const { due, delay, because } = wait
    const failure = wait.progress.lastFailure
    log({ _tag: 'Waiting', at, item: entry.item, attempts, failure, delay, because })
    save({ entry: next.entry, due })
  }

  const inFlight = deliveries(sink, onVerdict, changed, defect)

  const start = (entry: Entry<A>): void => {
    const at = now()
    const firstAttemptAt = entry.firstAttemptAt ?? at
    const late = lateEnd(entry, at, window)
    if (isStopped()) leftOver.push(entry)
    else if (late !== undefined) save(late)
    else inFlight.start(entry, firstAttemptAt, firstAttemptAt + window)
  }

  const { poll, pollNew, isPolling, clearTimer } = poller(
    outbox,
    clock,
    () => ({
      count: maxInFlight - inFlight.waiting.all - Math.max(0, writes.unsaved() - MAX_UNSAVED),
      retries: Math.max(0, maxRetries - inFlight.waiting.retries),
    }),
    isStopped,
    start,
    storeFailed,
    changed,
  )

  const unwatch = outbox.watch?.(() => {
    if (state === 'aborted') return
    lookTimer ??= clock.schedule(0, () => {
      lookTimer = undefined
      pollNew()
      options.storeChanged?.()
    })
  })

  /** Passes the answer of the store on, at once if it is not a promise. */
  const whenStored = <T, B>(answer: Awaitable<T>, use: (answer: T) => B): Awaitable<B> => {
    if (!isPromiseLike(answer)) return use(answer)
    const later = async (): Promise<B> => {
      calls++
      try {
        return use(await answer)
      } finally {
        calls--
        changed()
      }
    }
    return later()
  }

  const isStoreBusy = (): boolean => calls > 0 || writes.unsaved() > 0
  const isWorking = (): boolean => inFlight.waiting.all > 0 || isPolling() || isStoreBusy() || reports.busy()

  const stopStarting = (): void => {
    if (state !== 'aborted') state = 'stopped'
    clearTimer()
  }

  /** Ends what is unfinished as abandoned. A durable outbox keeps it. */
  const handBack = (cancelled: ReadonlyArray<Entry<A>>, done: (items: ReadonlyArray<A>) => void): void => {
    const finish = (remaining: ReadonlyArray<Entry<A>>): void => {
      const unfinished = outbox.durable ? [] : [...cancelled, ...remaining]
      for (const entry of unfinished) report(abandonedOf(entry))
      // After all reports.
      reports.take(() => done(unfinished.map(({ item }) => item)), undefined)
    }
    const takeRemaining = (): Awaitable<ReadonlyArray<Entry<A>>> => {
      if (outbox.durable) return []
      const acks = cancelled.map((entry) => ({ entry, outcome: abandonedOf(entry) }))
      whenAnswered(() => outbox.ack(acks), ignore, storeFailed)
      return outbox.takeRemaining()
    }
    whenAnswered(takeRemaining, finish, (error) => {
      storeFailed(error)
      finish([])
    })
  }

  poll()

  return {
    /** Adds an item to the outbox. `Full` if there is no room, `Closed` after `stopAccepting`. */
    offer: (item: A): Awaitable<Either<Full | Closed, Entry<A>>> => {
      if (state !== 'open') return left(closed(item))
      return whenStored(outbox.enqueue([item]), ([answer]) => {
        if (answer === undefined) throw new Error('the outbox did not answer for the item')
        if (isLeft(answer)) return answer
        accepted(item)
        pollNew()
        return answer
      })
    },
    /** Adds an item for which the outbox has no room to its dead letters. */
    offerDead: (item: A, failure: Failure): Awaitable<Either<Closed, void>> => {
      if (state !== 'open') return left(closed(item))
      const outcome = Outcome.rejected(item, 0, failure)
      return whenStored(outbox.addDeadLetter?.(item, outcome), () => {
        accepted(item)
        report(outcome)
        return right(undefined)
      })
    },
    /** From now on `offer` answers `Closed`. */
    stopAccepting: (): void => {
      if (state === 'open') state = 'closed'
    },
    /** From now on no delivery starts. Those in flight continue. */
    stopStarting,
    /** Cancels all deliveries and waits for open store calls. A durable outbox keeps what is not finished; else `done` gets it. */
    abort: (done: (unfinished: ReadonlyArray<A>) => void): void => {
      stopStarting()
      writes.stopRetrying()
      const cancelled = inFlight.cancelAll()
      const whenIdle = (): void => {
        if (isPolling() || isStoreBusy()) return
        idle.unsubscribe()
        handBack([...cancelled, ...leftOver.splice(0)], (items) => {
          state = 'aborted'
          lookTimer?.()
          unwatch?.()
          done(items)
          changed()
        })
      }
      const idle = changes.subscribe({ next: whenIdle, error: ignore })
      whenIdle()
    },
    isAborted: (): boolean => state === 'aborted',
    /** Whether anything is in flight, or could start before `instant`. With `watch`, anything that waits counts for `Infinity` only. */
    hasWorkBefore: (instant: number): boolean => {
      if (isWorking()) return true
      if (isStopped()) return false
      const isUndated = isShared && instant === Infinity && outbox.stats().waiting > 0
      return isUndated || (outbox.nextDue() ?? Infinity) < instant
    },
    /** Deliveries that still run, including those that already have a verdict. */
    running: inFlight.running,
    /** Emits after every change of the above. */
    changes$: changes.asObservable(),
    /** Moves matching dead letters back into the outbox. Answers how many: 0 after `stopAccepting`. */
    redrive: async (matches: (deadLetter: EndedDeadLetter<A>) => boolean): Promise<number> => {
      if (state !== 'open') return 0
      return whenStored(outbox.dead.redrive(matches), (count) => {
        counts.accept(count)
        pollNew()
        return count
      })
    },
    /** The outbox ended a record that it could not read, as a dead letter: it counts as rejected. */
    endedCorrupt: (id: string): void => {
      counts.endCorrupt()
      defect('outbox', new Error(`The stored record ${id} cannot be read. It is a dead letter now.`))
      changed()
    },
    /** Logs. Never throws. */
    report: log,
    totals: (): Totals => {
      const counted = counts.totals()
      if (isShared) return { ...counted, waiting: outbox.stats().waiting }
      if (isWorking() || leftOver.length > 0) return counted
      // Records that cannot be read leave the store without an outcome.
      return { ...counted, waiting: Math.min(counted.waiting, outbox.stats().waiting) }
    },
    /** Once nothing is left to do: entries that left the outbox without an outcome. */
    lost: (): number => (isShared ? 0 : counts.waiting()),
    /** The time of due times and deadlines. */
    now,
  }
}
