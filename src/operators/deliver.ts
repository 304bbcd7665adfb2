import { isLeft } from 'fp-ts/lib/Either.js'
import { Observable, Subject, defer, take, takeUntil } from 'rxjs'
import { messageOf, whenAnswered } from '../core/awaitable.ts'
import { systemClock, systemRandom } from '../core/clock.ts'
import type { Clock, Random } from '../core/clock.ts'
import { wholeNumber } from '../core/json.ts'
import type { Outcome, ObservableEither } from '../core/outcome.ts'
import { notStored } from '../core/refusal.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Listener } from '../log/logEvent.ts'
import { memoryOutbox } from '../outbox/memoryOutbox.ts'
import type { Outbox } from '../outbox/outbox.ts'
import { relay } from '../outbox/relay.ts'
import { standard } from '../policy/retryPolicy.ts'
import type { RetryPolicy } from '../policy/retryPolicy.ts'
import type { Sink } from '../sink/sink.ts'

/** How `deliver` goes about it. */
export interface DeliverOptions {
  /** When to try again; default `standard`: exponential from 1 s, at most 10 min, full jitter, until 4 h (DE4, DE5). */
  readonly retry?: RetryPolicy
  /** Its first value cancels what runs; what has not ended comes out as abandoned, and the stream completes. */
  readonly stop?: Observable<unknown>
  /**
   * How many items may be in a round at once; the others wait in the outbox. Default 1,000 (DE8). Retries take half of these
   * places at most; where there is only one, a retry that is due goes first.
   */
  readonly maxInFlight?: number
  /** Is told what happens. */
  readonly onEvent?: Listener
  /** Default the machine's clock. */
  readonly clock?: Clock
  /** Default the machine's chance. */
  readonly random?: Random
}

/** The two faces of `deliver`: with its own memory it takes any item that the sink takes, with your outbox what that holds. */
export interface Deliver {
  <S>(
    sink: Sink<S>,
    options?: DeliverOptions,
  ): <L, P extends S>(source: ObservableEither<L, P>) => Observable<L | Refusal | Outcome<P>>
  <P>(
    sink: Sink<P>,
    options: DeliverOptions & { readonly outbox: Outbox<P> },
  ): <L>(source: ObservableEither<L, P>) => Observable<L | Refusal | Outcome<P>>
}

const placesOf = ({ maxInFlight = 1_000 }: DeliverOptions): number =>
  wholeNumber('deliver: maxInFlight', 'items', 1, maxInFlight)

const delivering = <L, P>(
  source: ObservableEither<L, P>,
  sink: Sink<P>,
  outbox: Outbox<P>,
  options: DeliverOptions,
): Observable<L | Refusal | Outcome<P>> =>
  new Observable((subscriber) => {
    const { clock = systemClock, random = systemRandom, retry = standard, onEvent } = options
    const maxInFlight = placesOf(options)
    const cut = new Subject<void>()
    let feed: 'open' | 'complete' | 'braked' | { readonly failed: unknown } = 'open'
    let deciding = 0
    const work = relay<P>({
      sink,
      outbox,
      retry,
      clock,
      random,
      maxInFlight,
      onEvent,
      ended: (outcome) => {
        subscriber.next(outcome)
      },
    })
    const isBraked = (): boolean => feed === 'braked'
    const endAtRest = (): void => {
      if (feed === 'open' || feed === 'braked') return
      if (deciding > 0 || work.hasWorkBefore(Infinity) || work.running() > 0) return
      if (feed === 'complete') subscriber.complete()
      else subscriber.error(feed.failed)
    }
    const ended = (how: typeof feed): void => {
      if (!isBraked()) feed = how
      endAtRest()
    }
    const refuse = (refusal: Refusal): void => {
      work.report({ _tag: 'Refused', at: work.now(), refusal })
      subscriber.next(refusal)
    }
    const offer = (item: P): void => {
      deciding++
      whenAnswered(
        () => work.offer(item),
        (kept) => {
          deciding--
          if (isLeft(kept)) refuse(kept.left)
          endAtRest()
        },
        (error) => {
          deciding--
          refuse(notStored(item, messageOf(error)))
          endAtRest()
        },
      )
    }
    const brake = (): void => {
      if (isBraked()) return
      feed = 'braked'
      cut.next()
      work.abort(() => {
        subscriber.complete()
      })
    }

    work.onChange(endAtRest)
    subscriber.add(brake)
    options.stop?.pipe(take(1), takeUntil(cut)).subscribe({
      next: brake,
      error: (error: unknown) => {
        work.report({ _tag: 'Defect', at: work.now(), where: 'stop', error })
      },
    })
    // A stop may be there from the start, and then nobody asks the source.
    if (isBraked()) return
    source.pipe(takeUntil(cut)).subscribe({
      next: (rail) => {
        if (isLeft(rail)) subscriber.next(rail.left)
        else offer(rail.right)
      },
      error: (error: unknown) => {
        ended({ failed: error })
      },
      complete: () => {
        ended('complete')
      },
    })
  })

/**
 * Delivers each item to a sink, tries again as the policy says, and emits exactly one outcome for each: delivered, rejected,
 * expired or abandoned. What cannot be kept because the bound is reached comes out at once as a refusal. Lefts pass.
 *
 * The source's end is the drain: the stream completes when everything has its outcome and nothing runs any more (an error of
 * the source is passed on then, too). `stop` is the emergency brake. Bare unsubscription cancels as well, but can report
 * what was abandoned only to `onEvent`.
 *
 * What waits is bounded by the outbox (100,000 items and 256 MiB by default, DE9), never the number of attempts; how many
 * requests run at once is the business of `withConcurrency`, around the sink and so below retry.
 *
 * A subscriber may send, stop or unsubscribe inside `next`; what that causes is emitted after it. As in all of RxJS, what a
 * subscriber throws ends as an uncaught exception; the delivery itself goes on.
 *
 * @throws RangeError when `maxInFlight` is not a whole number from 1.
 *
 * ```
 * source   --a----b---|
 * sink       a✗ a✓  b✓
 * deliver  ------A--B-|
 * ```
 *
 * @example
 * import { deliver, memory } from 'headrace'
 * import { right } from 'fp-ts/lib/Either.js'
 * import { of } from 'rxjs'
 *
 * of(right('a'), right('b')).pipe(deliver(memory<string>()))
 *   .subscribe((ended) => console.log(ended._tag))
 * // => Delivered
 * // => Delivered
 */
export const deliver: Deliver = <S>(
  sink: Sink<S>,
  options: DeliverOptions & { readonly outbox?: Outbox<S> } = {},
) => {
  placesOf(options)
  return <L, P extends S>(source: ObservableEither<L, P>): Observable<L | Refusal | Outcome<P>> => {
    // `Deliver` lets an outbox be given only where P is S.
    const given = options.outbox as Outbox<P> | undefined
    return defer(() => delivering(source, sink, given ?? memoryOutbox<P>(), options))
  }
}
