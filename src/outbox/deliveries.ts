/**
 * The deliveries of a relay: an item made of entries goes to the sink, and its verdict settles each entry.
 *
 * @module
 */
import { isLeft, left } from 'fp-ts/lib/Either.js'
import type { Observer } from 'rxjs'
import type { Clock, Random } from '../core/clock.ts'
import { steady } from '../core/clock.ts'
import { earliestRetry, messageOf, retryable } from '../core/failure.ts'
import type { Verdict } from '../core/failure.ts'
import { linkedList } from '../core/linkedList.ts'
import type { Link } from '../core/linkedList.ts'
import type { OwnContext } from '../core/ownContext.ts'
import type { Listener } from '../log/logEvent.ts'
import { deadlineOf } from '../policy/retryPolicy.ts'
import type { RetryPolicy } from '../policy/retryPolicy.ts'
import type { Wait } from '../policy/step.ts'
import { nothingToCancel, subscribeTo } from '../sink/layer.ts'
import type { Sink } from '../sink/sink.ts'
import { closedReporter, decide } from './decide.ts'
import type { Ack, Entry, Nack } from './outbox.ts'
import type { Moment, Shape } from './take.ts'

/** Results of one kind, which the store gets as one list. */
export type Write<A> = ReadonlyArray<Ack<A>> | ReadonlyArray<Nack<A>>

export const isAcks = <A>(write: Write<A>): write is ReadonlyArray<Ack<A>> =>
  write[0] !== undefined && 'outcome' in write[0]

/** What deliveries change of the moment that a take reads. */
type Changing = { -readonly [K in 'inFlight' | 'retriesInFlight' | 'running' | 'heldUntil']: Moment[K] }

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
    const { entries, item, retries, startedAt } = delivery
    at.inFlight--
    at.retriesInFlight -= retries
    const time = now()
    if (attempted !== undefined) {
      const { number, until } = delivery
      const late = time > until ? { late: time - until } : undefined
      const duration = time - startedAt
      const { name } = sink
      attempted({ _tag: 'Attempted', at: time, item, sink: name, number, duration, result: verdict, ...late })
    }
    reportClosed(verdict)
    const failure = isLeft(verdict) ? verdict.left : undefined
    const notBefore = maxHold > 0 && failure !== undefined ? earliestRetry(failure) : undefined
    if (notBefore !== undefined) at.heldUntil = Math.max(at.heldUntil, Math.min(notBefore, time + maxHold))
    const isPartly = isBatch && failure?._tag === 'PartlyFailed' && failure.members.length === entries.length
    const verdicts = isPartly ? failure.members : undefined
    // One random number for the delivery, so that entries that failed together are retried together.
    let drawn: number | undefined
    const drawOnce = isBatch ? (): number => (drawn ??= draw()) : draw
    const acks: Array<Ack<A>> = []
    let again: Array<Nack<A>> | undefined
    let attempts = 0
    let wait: Wait | undefined
    let index = 0
    for (const entry of entries) {
      const next = decide(retry, entry, startedAt, verdicts?.[index++] ?? verdict, time, drawOnce)
      if ('outcome' in next) {
        acks.push(next)
        continue
      }
      again ??= []
      again.push({ entry: next.entry, due: next.wait.due })
      attempts = Math.max(attempts, next.attempts)
      if (wait === undefined || next.wait.due > wait.due) wait = next.wait
    }
    if (acks.length > 0) save(acks)
    if (wait === undefined || again === undefined) return
    const { due, delay, because, progress } = wait
    log({ _tag: 'Waiting', at: time, item, attempts, failure: progress.lastFailure, delay, because })
    save(isBatch ? again.map(({ entry }) => ({ entry, due })) : again)
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

  /** A class, because it is made for each delivery and three closures cost more. */
  class Delivery implements Observer<Verdict>, Link<Delivery> {
    older: Delivery | undefined
    newer: Delivery | undefined
    hasVerdict = false
    isFinished = false
    cancel = nothingToCancel
    readonly entries: ReadonlyArray<Entry<A>>
    readonly item: D
    readonly startedAt: number
    /** 1 if it is a retry. */
    retries = 0
    number = 1
    until = Infinity

    constructor(entries: ReadonlyArray<Entry<A>>, item: D, startedAt: number) {
      this.entries = entries
      this.item = item
      this.startedAt = startedAt
      for (const { progress, firstAttemptAt = startedAt } of entries) {
        if (progress !== undefined) this.retries = 1
        this.number = Math.max(this.number, 1 + (progress?.attempts ?? 0))
        this.until = Math.min(this.until, firstAttemptAt + window)
      }
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
      const delivery = new Delivery(entries, toItem(entries, closedBy), startedAt)
      running.push(delivery)
      at.inFlight++
      at.retriesInFlight += delivery.retries
      at.running++
      const { item, number, until } = delivery
      const lastFailure = isBatch ? undefined : entries[0]?.progress?.lastFailure
      const cancel = subscribe(item, { number, until, lastFailure }, delivery)
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
