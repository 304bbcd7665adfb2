/** `headrace/sources/pull`: a source that reads no faster than the pipeline delivers. @module */
import { Observable, Subject, tap, type OperatorFunction } from 'rxjs'
import { systemClock, type Clock } from '../core/clock.ts'
import { isRecord, kindOf } from '../core/json.ts'
import {
  checkOptions,
  clockOption,
  func,
  optional,
  strict,
  wholeNumber,
  withDefault,
} from '../core/options.ts'
import { abandoned, isOutcome } from '../core/outcome.ts'
import { isRefusal } from '../core/refusal.ts'
import { isBatch } from '../event/payload.ts'
import { listeners } from '../log/listeners.ts'
import type { Listener } from '../log/logEvent.ts'
import { reader } from './reader.ts'

/** How much may be in a pipeline that is fed by `pull`. */
export interface PullOptions<R> {
  /** Items that are in the pipeline and have not come out, at most. Default 1,000. */
  readonly window?: number
  /**
   * The number of items that this output ends. Default: the members of a batch and of its outcome or refusal,
   * and 1 for everything else. With batches the window must hold a batch, or each batch waits for its delay.
   */
  readonly creditOf?: (output: R) => number
  /**
   * Receives an item that arrives after an unsubscribe, an error of the source's `return`, and a warning,
   * once, if nothing came out for 10 s while the window is used up. All of them go to the debug log too
   * (`DEBUG=headrace:*`).
   */
  readonly onEvent?: Listener
  readonly clock?: Clock
}

const pullOptions = strict({
  window: withDefault(wholeNumber('items', 1), 1_000),
  creditOf: optional(func()),
  onEvent: optional(func<Listener>()),
  clock: withDefault(clockOption, systemClock),
})

/** The item of an outcome or of a `Skipped`, the input of a refusal, the right side of an `Either`. */
const subjectOf = (output: unknown): unknown => {
  if (isOutcome(output)) return output.item
  if (isRefusal(output)) return output.input
  if (!isRecord(output)) return output
  if (output['_tag'] === 'Skipped') return output['item']
  if (output['_tag'] === 'Right') return output['right']
  return output['_tag'] === 'Left' ? subjectOf(output['left']) : output
}

const standstill = (window: number): string =>
  `nothing came out for 10 s, and the window of ${String(window)} items is used up: the sink is ` +
  'slow or down, or an operator drops or joins items (use filterRight, or give creditOf)'

/** A batch may hold batches. */
const countOf = (item: unknown): number =>
  isBatch(item) ? item.items.reduce<number>((sum, member) => sum + countOf(member), 0) : 1

/**
 * Feeds a pipeline from an iterable, and takes the next item only while fewer than `window` items are in the
 * pipeline. RxJS has no backpressure (`from(iterable)` reads as fast as it can), so sources that can wait
 * enter a pipeline here.
 *
 * The pipeline must have an output for every item, or for every batch of them. One that drops items keeps
 * their credit, and the source stops when the window is used up: then there is a warning (see `onEvent`).
 * When the source ends or fails, the pipeline is completed and drains, and only then the result completes, or
 * fails with the source's error. Unsubscribing, or a pipeline that ends early, calls the source's `return`.
 *
 * @throws ConfigError if an option is wrong or unknown.
 *
 * @example
 * import { pull } from 'headrace/sources/pull'
 * import { map } from 'rxjs'
 *
 * pull(['a', 'b'], map((item: string) => item.toUpperCase())).subscribe((item) => console.log(item)) // => A
 * // => B
 */
export const pull = <T, R>(
  iterable: AsyncIterable<T> | Iterable<T>,
  pipeline: OperatorFunction<T, R>,
  options: PullOptions<R> = {},
): Observable<R> => {
  const { window, onEvent, clock } = checkOptions('options of pull', pullOptions, options)
  const { creditOf = (output: R): number => countOf(subjectOf(output)) } = options

  return new Observable<R>((subscriber) => {
    const items = new Subject<T>()
    let failure: { readonly error: unknown } | undefined
    const report = listeners({ logger: false, ...(onEvent && { onEvent }) })

    const reading = reader('pull', iterable, window, clock, {
      item: (item) => {
        if (!reading.isOver()) items.next(item)
        else report({ _tag: 'Ended', at: clock.now(), outcome: abandoned(item, 0, undefined) })
      },
      ended: (how) => {
        failure = how
        items.complete()
      },
      hint: () => standstill(window),
      defect: (where, error) => report({ _tag: 'Defect', at: clock.now(), where, error }),
    })
    const release = (output: R): void => {
      const credit = creditOf(output)
      // With a NaN or Infinity the window would never be full again.
      if (!Number.isFinite(credit))
        throw new TypeError(`pull: creditOf must answer a number, got ${kindOf(credit)}`)
      reading.release(credit)
    }

    subscriber.add(reading.stop)
    subscriber.add(
      items.pipe(pipeline, tap(release)).subscribe({
        next: (output) => subscriber.next(output),
        error: (error: unknown) => subscriber.error(error),
        complete: () => {
          if (failure === undefined) subscriber.complete()
          else subscriber.error(failure.error)
        },
      }),
    )
    reading.start()
  })
}
