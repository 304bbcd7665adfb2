import { Observable, Subject } from 'rxjs'
import type { OperatorFunction } from 'rxjs'
import { whenSettled } from '../core/awaitable.ts'
import { nextTurn, systemClock } from '../core/clock.ts'
import type { Cancel, Clock } from '../core/clock.ts'
import { wholeNumber } from '../core/json.ts'
import { abandoned } from '../core/outcome.ts'
import { callSafely } from '../log/listeners.ts'
import type { Listener } from '../log/logEvent.ts'

/** How much may be in a pipeline that is fed by `pull`. */
export interface PullOptions<R> {
  /** Items that are in the pipeline and have not come out, at most. Default 1,000. */
  readonly window?: number
  /**
   * How many items came out with this output. Default 1, for pipelines with one output for each item. For a stream of batches
   * it is the number of members; then the window must hold a batch, or each batch waits for its delay.
   */
  readonly creditOf?: (output: R) => number
  /** Gets an item that arrives after an unsubscribe, and an error of the source's `return`. */
  readonly onEvent?: Listener
  readonly clock?: Clock
}

/** Items between two turns of the event loop, at most: a source that never waits would block all I/O. */
const ITEMS_PER_TURN = 256

const iteratorOf = <T>(iterable: AsyncIterable<T> | Iterable<T>): AsyncIterator<T> | Iterator<T> =>
  typeof iterable === 'object' && Symbol.asyncIterator in iterable
    ? iterable[Symbol.asyncIterator]()
    : iterable[Symbol.iterator]()

/**
 * Feeds a pipeline from an iterable, and takes the next item only while fewer than `window` items are in the pipeline. RxJS has no
 * backpressure (`from(iterable)` reads as fast as it can), so sources that can wait enter a pipeline here.
 *
 * The pipeline must have an output for every item. One that filters items out keeps their credit, and the source stops when
 * the window is used up. When the source ends or fails, the pipeline is completed and drains, and only then the result
 * completes, or fails with the source's error. Unsubscribing, or a pipeline that ends early, calls the source's `return`.
 *
 * @throws RangeError if the window is not a whole number of at least 1.
 *
 * @example
 * import { pull } from 'headrace'
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
  const { creditOf = () => 1, onEvent, clock = systemClock } = options
  const window = wholeNumber('window', 'items', 1, options.window ?? 1_000)

  return new Observable<R>((subscriber) => {
    const iterator = iteratorOf(iterable)
    const items = new Subject<T>()
    let inPipeline = 0
    let takenInTurn = 0
    /** An item is being taken or is on its way through the pipeline: the next one must not enter inside it. */
    let isBusy = false
    /** For the source's answer, or for the next turn of the event loop. */
    let isWaiting = false
    let isOver = false
    let failure: { readonly error: unknown } | undefined
    let cancelTurn: Cancel | undefined

    const end = (): void => {
      isWaiting = false
      if (isOver) return
      isOver = true
      items.complete()
    }

    const fail = (error: unknown): void => {
      if (!isOver) failure = { error }
      end()
    }

    const receive = (step: IteratorResult<T, unknown>): void => {
      const wasBusy = isBusy
      isBusy = true
      isWaiting = false
      try {
        if (step.done === true) end()
        else if (isOver)
          onEvent?.({ _tag: 'Ended', at: clock.now(), outcome: abandoned(step.value, 0, undefined) })
        else {
          inPipeline++
          items.next(step.value)
        }
      } catch (error) {
        // The iterator's answer was not a result.
        fail(error)
      }
      isBusy = wasBusy
      take()
    }

    const takeOne = (): void => {
      takenInTurn++
      try {
        whenSettled(iterator.next(), receive, fail)
      } catch (error) {
        fail(error)
      }
    }

    const take = (): void => {
      if (isBusy) return
      isBusy = true
      while (!isOver && !isWaiting && inPipeline < window) {
        isWaiting = true
        if (takenInTurn < ITEMS_PER_TURN) takeOne()
        else
          cancelTurn = nextTurn(() => {
            takenInTurn = 0
            isWaiting = false
            take()
          })
      }
      isBusy = false
    }

    const stop = (): unknown => {
      cancelTurn?.()
      if (isOver) return undefined
      isOver = true
      return iterator.return?.()
    }

    subscriber.add(() =>
      callSafely(stop, undefined, (error) =>
        onEvent?.({ _tag: 'Defect', at: clock.now(), where: 'pull: return of the source', error }),
      ),
    )
    subscriber.add(
      items.pipe(pipeline).subscribe({
        next: (output) => {
          subscriber.next(output)
          try {
            inPipeline -= creditOf(output)
          } catch (error) {
            subscriber.error(error)
          }
          take()
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => {
          if (failure === undefined) subscriber.complete()
          else subscriber.error(failure.error)
        },
      }),
    )
    take()
  })
}
