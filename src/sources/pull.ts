/** `headrace/sources/pull`: a source that reads no faster than the pipeline delivers. @module */
import { defer, Observable, Subject, tap, type OperatorFunction } from 'rxjs'
import { nextTurn, systemClock, type Cancel, type Clock } from '../core/clock.ts'
import { isRecord, kindOf } from '../core/json.ts'
import { checkOptions, clockOption, func, optional, strict, wholeNumber } from '../core/options.ts'
import { withDefault } from '../core/options.ts'
import { abandoned, isOutcome } from '../core/outcome.ts'
import { ShownError, isRefusal } from '../core/refusal.ts'
import { isBatch } from '../event/payload.ts'
import { callSafely, listeners } from '../log/listeners.ts'
import type { Listener } from '../log/logEvent.ts'
import { watchdog } from './watchdog.ts'

/** How much may be in a pipeline that is fed by `pull`. */
export interface PullOptions<R> {
  /** Items that are in the pipeline and have not come out, at most. Default 1,000. */
  readonly window?: number
  /**
   * The number of items that this output ends. Default: the members of a batch and of its outcome or refusal,
   * and 1 for everything else. With batches the window must hold a batch, or each batch waits for its delay.
   * After `splitRight` each part would give back a whole item, and the window would bound nothing: use
   * `acknowledged`, which counts the parts, or give their share, such as 0.5, if it is always the same.
   */
  readonly creditOf?: (output: R) => number
  /**
   * Receives an item that arrives after an unsubscribe or while the pipeline does not listen, an error of
   * the source's `return`, and a warning, once each, if nothing came out for 10 s while the window is used
   * up, and if more came out than went in. All go to the debug log too (`DEBUG=headrace:*`).
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

/** Items between two turns of the event loop, at most: a source that never waits would block all I/O. */
const ITEMS_PER_TURN = 256

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

const SURPLUS = 'more came out than went in: an operator divides items (use acknowledged, or give creditOf)'

/** A batch may hold batches. */
const countOf = (item: unknown): number =>
  isBatch(item) ? item.items.reduce<number>((sum, member) => sum + countOf(member), 0) : 1

const iteratorOf = <T>(iterable: AsyncIterable<T> | Iterable<T>): AsyncIterator<T> | Iterator<T> =>
  typeof iterable === 'object' && Symbol.asyncIterator in iterable
    ? iterable[Symbol.asyncIterator]()
    : iterable[Symbol.iterator]()

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
 * @throws ConfigError if an option is wrong or unknown, or the pipeline is no function; TypeError if the
 * source is not iterable.
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
  checkOptions('pipeline of pull', func(), pipeline)
  const given = Object(iterable) as object // Object() answers an object for any value.
  if (!(Symbol.asyncIterator in given || Symbol.iterator in given))
    throw new TypeError(`pull: the source must be iterable, got ${kindOf(iterable)}: await it, or call it`)

  return new Observable<R>((subscriber) => {
    const iterator = iteratorOf(iterable)
    const items = new Subject<T>()
    let inPipeline = 0
    let isOver = false
    let failure: { readonly error: unknown } | undefined
    let hasRoom = (): void => undefined
    let cancelTurn: Cancel | undefined
    let hasSurplus = false
    const report = listeners({ logger: false, ...(onEvent && { onEvent }) })
    const defect = (where: string, error: unknown): void =>
      report({ _tag: 'Defect', at: clock.now(), from: 'pull', where, error })

    const release = (output: R): void => {
      const credit = creditOf(output)
      // With a NaN or Infinity the window would never be full again, and below 0 always.
      if (!Number.isFinite(credit) || credit < 0)
        throw new TypeError(`pull: creditOf must answer a number from 0, got ${kindOf(credit)}`)
      inPipeline -= credit
      // Shares such as 1/9 do not add up to 1.
      if (inPipeline < -1e-6 && !hasSurplus) {
        hasSurplus = true
        defect('pull', new ShownError(SURPLUS))
      }
      hasRoom()
    }

    const tell = (): void => defect('pull', new ShownError(standstill(window)))
    const warning = watchdog(clock, () => inPipeline >= window && !isOver, tell)
    const receive = (item: T): void => {
      if (isOver || !items.observed)
        report({ _tag: 'Ended', at: clock.now(), from: 'pull', outcome: abandoned(item, 0, undefined) })
      else {
        inPipeline++
        items.next(item)
      }
    }

    const nextItem = async (taken: number): Promise<IteratorResult<T, unknown>> => {
      if (taken % ITEMS_PER_TURN === 0) await new Promise<void>((resolve) => (cancelTurn = nextTurn(resolve)))
      // A `deliver` that stops takes nothing more, and ends a moment later.
      while (inPipeline >= window || !items.observed) {
        warning.moved()
        await new Promise<void>((resolve) => (hasRoom = resolve))
      }
      return isOver ? { done: true, value: undefined } : iterator.next()
    }

    const feed = async (): Promise<void> => {
      try {
        for (let taken = 1; !isOver; taken++) {
          const { done, value } = await nextItem(taken)
          if (done === true) break
          receive(value)
        }
      } catch (error) {
        failure = { error }
        if (isOver) defect('pull: the source', error)
      }
      isOver = true
      items.complete()
    }

    subscriber.add(() => {
      warning.stop()
      cancelTurn?.()
      if (isOver) return
      isOver = true
      const stop = () => iterator.return?.()
      callSafely(stop, undefined, (error) => defect('pull: return of the source', error))
    })
    subscriber.add(
      defer(() => {
        hasRoom()
        return items
      })
        .pipe(pipeline, tap(release))
        .subscribe({
          next: (output) => subscriber.next(output),
          error: (error: unknown) => subscriber.error(error),
          complete: () => {
            if (failure === undefined) subscriber.complete()
            else subscriber.error(failure.error)
          },
        }),
    )
    void feed()
  })
}
