/**
 * The deliveries of a relay: an item made of entries goes to the sink, and its verdict settles each entry.
 *
 * @module
 */
import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { Observer } from 'rxjs'
import { type Clock, type Random, steady } from '../core/clock.ts'
import { earliestRetry, messageOf, retryable, type Failure, type Verdict } from '../core/failure.ts'
import { linkedList, type Link } from '../core/linkedList.ts'
import type { OwnContext } from '../core/ownContext.ts'
import type { Listener } from '../log/logEvent.ts'
import { deadlineOf, type RetryPolicy } from '../policy/retryPolicy.ts'
import type { Wait } from '../policy/step.ts'
import { nothingToCancel, subscribeTo } from '../sink/layer.ts'
import type { Attempt, Sink } from '../sink/sink.ts'
import { closedReporter, decide, deliveredEnd } from './decide.ts'
import type { Ack, Entry } from './outbox.ts'
import type { Write } from './storeWrites.ts'
import type { Moment, Shape } from './take.ts'

/** A batch holds retries, or new entries. */
const isRetry = (entries: ReadonlyArray<Entry<unknown>>): boolean => entries[0]?.progress !== undefined

/** What deliveries change of the moment that a take reads. */
type Changing = {
  -readonly [K in 'now' | 'inFlight' | 'retriesInFlight' | 'running' | 'heldUntil']: Moment[K]
}

export interface DeliveriesOptions<A, D> {
  readonly sink: Sink<D>
  readonly shape: Shape<A, D>
  readonly retry: RetryPolicy
  readonly clock: Clock
  readonly random: Random
}

/**
 * @param own everything that a sink calls runs in this context
 * @param save stores results, and repeats that until the store has them
 * @param ended nothing of a delivery runs any more
 */
export const deliveries = <A, D>(
  { sink, shape, retry, clock, random }: DeliveriesOptions<A, D>,
  own: OwnContext,
  at: Changing,
  save: (write: Write<A>) => void,
  ended: () => void,
  log: Listener,
) => {
  const { toItem, isBatch, maxHold, attempted } = shape
  const now = steady(clock)
  const window = deadlineOf(retry)
  const subscribe = subscribeTo(sink)
  // A linked list: a Set keeps finished deliveries alive until the next full garbage collection (92 instead of 65 µs an event).
  const running = linkedList<Delivery>()
  const reportClosed = closedReporter(log, now)

  /** A random source that throws counts as one that answers 1: the full delay. */
  const draw: Random = () => {
    try {
      return random()
    } catch (error) {
      log({ _tag: 'Defect', at: now(), where: 'random', error })
      return 1
    }
  }

  const settle = (delivery: Delivery, verdict: Verdict): void => {
    const { entries, item, startedAt } = delivery
    const time = now()
    at.now = time
    at.inFlight--
    if (isRetry(entries)) at.retriesInFlight--
    if (attempted !== undefined) {
      const { number, until } = delivery.attempt
      const late = time > until ? { late: time - until } : undefined
      const duration = time - startedAt
      const { name } = sink
      attempted({ _tag: 'Attempted', at: time, item, sink: name, number, duration, result: verdict, ...late })
    }
    if (isLeft(verdict)) settleFailed(delivery, verdict, verdict.left, time)
    else save(entries.map((entry) => deliveredEnd(entry, verdict.right)))
  }

  const settleFailed = (
    { entries, item, startedAt }: Delivery,
    verdict: Verdict,
    failure: Failure,
    time: number,
  ): void => {
    reportClosed(verdict)
    const notBefore = maxHold > 0 ? earliestRetry(failure) : undefined
    if (notBefore !== undefined) at.heldUntil = Math.max(at.heldUntil, Math.min(notBefore, time + maxHold))
    const members = isBatch && failure._tag === 'PartlyFailed' ? failure.members : undefined
    const isPartly = members?.length === entries.length
    if (members !== undefined && !isPartly) {
      const lengths = `${String(members.length)} members for ${String(entries.length)} items`
      const error = new Error(`PartlyFailed has ${lengths}: give one Either for each item, in their order`)
      log({ _tag: 'Defect', at: time, where: sink.name, error })
    }
    // One random number for the delivery, so that entries that failed together are retried together.
    let drawn: number | undefined
    const drawOnce = (): number => (drawn ??= draw())
    const acks: Array<Ack<A>> = []
    const again: Array<Entry<A>> = []
    let attempts = 0
    let wait: Wait | undefined
    for (const [index, entry] of entries.entries()) {
      const own = (isPartly ? members[index] : undefined) ?? verdict
      const next = decide(retry, entry, startedAt, own, time, drawOnce)
      if ('outcome' in next) {
        acks.push(next)
        continue
      }
      again.push(next.entry)
      attempts = Math.max(attempts, next.attempts)
      if (wait === undefined || next.wait.due > wait.due) wait = next.wait
    }
    if (acks.length > 0) save(acks)
    if (wait === undefined) return
    const { due, delay, because, progress } = wait
    log({ _tag: 'Waiting', at: time, item, attempts, failure: progress.lastFailure, delay, because })
    save(again.map((entry) => ({ entry, due })))
  }

  const finish = (delivery: Delivery): void => {
    running.remove(delivery)
    at.running--
    ended()
  }

  const fail = (delivery: Delivery, error: unknown): void => {
    log({ _tag: 'Defect', at: now(), where: sink.name, error })
    delivery.next(left(retryable('defect', { detail: messageOf(error) })))
    delivery.complete()
  }

  /** The number of the most attempts of its entries, plus 1, and their earliest deadline. */
  const attemptOf = (entries: ReadonlyArray<Entry<A>>, startedAt: number): Attempt => {
    let attempts = 0
    let first = startedAt
    let lastFailure: Failure | undefined
    for (const { progress, firstAttemptAt } of entries) {
      if (firstAttemptAt !== undefined && firstAttemptAt < first) first = firstAttemptAt
      if (progress === undefined) continue
      if (progress.attempts > attempts) attempts = progress.attempts
      if (!isBatch) ({ lastFailure } = progress)
    }
    return { number: attempts + 1, until: first + window, lastFailure, clock }
  }

  /** A class, because it is made for each delivery and three closures cost more. */
  class Delivery implements Observer<Verdict>, Link<Delivery> {
    older: Delivery | undefined
    newer: Delivery | undefined
    hasVerdict = false
    isFinished = false
    cancel = nothingToCancel
    readonly entries: ReadonlyArray<Entry<A>>
    readonly item: D
    readonly attempt: Attempt
    readonly startedAt: number

    constructor(entries: ReadonlyArray<Entry<A>>, item: D, attempt: Attempt, startedAt: number) {
      this.entries = entries
      this.item = item
      this.attempt = attempt
      this.startedAt = startedAt
    }

    next(verdict: Verdict): void {
      if (this.hasVerdict) return
      this.hasVerdict = true
      own(settle, this, verdict)
    }

    complete(): void {
      if (this.isFinished) return
      this.isFinished = true
      own(finish, this)
    }

    error(error: unknown): void {
      own(fail, this, error)
    }
  }

  return {
    /** Starts a delivery. Throws before it starts if no item can be made. */
    start: (
      entries: ReadonlyArray<Entry<A>>,
      closedBy: Parameters<typeof toItem>[1],
      startedAt: number,
    ): void => {
      const delivery = new Delivery(
        entries,
        toItem(entries, closedBy),
        attemptOf(entries, startedAt),
        startedAt,
      )
      running.push(delivery)
      at.inFlight++
      if (isRetry(entries)) at.retriesInFlight++
      at.running++
      const cancel = subscribe(delivery.item, delivery.attempt, delivery)
      // It may have finished, or been cancelled, before `subscribe` returned.
      if (delivery.isFinished) cancel()
      else delivery.cancel = cancel
    },
    /** Cancels all. Answers the entries that have no verdict: their attempt was cut. */
    cancelAll: (): ReadonlySet<Entry<A>> => {
      const cancelled = running.drain()
      const cut = cancelled.flatMap(({ hasVerdict, entries }) => (hasVerdict ? [] : entries))
      at.inFlight = at.retriesInFlight = at.running = 0
      // Mark all first: cancelling one delivery may make another one answer, which must be ignored.
      for (const delivery of cancelled) delivery.hasVerdict = delivery.isFinished = true
      for (const delivery of cancelled) delivery.cancel()
      return new Set(cut)
    },
  }
}
