import { Observable, Subject, tap } from 'rxjs'
import type { OperatorFunction } from 'rxjs'
import { nextTurn, systemClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import { checkOptions, wholeNumber } from '../core/options.ts'
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
 * @throws ConfigError if the window is not a whole number of at least 1.
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
  const { window = 1_000, creditOf = () => 1, onEvent, clock = systemClock } = options
  checkOptions('window of pull', wholeNumber('items', 1), window)

  return new Observable<R>((subscriber) => {
    const iterator = iteratorOf(iterable)
    const items = new Subject<T>()
    let inPipeline = 0
    let isOver = false
    let failure: { readonly error: unknown } | undefined
    let hasRoom = (): void => undefined

    const release = (output: R): void => {
      inPipeline -= creditOf(output)
      hasRoom()
    }

    const receive = (item: T): void => {
      if (isOver) onEvent?.({ _tag: 'Ended', at: clock.now(), outcome: abandoned(item, 0, undefined) })
      else {
        inPipeline++
        items.next(item)
      }
    }

    const nextItem = async (taken: number): Promise<IteratorResult<T, unknown>> => {
      while (inPipeline >= window) {
        await new Promise<void>((resolve) => {
          hasRoom = resolve
        })
      }
      if (taken % ITEMS_PER_TURN === 0) {
        await new Promise<void>((resolve) => {
          subscriber.add(nextTurn(resolve))
        })
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
      }
      isOver = true
      items.complete()
    }

    subscriber.add(() => {
      if (isOver) return
      isOver = true
      callSafely(
        () => iterator.return?.(),
        undefined,
        (error) => onEvent?.({ _tag: 'Defect', at: clock.now(), where: 'pull: return of the source', error }),
      )
    })
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
    void feed()
  })
}
