import type { Observer } from 'rxjs'
import { left } from '../core/either.ts'
import { isTurnOver, nextTurn, steady, type Cancel } from '../core/clock.ts'
import { drainLoop } from '../core/drainLoop.ts'
import { retryable, type Verdict } from '../core/failure.ts'
import { linkedList, type Link, type LinkedList } from '../core/linkedList.ts'
import { checkOptions, func, optional, strict, wholeNumber, withDefault } from '../core/options.ts'
import { answer, makeLayer, nothingToCancel, reporting, tellsCuts } from './layer.ts'
import { reported, type Reported } from './observe.ts'
import { partOf, SHARED, type Attempt, type Sink } from './sink.ts'

/** Options of `withConcurrency`. */
export interface ConcurrencyOptions<in A> {
  /** Deliveries that may run at a time, for each key. At least 1. */
  readonly concurrency: number
  /** Deliveries that may wait, for each key. Default 1,000; 0 for none. */
  readonly queue?: number
  /** The key of an item, compared as in a `Map`: each key has its own queue. Default: one queue for all. */
  readonly by?: (item: A) => unknown
}

const FULL: Verdict = left(retryable('queueFull'))
const NO_PLACE_IN_TIME = 'the deadline came while it waited for a free place'
const NOT_STARTED_IN_TIME: Verdict = left(retryable('late', { detail: NO_PLACE_IN_TIME }))

interface KeyQueue<A> extends Reported<A> {
  concurrency: number
  readonly now: () => number
  /** Drops the queue, because nothing waits or runs. */
  readonly drop: () => void
  readonly waiting: LinkedList<LimitedDelivery<A>>
  running: number
  /** The rest of many starts waits for the next turn of the event loop. */
  isResting: boolean
  readonly startMore: () => void
}

const startWaiting = <A>(queue: KeyQueue<A>, mustRest: () => boolean): void => {
  for (let started = 0; queue.running < queue.concurrency && !queue.isResting; started++) {
    const next = queue.waiting.oldest()
    if (next === undefined) break
    if (started > 0 && mustRest()) {
      queue.isResting = true
      nextTurn(() => {
        queue.isResting = false
        queue.startMore()
      })
      break
    }
    queue.waiting.remove(next)
    next.start()
  }
  if (queue.running === 0 && queue.waiting.size() === 0) queue.drop()
}

/** A waiting or running delivery, and the inner sink's observer. A class: three closures cost more. */
class LimitedDelivery<A> implements Link<LimitedDelivery<A>>, Observer<Verdict> {
  older: LimitedDelivery<A> | undefined
  newer: LimitedDelivery<A> | undefined
  private readonly queue: KeyQueue<A>
  private readonly item: A
  private readonly attempt: Attempt
  private readonly observer: Observer<Verdict>
  private state: 'waiting' | 'running' | 'over' = 'waiting'
  private cancelInner: Cancel = nothingToCancel

  constructor(queue: KeyQueue<A>, item: A, attempt: Attempt, observer: Observer<Verdict>) {
    this.queue = queue
    this.item = item
    this.attempt = attempt
    this.observer = observer
  }

  start(): void {
    const { queue, attempt } = this
    if (queue.now() >= attempt.until) {
      this.state = 'over'
      answer(this.observer, NOT_STARTED_IN_TIME)
      return
    }
    this.state = 'running'
    queue.running++
    const cancel = reported(queue, this.item, attempt, this)
    // It may have been cancelled before its cancel was here.
    if (this.isOver()) cancel()
    else this.cancelInner = cancel
  }

  next(verdict: Verdict): void {
    this.observer.next(verdict)
  }

  complete(): void {
    this.leave()
    this.observer.complete()
    this.queue.startMore()
  }

  error(defect: unknown): void {
    this.leave()
    this.observer.error(defect)
    this.queue.startMore()
  }

  /** Frees its place. Its own verdict may have cancelled it, which freed it too. */
  private leave(): void {
    if (this.state === 'running') this.queue.running--
    this.state = 'over'
  }

  cancel(): void {
    if (this.isOver()) return
    if (this.state === 'waiting') this.queue.waiting.remove(this)
    else this.cancelInner()
    this.leave()
    // Later: a stop cancels one delivery after the other, and must not find the next ones just started.
    queueMicrotask(this.queue.startMore)
  }

  private isOver(): boolean {
    return this.state === 'over'
  }
}

const concurrencyOptions = strict({
  concurrency: wholeNumber('deliveries', 1),
  queue: withDefault(wholeNumber('deliveries', 0), 1_000),
  by: optional(func<(item: never) => unknown>()),
})

/**
 * As `withConcurrency`. With `onQueue` it continues long starts in the next turn of the event loop, and gives
 * each queue's `release`, which lets all that waits start.
 */
export const concurrencyLayer = <B>(
  options: ConcurrencyOptions<B>,
  onQueue?: (release: () => void) => void,
): (<A extends B>(sink: Sink<A>) => Sink<A>) => {
  const { by } = options
  const checked = checkOptions('options of withConcurrency', concurrencyOptions, options)
  const { concurrency } = checked
  const maxCount = concurrency + checked.queue

  return <A extends B>(sink: Sink<A>) =>
    reporting(
      makeLayer<A>(sink, (subscribe, clock) => {
        const now = steady(clock)
        const queues = new Map<unknown, KeyQueue<A>>()

        const makeQueue = (key: unknown): KeyQueue<A> => {
          const drop = (): void => {
            // By now the key may have a newer queue.
            if (by !== undefined && queues.get(key) === made) queues.delete(key)
          }
          const waiting = linkedList<LimitedDelivery<A>>()
          const limits = { sink: sink.name, subscribe, tellsCuts: tellsCuts(sink), concurrency, now, drop }
          const mustRest = (): boolean => onQueue !== undefined && isTurnOver(clock)
          const startMore = drainLoop(() => startWaiting(made, mustRest))
          const made: KeyQueue<A> = { ...limits, waiting, running: 0, isResting: false, startMore }
          queues.set(key, made)
          onQueue?.(() => {
            made.concurrency = Infinity
            startMore()
          })
          return made
        }

        return (item, attempt, observer) => {
          const key = by?.(item)
          const queue = queues.get(key) ?? makeQueue(key)
          if (queue.running + queue.waiting.size() >= maxCount) {
            const { number, report } = attempt
            report?.({ _tag: 'UrlSkipped', at: now(), from: partOf(attempt), item, sink: sink.name, number })
            return answer(observer, FULL)
          }
          if (attempt[SHARED] !== undefined) attempt[SHARED].isQueued = true
          const delivery = new LimitedDelivery(queue, item, attempt, observer)
          queue.waiting.push(delivery)
          queue.startMore()
          return () => delivery.cancel()
        }
      }),
    )
}

/**
 * Lets at most `concurrency` deliveries run at a time; the others wait in a queue, first in, first out.
 *
 * A delivery holds its place until it is complete, so a body that is still drained counts. A delivery without
 * room gets the verdict `Retryable('queueFull')` at once, and is reported as `UrlSkipped`. One that reaches
 * its start at or after `attempt.until` gets `Retryable('late')` and is not started. A cancelled delivery
 * frees its place.
 *
 * With `by`, each key has a queue of its own, dropped when it is empty; `concurrency: 1` then starts those
 * of a key in their order. A retry comes behind them.
 *
 * @throws ConfigError if `concurrency` is not a whole number of at least 1, or `queue` one of at least 0.
 *
 * @example
 * import { withConcurrency, sink } from 'headrace'
 *
 * const store = sink('store', async (row: { id: string; text: string }) => row.text)
 * const atMost16 = withConcurrency({ concurrency: 16 })(store)
 * const inOrder = withConcurrency({ concurrency: 1, by: (row: { id: string }) => row.id })(store)
 */
export const withConcurrency = <B>(
  options: ConcurrencyOptions<B>,
): (<A extends B>(sink: Sink<A>) => Sink<A>) => concurrencyLayer(options)
