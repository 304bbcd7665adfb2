/**
 * The deliveries of a relay: an entry goes to the sink, and its verdict becomes an end or a wait.
 *
 * @module
 */
import { left } from 'fp-ts/lib/Either.js'
import type { Observer } from 'rxjs'
import type { Clock, Random } from '../core/clock.ts'
import { messageOf, retryable } from '../core/failure.ts'
import type { Verdict } from '../core/failure.ts'
import { linkedList } from '../core/linkedList.ts'
import type { Link } from '../core/linkedList.ts'
import type { OwnContext } from '../core/ownContext.ts'
import type { Listener } from '../log/logEvent.ts'
import { deadlineOf } from '../policy/retryPolicy.ts'
import type { RetryPolicy } from '../policy/retryPolicy.ts'
import { nothingToCancel, subscribeTo } from '../sink/layer.ts'
import type { Sink } from '../sink/sink.ts'
import { closedReporter, decide } from './decide.ts'
import type { Ack, Entry, Nack } from './outbox.ts'

/**
 * @param own everything that a sink calls runs in this context
 * @param save stores a result, and repeats that until the store has it
 * @param ended nothing of a delivery runs any more
 */
export const deliveries = <A>(
  {
    sink,
    retry,
    clock,
    random,
  }: { readonly sink: Sink<A>; readonly retry: RetryPolicy; readonly clock: Clock; readonly random: Random },
  own: OwnContext,
  now: () => number,
  save: (write: Ack<A> | Nack<A>) => void,
  ended: () => void,
  log: Listener,
) => {
  const window = deadlineOf(retry)
  const subscribe = subscribeTo(sink)
  // A linked list: a Set keeps finished deliveries alive until the next full garbage collection (92 instead of 65 µs an event).
  const running = linkedList<Delivery>()
  const reportClosed = closedReporter(log, now)
  /** Deliveries without a verdict, and the retries among them. */
  let inFlight = 0
  let retriesInFlight = 0

  /** A random source that throws counts as one that answers 1: the full delay. */
  const draw: Random = () => {
    try {
      return random()
    } catch (error) {
      log({ _tag: 'Defect', at: now(), where: 'random', error })
      return 1
    }
  }

  const settle = ({ entry, startedAt }: Delivery, verdict: Verdict): void => {
    inFlight--
    if (entry.progress !== undefined) retriesInFlight--
    const at = now()
    reportClosed(verdict)
    const next = decide(retry, entry, startedAt, verdict, at, draw)
    if ('outcome' in next) {
      save(next)
      return
    }
    const { delay, because, due, progress } = next.wait
    const { item } = next.entry
    const failure = progress.lastFailure
    log({ _tag: 'Waiting', at, item, attempts: next.attempts, failure, delay, because })
    save({ entry: next.entry, due })
  }

  const finish = (delivery: Delivery): void => {
    running.remove(delivery)
    ended()
  }

  const fail = (delivery: Delivery, error: unknown): void => {
    log({ _tag: 'Defect', at: now(), where: sink.name, error })
    delivery.next(left(retryable('defect', { detail: messageOf(error) })))
    delivery.complete()
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
    start: (entry: Entry<A>, at: number): void => {
      const { item, progress, firstAttemptAt = at } = entry
      const delivery = new Delivery(entry, at)
      running.push(delivery)
      inFlight++
      if (progress !== undefined) retriesInFlight++
      const number = (progress?.attempts ?? 0) + 1
      const attempt = { number, until: firstAttemptAt + window, lastFailure: progress?.lastFailure, clock }
      const cancel = subscribe(item, attempt, delivery)
      // It may have finished, or been cancelled, before `subscribe` returned.
      if (delivery.isFinished) cancel()
      else delivery.cancel = cancel
    },
    /** Cancels all. Answers the entries that have no verdict: their attempt was cut. */
    cancelAll: (): ReadonlySet<Entry<A>> => {
      const cancelled = running.drain()
      const cut = new Set(cancelled.filter(({ hasVerdict }) => !hasVerdict).map(({ entry }) => entry))
      inFlight = retriesInFlight = 0
      // Mark all first: cancelling one delivery may make another one answer, which must be ignored.
      for (const delivery of cancelled) delivery.hasVerdict = delivery.isFinished = true
      for (const delivery of cancelled) delivery.cancel()
      return cut
    },
    inFlight: (): number => inFlight,
    retriesInFlight: (): number => retriesInFlight,
    /** Deliveries that still run, also after their verdict. */
    running: running.size,
  }
}
