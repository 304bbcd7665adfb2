import type { Observer } from 'rxjs'
import { isRight, right } from '../core/either.ts'
import { perClock, steady, type Cancel } from '../core/clock.ts'
import type { Verdict } from '../core/failure.ts'
import { checkOptions, func, strict, wholeNumber, withDefault } from '../core/options.ts'
import { answer, makeLayer, nothingToCancel } from './layer.ts'
import { SHARED, type Sink } from './sink.ts'

/** Options of `withDedupe`. */
export interface DedupeOptions<in A> {
  /**
   * The key of an item. Items of one key are the same item. Keys are compared as in a `Map`. Give a text or
   * a number. An object counts as one key for all sinks of the layer. An item whose key is undefined is
   * always sent.
   */
  readonly keyOf: (item: A) => unknown
  /** Milliseconds for which a success is remembered. */
  readonly keyTimeout: number
  /** The most successes that are remembered; beyond it the oldest is forgotten. Default 100,000. */
  readonly maxCount?: number
}

const dedupeOptions = strict({
  keyOf: func<(item: never) => unknown>(),
  keyTimeout: wholeNumber('ms', 1),
  maxCount: withDefault(wholeNumber('keys', 1), 100_000),
})

/** A delivery, with all that share it. */
interface Shared {
  readonly observers: Set<Observer<Verdict>>
  cancel: Cancel
}

/** Whether a text can stand for the key. Objects and symbols stand for themselves. */
const hasText = (key: unknown): key is string | number | bigint | boolean | null =>
  Object(key) !== key && typeof key !== 'symbol'

const repeat = (each: Verdict): Verdict => (isRight(each) ? right({ ...each.right, duplicate: true }) : each)

/**
 * Delivers items of the same key once. A repeat of an item that was delivered less than `keyTimeout`
 * milliseconds ago is not sent: it is delivered with the receipt of the first, marked `duplicate: true`. A
 * repeat while the first is in flight shares its verdict. Failures are not remembered, so a retry is sent.
 *
 * It is held in memory: a repeat after a restart is sent again. The memory belongs to the layer, in which
 * each sink has its own by its name.
 *
 * @throws ConfigError if `keyTimeout` or `maxCount` is not a whole number of at least 1.
 *
 * @example
 * import { sink, withDedupe } from 'headrace'
 *
 * const once = withDedupe({ keyOf: (order: { id: string }) => order.id, keyTimeout: 60_000 })(
 *   sink('orders', async (order: { id: string }) => order.id),
 * )
 * console.log(once.name) // => orders
 */
export const withDedupe = <B>(options: DedupeOptions<B>): (<A extends B>(sink: Sink<A>) => Sink<A>) => {
  const { keyTimeout, maxCount } = checkOptions('options of withDedupe', dedupeOptions, options)
  const { keyOf } = options
  const memoryOf = perClock(() => ({
    /** Successes, oldest first: all are remembered for the same time. */
    taken: new Map<unknown, { readonly until: number; readonly verdict: Verdict }>(),
    /** Deliveries without a verdict. */
    inFlight: new Map<unknown, Shared>(),
  }))

  return <A extends B>(sink: Sink<A>) =>
    makeLayer<A>(sink, (subscribe, clock) => {
      const { taken, inFlight } = memoryOf(clock)
      const now = steady(clock)

      const forget = (time: number): void => {
        for (const [key, { until }] of taken) {
          if (until > time && taken.size <= maxCount) return
          taken.delete(key)
        }
      }

      const remember = (key: unknown, verdict: Verdict): void => {
        taken.delete(key)
        taken.set(key, { until: now() + keyTimeout, verdict })
        forget(now())
      }

      const shareNoMore = (key: unknown, shared: Shared): void => {
        if (inFlight.get(key) === shared) inFlight.delete(key)
      }
      const leave = (key: unknown, shared: Shared, observer: Observer<Verdict>): void => {
        shared.observers.delete(observer)
        if (shared.observers.size > 0) return
        shareNoMore(key, shared)
        shared.cancel()
      }

      return (item, attempt, observer) => {
        const given = keyOf(item)
        if (given === undefined) return subscribe(item, attempt, observer)
        // Another sink under the same layer has not taken what this one took.
        const key = hasText(given) ? `${sink.name} ${typeof given} ${String(given)}` : given
        forget(now())
        const before = taken.get(key)
        if (before !== undefined) return answer(observer, before.verdict)
        const running = inFlight.get(key)
        if (running !== undefined) {
          running.observers.add(observer)
          if (attempt[SHARED] !== undefined) attempt[SHARED].isQueued = true
          return () => leave(key, running, observer)
        }

        const shared: Shared = { observers: new Set([observer]), cancel: nothingToCancel }
        inFlight.set(key, shared)
        const end = (tell: (each: Observer<Verdict>) => void): void => {
          shareNoMore(key, shared)
          for (const each of [...shared.observers]) tell(each)
        }
        shared.cancel = subscribe(item, attempt, {
          next: (verdict) => {
            const repeated = repeat(verdict)
            if (isRight(verdict)) remember(key, repeated)
            shareNoMore(key, shared)
            for (const each of [...shared.observers]) each.next(each === observer ? verdict : repeated)
          },
          complete: () => end((each) => each.complete()),
          error: (defect) => end((each) => each.error(defect)),
        })
        return () => leave(key, shared, observer)
      }
    })
}
