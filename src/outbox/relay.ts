/**
 * The relay delivers the entries of an outbox to a sink.
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
import type { Observer } from 'rxjs'
import { isPromiseLike, whenAnswered } from '../core/awaitable.ts'
import type { Awaitable } from '../core/awaitable.ts'
import { steady } from '../core/clock.ts'
import type { Cancel, Clock, Random } from '../core/clock.ts'
import { messageOf, retryable } from '../core/failure.ts'
import type { Failure, Verdict } from '../core/failure.ts'
import { linkedList } from '../core/linkedList.ts'
import type { Link } from '../core/linkedList.ts'
import * as Outcome from '../core/outcome.ts'
import { serialQueue } from '../core/queue.ts'
import { closed } from '../core/refusal.ts'
import type { Closed, Full } from '../core/refusal.ts'
import { counters } from '../core/totals.ts'
import { callSafely } from '../log/listeners.ts'
import type { Listener } from '../log/logEvent.ts'
import { deadlineOf } from '../policy/retryPolicy.ts'
import type { RetryPolicy } from '../policy/retryPolicy.ts'
import { nothingToCancel, subscribeTo } from '../sink/layer.ts'
import type { Sink } from '../sink/sink.ts'
import { decide, lateEnd } from './decide.ts'
import { abandonedOf } from './outbox.ts'
import type { Ack, EndedDeadLetter, Entry, Nack, Outbox } from './outbox.ts'
import { STORE_RETRY_DELAY, storeWrites } from './storeWrites.ts'

export interface RelayOptions<A> {
  readonly sink: Sink<A>
  readonly outbox: Outbox<A>
  readonly retry: RetryPolicy
  readonly clock: Clock
  readonly random: Random
  readonly maxInFlight: number
  readonly onEvent?: Listener | undefined
  /** Whether anything listens to this kind of log event. Default: yes. */
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
  const { sink, outbox, retry, clock, random, maxInFlight, ended } = options
  const { onEvent = ignore, hears = () => true } = options
  const isShared = outbox.watch !== undefined
  const maxRetries = Math.max(1, Math.floor(maxInFlight / 2))
  const now = steady(clock)
  const window = deadlineOf(retry)
  const subscribe = subscribeTo(sink)
  const counts = counters(isShared ? 0 : outbox.stats().waiting)
  const reports = serialQueue()
  const changes = new Subject<void>()
  // A linked list: a Set keeps finished deliveries alive until the next full garbage collection (92 instead of 65 µs an event).
  const running = linkedList<Delivery>()
  /** Deliveries without a verdict, and the retries among them. */
  let inFlight = 0
  let retriesInFlight = 0
  /** Leased, and not started because the relay is stopped, or not saved because the store failed until then. */
  const leftOver: Array<Entry<A>> = []
  let state: 'open' | 'closed' | 'stopped' | 'aborted' = 'open'
  /** Calls of `offer` and the like that the store has not answered. */
  let calls = 0
  /** A `lease` is not answered yet, or its entries are being started. */
  let isPolling = false
  let mayLease = false
  /** How many entries the last `lease` was to answer. */
  let asked = 0
  let timerAt = Infinity
  let cancelTimer = nothingToCancel
  let lookTimer: Cancel | undefined

  const isStopped = (): boolean => state === 'stopped' || state === 'aborted'

  const changed = (): void => {
    // Called several times for each entry, and usually nothing listens.
    if (changes.observed) changes.next()
  }

  const log: Listener = (event) => callSafely(onEvent, event, ignore)
  const defect = (where: string, error: unknown): void => log({ _tag: 'Defect', at: now(), where, error })
  const storeFailed = (error: unknown): void => defect('outbox', error)
  const listenerFailed = (error: unknown): void => defect('outcome listener', error)

  const reportNow = (outcome: Outcome.Outcome<A>): void => {
    counts.end(outcome)
    if (outcome._tag !== 'Delivered' || hears('Ended')) log({ _tag: 'Ended', at: now(), outcome })
    callSafely(ended, outcome, listenerFailed)
  }

  const accepted = (item: A): void => {
    counts.accept()
    if (hears('Accepted')) log({ _tag: 'Accepted', at: now(), item })
  }
  /** What a listener causes is reported after the outcome that it hears. */
  const report = (outcome: Outcome.Outcome<A>): void => reports.take(reportNow, outcome)

  const writes = storeWrites<Ack<A> | Nack<A>>(
    clock,
    (write) => ('outcome' in write ? outbox.ack([write]) : outbox.nack([write])),
    (write) => {
      if ('outcome' in write) report(write.outcome)
      poll()
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
    if (writes.unsaved() > 0) poll()
  }

  class Delivery implements Observer<Verdict>, Link<Delivery> {
    older: Delivery | undefined
    newer: Delivery | undefined
    hasVerdict = false
    isFinished = false
    cancel = nothingToCancel
    readonly entry: Entry<A>
    readonly startedAt: number

    constructor(entry: Entry<A>, startedAt: number) {
      this.entry = entry
      this.startedAt = startedAt
    }

    next(verdict: Verdict): void {
      if (this.hasVerdict) return
      this.hasVerdict = true
      inFlight--
      if (this.entry.progress !== undefined) retriesInFlight--
      const at = now()
      const next = decide(retry, this.entry, this.startedAt, verdict, at, random)
      if ('outcome' in next) {
        save(next)
        return
      }
      const { entry, attempts, wait } = next
      const { delay, because, due, progress } = wait
      log({ _tag: 'Waiting', at, item: entry.item, attempts, failure: progress.lastFailure, delay, because })
      save({ entry, due })
    }

    complete(): void {
      if (this.isFinished) return
      this.isFinished = true
      running.remove(this)
      changed()
    }

    error(error: unknown): void {
      defect(sink.name, error)
      this.next(left(retryable('defect', { detail: messageOf(error) })))
      this.complete()
    }
  }

  const start = (entry: Entry<A>): void => {
    if (isStopped()) {
      leftOver.push(entry)
      return
    }
    const at = now()
    const late = lateEnd(entry, at, window)
    if (late !== undefined) {
      save(late)
      return
    }
    const { item, progress, firstAttemptAt = at } = entry
    const delivery = new Delivery(entry, at)
    inFlight++
    if (progress !== undefined) retriesInFlight++
    running.push(delivery)
    const number = (progress?.attempts ?? 0) + 1
    const attempt = { number, until: firstAttemptAt + window, lastFailure: progress?.lastFailure }
    const cancel = subscribe(item, attempt, delivery)
    // It may have finished, or been cancelled, before `subscribe` returned.
    if (delivery.isFinished) cancel()
    else delivery.cancel = cancel
  }

  /** The next poll is at `due`, if nothing happens before. */
  const endPoll = (due = Infinity): void => {
    isPolling = false
    if (due === Infinity || (due < timerAt && !isStopped())) {
      cancelTimer()
      timerAt = due
      if (due < Infinity)
        cancelTimer = clock.schedule(due - now(), () => {
          timerAt = Infinity
          poll()
        })
    }
    changed()
  }
  const leaseFailed = (error: unknown): void => {
    storeFailed(error)
    endPoll(now() + STORE_RETRY_DELAY)
  }

  const startAll = (entries: ReadonlyArray<Entry<A>>): void => {
    if (entries.length >= asked) mayLease = true
    for (const entry of entries) callSafely(start, entry, storeFailed)
  }

  /** A loop, not a recursion: a sink may answer at once, for thousands of entries in a row. */
  const leaseDue = (): void => {
    const at = now()
    while (mayLease && !isStopped()) {
      mayLease = false
      asked = maxInFlight - inFlight - Math.max(0, writes.unsaved() - MAX_UNSAVED)
      if (asked <= 0 || (outbox.nextDue() ?? Infinity) > at) break
      const answer = outbox.lease(at, { count: asked, retries: Math.max(0, maxRetries - retriesInFlight) })
      if (isPromiseLike(answer)) {
        answer
          .then((entries) => {
            startAll(entries)
            leaseDue()
          })
          .then(undefined, leaseFailed)
        return
      }
      startAll(answer)
    }
    const due = outbox.nextDue()
    // The store gave less than was due, if there is room. If not, the next poll follows a verdict.
    if (due !== undefined && due <= at) endPoll(asked > 0 ? now() + STORE_RETRY_DELAY : Infinity)
    else endPoll(due)
  }

  const poll = (): void => {
    mayLease = true
    if (isPolling) return
    isPolling = true
    try {
      leaseDue()
    } catch (error) {
      leaseFailed(error)
    }
  }

  const unwatch = outbox.watch?.(() => {
    lookTimer ??= clock.schedule(0, () => {
      lookTimer = undefined
      poll()
      options.storeChanged?.()
    })
  })

  /** Passes the answer of the store on, at once if it is not a promise. */
  const whenStored = <T, B>(answer: Awaitable<T>, use: (answer: T) => B): Awaitable<B> => {
    if (!isPromiseLike(answer)) return use(answer)
    calls++
    return Promise.resolve(answer)
      .then(use)
      .finally(() => {
        calls--
        changed()
      })
  }

  const isStoreBusy = (): boolean => isPolling || calls > 0 || writes.unsaved() > 0
  const isWorking = (): boolean => inFlight > 0 || isStoreBusy() || reports.busy()
  const stopStarting = (): void => {
    state = 'stopped'
    cancelTimer()
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
        poll()
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
    stopAccepting: (): void => {
      if (state === 'open') state = 'closed'
    },
    stopStarting,
    /** Cancels all deliveries and waits for open store calls. A durable outbox keeps what is not finished; else `done` gets it. */
    abort: (done: (unfinished: ReadonlyArray<A>) => void): void => {
      stopStarting()
      writes.stopRetrying()
      const cancelled = running.drain()
      const cut = new Set(cancelled.filter(({ hasVerdict }) => !hasVerdict).map(({ entry }) => entry))
      leftOver.unshift(...cut)
      inFlight = retriesInFlight = 0
      // Mark all first: cancelling one delivery may make another one answer, which must be ignored.
      for (const delivery of cancelled) delivery.hasVerdict = delivery.isFinished = true
      for (const delivery of cancelled) delivery.cancel()

      const finish = (unfinished: ReadonlyArray<Entry<A>>): void => {
        for (const entry of unfinished) report(abandonedOf(entry, cut.has(entry)))
        reports.take(() => {
          state = 'aborted'
          lookTimer?.()
          unwatch?.()
          done(unfinished.map(({ item }) => item))
          changed()
        }, undefined)
      }
      const whenIdle = (): void => {
        if (isStoreBusy()) return
        idle.unsubscribe()
        const leased = leftOver.splice(0).filter(() => !outbox.durable)
        const acks = leased.map((entry) => ({ entry, outcome: abandonedOf(entry, cut.has(entry)) }))
        if (acks.length > 0) whenAnswered(() => outbox.ack(acks), ignore, storeFailed)
        whenAnswered(
          () => outbox.takeRemaining(),
          (remaining) => finish([...leased, ...remaining]),
          (error) => {
            storeFailed(error)
            finish(leased)
          },
        )
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
    /** Deliveries that still run, also after their verdict. */
    running: running.size,
    changes$: changes.asObservable(),
    /** Moves matching dead letters back into the outbox. Answers how many: 0 after `stopAccepting`. */
    redrive: async (matches: (deadLetter: EndedDeadLetter<A>) => boolean): Promise<number> => {
      if (state !== 'open') return 0
      return whenStored(outbox.dead.redrive(matches), (count) => {
        counts.accept(count)
        poll()
        return count
      })
    },
    /** The outbox ended a record that it could not read, as a dead letter: it counts as rejected. */
    endedCorrupt: (id: string): void => {
      counts.endCorrupt()
      defect('outbox', new Error(`The stored record ${id} cannot be read. It is a dead letter now.`))
      changed()
    },
    report: log,
    totals: () => {
      const counted = counts.totals()
      if (isShared) return { ...counted, waiting: outbox.stats().waiting }
      if (isWorking() || leftOver.length > 0) return counted
      // Records that cannot be read leave the store without an outcome.
      return { ...counted, waiting: Math.min(counted.waiting, outbox.stats().waiting) }
    },
    /** Once nothing is left to do: entries that left the outbox without an outcome. */
    lost: (): number => (isShared ? 0 : counts.waiting()),
    now,
  }
}
