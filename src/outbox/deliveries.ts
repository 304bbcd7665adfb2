/**
 * The deliveries of a relay: an item made of entries goes to the sink, and its verdict settles each entry.
 *
 * @module
 */
import type { Observer } from 'rxjs'
import { constVoid, isLeft, left, type Left } from '../core/either.ts'
import { type Random, steady } from '../core/clock.ts'
import { closedIn, earliestRetry, isOfSinks, lengthsOf, memberVerdicts } from '../core/failure.ts'
import type { Failure, Verdict } from '../core/failure.ts'
import { linkedList, type Link } from '../core/linkedList.ts'
import type { OwnContext } from '../core/ownContext.ts'
import { ShownError } from '../core/refusal.ts'
import type { ClosedBy } from '../event/payload.ts'
import { thrown, type Listener } from '../log/logEvent.ts'
import { deadlineOf, type RetryPolicy } from '../policy/retryPolicy.ts'
import type { Wait } from '../policy/step.ts'
import { isReporting, nothingToCancel, subscribeTo, tellsCuts } from '../sink/layer.ts'
import { CANCELLED, tellAttempt } from '../sink/observe.ts'
import { newShared, onlyAttempt, SHARED, type Attempt, type Sink } from '../sink/sink.ts'
import { decide, deliveredEnd } from './decide.ts'
import type { LedgerOptions } from './ledger.ts'
import type { Ack, Entry, Nack } from './outbox.ts'
import type { Moment, Shape } from './take.ts'

type Changed = 'now' | 'inFlight' | 'retriesInFlight' | 'running' | 'heldUntil' | 'orderedUntil'
/** What deliveries change of the moment that a take reads. */
type Changing = { -readonly [K in Changed]: Moment[K] }

export interface SendOptions<A, D> extends Pick<LedgerOptions<A>, 'clock' | 'name' | 'onEvent' | 'hears'> {
  readonly sink: Sink<D>
  readonly shape: Shape<A, D>
  readonly retry: RetryPolicy
  readonly random: Random
}

interface Results<A> {
  readonly ack: (list: ReadonlyArray<Ack<A>>) => void
  readonly nack: (list: ReadonlyArray<Nack<A>>) => void
}

/** What becomes of deliveries, each in the own context. */
interface Deliveries<A, D> {
  readonly own: OwnContext
  readonly settle: (delivery: Delivery<A, D>, verdict: Verdict) => void
  readonly fail: (delivery: Delivery<A, D>, error: unknown) => void
  readonly finish: (delivery: Delivery<A, D>) => void
}

/**
 * A class, because it is made for each delivery and three closures cost more. One for all relays: V8
 * optimizes for one shape.
 */
class Delivery<A, D> implements Observer<Verdict>, Link<Delivery<A, D>> {
  older: Delivery<A, D> | undefined
  newer: Delivery<A, D> | undefined
  hasVerdict = false
  isCancelled = false
  cancel = nothingToCancel
  readonly entries: ReadonlyArray<Entry<A>>
  readonly item: D
  readonly startedAt: number
  attempt = onlyAttempt
  /** A reading of the monotonic clock; undefined if this attempt is not reported here. */
  start: number | undefined
  isTold = false
  /** A batch holds retries, or new entries. */
  readonly isRetry: boolean
  private readonly all: Deliveries<A, D>

  constructor(all: Deliveries<A, D>, entries: ReadonlyArray<Entry<A>>, item: D, startedAt: number) {
    this.all = all
    this.entries = entries
    this.item = item
    this.startedAt = startedAt
    this.isRetry = entries[0]?.progress !== undefined
  }

  next(verdict: Verdict): void {
    if (this.hasVerdict) return
    this.hasVerdict = true
    this.all.own(this.all.settle, this, verdict)
  }

  complete(): void {
    this.all.finish(this)
  }

  error(error: unknown): void {
    this.all.own(this.all.fail, this, error)
  }
}

/**
 * @param own everything that a sink calls runs in this context
 * @param results store ends and retries, and repeat that until the store has them
 * @param ended nothing of a delivery runs any more, and no other one does if a delivery is no batch
 */
export const deliveries = <A, D>(
  options: SendOptions<A, D>,
  own: OwnContext,
  at: Changing,
  results: Results<A>,
  ended: () => void,
) => {
  const { sink, shape, retry, clock, random, name: from = 'deliver' } = options
  const { onEvent: log = constVoid, hears = () => true } = options
  const { toItem, isBatch, maxHold } = shape
  const now = steady(clock)
  const window = deadlineOf(retry)
  const subscribe = subscribeTo(sink)
  const isReportedInside = isReporting(sink)
  const areCutsReported = tellsCuts(sink)
  // A linked list: a Set keeps finished deliveries until a full garbage collection (92 µs an event, not 65).
  const running = linkedList<Delivery<A, D>>()
  const defect = (where: string, error: unknown) => log({ _tag: 'Defect', at: now(), from, where, error })
  const closedSinks = new Set<string>()
  /** Reports a sink that was closed while items wait for it, once. Another process may deliver them. */
  const reportClosed = (failure: Failure): void => {
    for (const what of closedIn(failure)) {
      if (closedSinks.has(what)) continue
      closedSinks.add(what)
      defect('a closed sink', new Error(`${what}, and items wait for it: close it after its pipelines`))
    }
  }
  /** Each attempt costs more if it is reported: here, unless a sink inside does it. */
  const reportIfHeard = (delivery: Delivery<A, D>): Listener | undefined => {
    if (!(hears('Attempted') || hears('UrlSkipped') || hears('Held') || hears('Defect'))) return undefined
    if (!isReportedInside) delivery.start = clock.monotonic()
    return (event) => {
      // A layer inside gave the verdict, and cancels the delivery that it holds.
      if (delivery.isTold && event._tag === 'Attempted') return
      if (event._tag === 'Attempted') delivery.start = undefined
      own(log, event)
    }
  }

  /** The number of the most attempts of its entries, plus 1, and their earliest deadline. */
  const attemptOf = (entries: ReadonlyArray<Entry<A>>, startedAt: number, report?: Listener): Attempt => {
    let attempts = 0
    let first = startedAt
    let lastFailure: Failure | undefined
    for (const { progress, firstAttemptAt } of entries) {
      if (firstAttemptAt !== undefined && firstAttemptAt < first) first = firstAttemptAt
      if (progress === undefined) continue
      if (progress.attempts > attempts) attempts = progress.attempts
      if (!isBatch || isOfSinks(progress.lastFailure)) ({ lastFailure } = progress)
    }
    const until = first + window
    return { number: attempts + 1, until, lastFailure, clock, report, from, [SHARED]: newShared() }
  }

  const tell = (delivery: Delivery<A, D>, end: number, result: Verdict): void => {
    const { item, attempt, start } = delivery
    if (start === undefined) return
    delivery.isTold = true
    delivery.start = undefined
    tellAttempt(log, attempt, start, end, { sink: sink.name, item, result })
  }

  /** A listener of a verdict may stop the relay, which waits until its results are on their way. */
  let settling = 0
  const settle = (delivery: Delivery<A, D>, verdict: Verdict): void => {
    const end = clock.monotonic()
    at.now = now(end)
    settling++
    try {
      tell(delivery, end, verdict)
      at.inFlight--
      if (delivery.isRetry) at.retriesInFlight--
      if (isLeft(verdict)) settleFailed(delivery, verdict)
      else results.ack(delivery.entries.map((entry) => deliveredEnd(entry, verdict.right)))
    } finally {
      settling--
      if (delivery.isCancelled) ended()
    }
  }

  const settleFailed = (delivery: Delivery<A, D>, verdict: Left<Failure>): void => {
    const { entries, item, startedAt } = delivery
    // The machine may have slept in the attempt.
    const time = (at.now = now())
    const failure = verdict.left
    reportClosed(failure)
    const notBefore = maxHold > 0 ? earliestRetry(failure) : undefined
    if (notBefore !== undefined) at.heldUntil = Math.max(at.heldUntil, Math.min(notBefore, time + maxHold))
    const members = isBatch ? memberVerdicts(failure, entries.length) : undefined
    if (isBatch && failure._tag === 'PartlyFailed' && failure.members.length !== entries.length) {
      const lengths = lengthsOf(failure, entries.length)
      defect(sink.name, new ShownError(`${lengths}: give one Either for each item, in order`))
    }
    // One random number for the delivery, so that entries that failed together are retried together.
    let drawn: number | undefined
    const draw: Random = () => {
      try {
        drawn ??= random()
      } catch (error) {
        defect('random', error)
      }
      // The full delay.
      return (drawn ??= 1)
    }
    const acks: Array<Ack<A>> = []
    const again: Array<Nack<A>> = []
    let attempts = 0
    let wait: Wait | undefined
    for (const [index, entry] of entries.entries()) {
      const next = decide(retry, entry, startedAt, members?.[index] ?? verdict, time, draw)
      if ('outcome' in next) {
        acks.push(next)
        continue
      }
      again.push({ entry: next.entry, due: next.wait.due })
      attempts = Math.max(attempts, next.attempts)
      if (wait === undefined || next.wait.due > wait.due) wait = next.wait
    }
    if (acks.length > 0) results.ack(acks)
    if (wait === undefined) return
    const { due, delay, because, progress } = wait
    at.orderedUntil = Math.max(at.orderedUntil, due)
    log({ _tag: 'Waiting', at: time, from, item, attempts, failure: progress.lastFailure, delay, because })
    // Those that failed by one verdict are tried again together.
    results.nack(members === undefined ? again.map(({ entry }) => ({ entry, due })) : again)
  }

  const finish = (delivery: Delivery<A, D>): void => {
    if (!running.remove(delivery)) return
    at.running--
    // Without batches only the last one can end a wait.
    if (isBatch || at.running === 0) own(ended)
  }

  const fail = (delivery: Delivery<A, D>, error: unknown): void => {
    defect(sink.name, error)
    delivery.start = undefined
    delivery.next(left(thrown('defect', error)))
    delivery.complete()
  }

  const all: Deliveries<A, D> = { own, settle, fail, finish }

  return {
    isSettling: (): boolean => settling > 0,
    /** Starts a delivery. */
    start: (entries: ReadonlyArray<Entry<A>>, closedBy: ClosedBy): void => {
      const startedAt = at.now
      const delivery = new Delivery(all, entries, toItem(entries, closedBy), startedAt)
      running.push(delivery)
      at.inFlight++
      if (delivery.isRetry) at.retriesInFlight++
      at.running++
      delivery.attempt = attemptOf(entries, startedAt, reportIfHeard(delivery))
      const cancel = subscribe(delivery.item, delivery.attempt, delivery)
      delivery.cancel = cancel
      // It was cancelled before `subscribe` returned.
      if (delivery.isCancelled) cancel()
    },
    /**
     * Cancels all. Answers the entries whose attempt was cut before its verdict, and when it started, and
     * those that only waited in the queue of a sink.
     */
    cancelAll: () => {
      const cancelled = running.drain()
      const cut = new Map<Entry<A>, number>()
      const queued: Array<Entry<A>> = []
      for (const { hasVerdict, attempt, entries, startedAt } of cancelled) {
        if (hasVerdict) continue
        if (attempt[SHARED]?.isQueued === true && !attempt[SHARED].isStarted) queued.push(...entries)
        else for (const entry of entries) cut.set(entry, startedAt)
      }
      at.inFlight = at.retriesInFlight = at.running = 0
      // Mark all first: cancelling one delivery may make another one answer, which must be ignored.
      for (const delivery of cancelled) delivery.hasVerdict = delivery.isCancelled = true
      for (const delivery of cancelled) {
        delivery.cancel()
        if (!areCutsReported) tell(delivery, clock.monotonic(), CANCELLED)
      }
      return { cut, queued }
    },
  }
}
