import { Observable, Subject } from 'rxjs'
import type { OperatorFunction } from 'rxjs'
import { whenSettled } from '../core/awaitable.ts'
import type { Awaitable } from '../core/awaitable.ts'
import { systemClock, nextTurn } from '../core/clock.ts'
import type { Cancel, Clock } from '../core/clock.ts'
import { wholeNumber } from '../core/json.ts'
import { abandoned } from '../core/outcome.ts'
import { isolate } from '../log/listeners.ts'
import type { Listener } from '../log/logEvent.ts'

/** How much may be under way in a pipeline that is fed by `pull`. */
export interface PullOptions<R> {
  /** Items that are in the pipeline and have not come out, at most. Default 1,000. */
  readonly window?: number
  /**
   * How many items came out with this output. Default 1, which is right for railways: one output for each item. For a stream of
   * batches it is the count of their members, and then the window must hold a batch, or each one waits for its delay.
   */
  readonly creditOf?: (output: R) => number
  /** Is told of an item that arrives after an unsubscribe, and when the source fails to let go of what it holds. */
  readonly onEvent?: Listener
  readonly clock?: Clock
}

/** So many items are taken between two turns of the event loop at most; otherwise a source that never waits would starve all I/O. */
const ITEMS_A_TURN = 256

type Step<T> = IteratorResult<T, unknown>

interface Puller<T> {
  readonly next: () => Awaitable<Step<T>>
  readonly leave: () => unknown
}

const isAsync = <T>(iterable: AsyncIterable<T> | Iterable<T>): iterable is AsyncIterable<T> =>
  typeof iterable === 'object' && Symbol.asyncIterator in iterable

const pullerOf = <T>(iterable: AsyncIterable<T> | Iterable<T>): Puller<T> => {
  const iterator = isAsync(iterable) ? iterable[Symbol.asyncIterator]() : iterable[Symbol.iterator]()
  return { next: () => iterator.next(), leave: () => iterator.return?.() }
}

/** Where items go, and whether there is credit for one more. */
interface Inlet<T> {
  readonly hasCredit: () => boolean
  readonly item: (item: T) => void
  readonly end: () => void
  readonly fail: (error: unknown) => void
  /** An item that came when nobody wanted it any more. */
  readonly late: (item: T) => void
}

interface Feed {
  /** Starts, or goes on after items came out. */
  readonly resume: () => void
  /** Takes nothing more, and lets the source go. */
  readonly stop: () => unknown
}

/** Takes items one after the other while there is credit, never one within another, and without recursion. */
const feed = <T>(source: Puller<T>, inlet: Inlet<T>): Feed => {
  let inTurn = 0
  let busy = false
  /** For the source's answer, or for the next turn of the event loop. */
  let waiting = false
  let over = false
  let cancelTurn: Cancel | undefined

  const once = (finish: () => void): void => {
    waiting = false
    if (over) return
    over = true
    finish()
  }

  const fail = (error: unknown): void => {
    once(() => {
      inlet.fail(error)
    })
  }

  const act = (step: Step<T>): void => {
    if (step.done === true) once(inlet.end)
    else if (over) inlet.late(step.value)
    else inlet.item(step.value)
  }

  const receive = (step: Step<T>): void => {
    // Busy as long as the item makes its way, so that an output of it does not bring in the next one underneath.
    const before = busy
    busy = true
    waiting = false
    try {
      act(step)
    } catch (error) {
      // An iterator that is none: its answer cannot be read.
      fail(error)
    }
    busy = before
    resume()
  }

  const takeOne = (): void => {
    inTurn++
    waiting = true
    try {
      whenSettled(
        source.next(),
        (step) => {
          receive(step)
        },
        fail,
      )
    } catch (error) {
      fail(error)
    }
  }

  const waitATurn = (): void => {
    waiting = true
    cancelTurn = nextTurn(() => {
      inTurn = 0
      waiting = false
      resume()
    })
  }

  const resume = (): void => {
    if (busy) return
    busy = true
    while (!over && !waiting && inlet.hasCredit()) {
      if (inTurn < ITEMS_A_TURN) takeOne()
      else waitATurn()
    }
    busy = false
  }

  return {
    resume,
    stop: () => {
      cancelTurn?.()
      if (over) return undefined
      over = true
      return source.leave()
    },
  }
}

/**
 * Feeds a pipeline from an iterable, taking the next item only while fewer than `window` items are in the pipeline. RxJS has no
 * backpressure (`from(iterable)` reads as fast as it can, whatever the pipeline does), so sources that can be slowed down
 * enter a pipeline here (DE9).
 *
 * The pipeline must answer for every item, as railways do: one that filters items out keeps their credit, and the source
 * stands still when the window is used up. When the source ends, or fails, the pipeline is completed, drains, and only then the
 * result completes, or fails with the source's error. Unsubscribing, or a pipeline that ends early, calls the source's `return`.
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
    const items = new Subject<T>()
    let underWay = 0
    let failure: { readonly error: unknown } | undefined

    const feeding = feed(pullerOf(iterable), {
      hasCredit: () => underWay < window,
      item: (item) => {
        underWay++
        items.next(item)
      },
      end: () => {
        items.complete()
      },
      fail: (error) => {
        failure = { error }
        items.complete()
      },
      late: (item) => onEvent?.({ _tag: 'Ended', at: clock.now(), outcome: abandoned(item, 0, undefined) }),
    })

    const comeOut = (output: R): void => {
      subscriber.next(output)
      try {
        underWay -= creditOf(output)
      } catch (error) {
        subscriber.error(error)
      }
      feeding.resume()
    }

    subscriber.add(() => {
      isolate(feeding.stop, undefined, (error) =>
        onEvent?.({ _tag: 'Defect', at: clock.now(), where: 'pull: letting the source go', error }),
      )
    })
    subscriber.add(
      items.pipe(pipeline).subscribe({
        next: comeOut,
        error: (error: unknown) => {
          subscriber.error(error)
        },
        complete: () => {
          if (failure === undefined) subscriber.complete()
          else subscriber.error(failure.error)
        },
      }),
    )
    feeding.resume()
  })
}
