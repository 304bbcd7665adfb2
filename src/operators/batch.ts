import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { Observable, Subject, takeUntil } from 'rxjs'
import type { ObservableNotification, Observer } from 'rxjs'
import { systemClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import type { ObservableEither } from '../core/outcome.ts'
import { queue } from '../core/queue.ts'
import { closed } from '../core/refusal.ts'
import type { TooLarge } from '../core/refusal.ts'
import { batcher } from '../event/batch.ts'
import type { BatcherSettings } from '../event/batch.ts'
import { frameBytes, jsonArrayFrame, newId as freshId } from '../event/payload.ts'
import type { BatchPayload, Frame, Payload } from '../event/payload.ts'
import { channel } from '../log/channel.ts'
import { isolate } from '../log/listeners.ts'

/** When a batch closes, and around what. */
export interface BatchOptions {
  /** The most members. Default 20; `Infinity` for no limit. */
  readonly maxCount?: number
  /** The most UTF-8 bytes of the body, envelope and commas included. Default 500,000 (BY2). */
  readonly maxBytes?: number
  /** Milliseconds that a member waits at most. Default 5,000; `Infinity` for no limit. */
  readonly maxDelay?: number
  /**
   * What the delay is counted from (BA3). `firstItem`, the default: the first member of the batch. `lastFlush`: the last time a
   * batch left, at first the subscription; what comes after a longer pause then leaves at once.
   */
  readonly delayFrom?: 'firstItem' | 'lastFlush'
  /** The envelope. Default: a JSON array. */
  readonly frame?: Frame
  /** Each of its values sends what is there off at once. Its completion means nothing; its error ends the stream. */
  readonly flush?: Observable<unknown>
  /**
   * Is told, once, what had been taken in and had not left when the stream was unsubscribed: batches first, then single
   * payloads. Default: each is published on the channel `headrace:refusedAtDoor` as `Closed`. To lose nothing, complete the
   * source instead of unsubscribing.
   */
  readonly abandoned?: (payloads: ReadonlyArray<Payload<unknown>>) => void
  /** Default the machine's clock. */
  readonly clock?: Clock
  /** Makes the batch's own id. Default: a random UUID. */
  readonly newId?: () => string
}

/** Zero, negative and NaN are mistakes of the program (BA2): said when the pipeline is put together, not when it runs. */
const settingsOf = (options: BatchOptions): BatcherSettings => {
  const { maxCount = 20, maxBytes = 500_000, maxDelay = 5_000, frame = jsonArrayFrame } = options
  if (!(maxCount >= 1 && (maxCount === Infinity || Number.isInteger(maxCount))))
    throw new RangeError(`batch: maxCount must be a whole number of at least 1, not ${String(maxCount)}`)
  if (!(maxBytes > frameBytes(frame)))
    throw new RangeError(
      `batch: maxBytes must be more than the ${String(frameBytes(frame))} bytes of the envelope, not ${String(maxBytes)}`,
    )
  if (!(maxDelay > 0)) throw new RangeError(`batch: maxDelay must be above 0 ms, not ${String(maxDelay)}`)
  const { delayFrom = 'firstItem', clock = systemClock, newId = freshId } = options
  return { maxCount, maxBytes, maxDelay, frame, delayFrom, clock, newId }
}

const passOn = <T>(notification: ObservableNotification<T>, observer: Observer<T>): void => {
  if (notification.kind === 'N') observer.next(notification.value)
  else if (notification.kind === 'E') observer.error(notification.error)
  else observer.complete()
}

/**
 * What waits to be emitted. Emitting comes after deciding: who offers, flushes or completes from within an emission finds a
 * finished state, and what that decides waits its turn.
 */
interface Exit<T> {
  readonly say: (notification: ObservableNotification<T>) => void
  /** Decides, then emits. It takes the input apart, because a closure for each item can be felt. */
  readonly decide: <I>(decision: (input: I) => void, input: I) => void
  /** Takes out the values that have not left. */
  readonly unsaid: () => ReadonlyArray<T>
}

const exitTo = <T>(observer: Observer<T>): Exit<T> => {
  const waiting = queue<ObservableNotification<T>>()
  let busy = false
  return {
    say: waiting.push,
    decide: (decision, input) => {
      try {
        decision(input)
      } catch (defect) {
        // Only what the caller brought can throw here: the clock, or the maker of ids.
        waiting.push({ kind: 'E', error: defect })
      }
      if (busy || waiting.size() === 0) return
      busy = true
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) passOn(next, observer)
      busy = false
    },
    unsaid: () => waiting.drain().flatMap((each) => (each.kind === 'N' ? [each.value] : [])),
  }
}

const reporting =
  ({ abandoned }: BatchOptions, { now }: Clock) =>
  (payloads: ReadonlyArray<Payload<unknown>>): void => {
    const publish = (): void => {
      for (const payload of payloads) channel({ _tag: 'Refused', at: now(), refusal: closed(payload) })
    }
    const onEvent: (payloads: ReadonlyArray<Payload<unknown>>) => unknown = abandoned ?? publish
    isolate(onEvent, payloads, (error) => {
      channel({ _tag: 'Defect', at: now(), where: 'abandoned', error })
    })
  }

/**
 * Gathers payloads into batches. A batch closes for exactly one cause, which is on it as `closedBy` (BA1): its count, its
 * bytes, the delay, a flush, or the end of the source; on completion and on error the rest goes out first (BA4). Order is
 * kept, a batch is never empty, and its `byteLength` is exact, because its envelope is known. What would be too large all
 * by itself comes out on the left as `TooLarge` at once, and the open batch does not notice (BY3). What is on the left
 * already passes at once. There is one timer at most, and none while nothing waits.
 *
 * An item offered while a batch is going out lands behind it. Limits of zero, below zero or NaN throw a `RangeError` (BA2).
 *
 * @example
 * import { batch, bodyOf } from 'headrace'
 * import { right } from 'fp-ts/lib/Either.js'
 * import { from, map } from 'rxjs'
 *
 * from([1, 2, 3])
 *   .pipe(
 *     map((n) => right({ id: `m${n}`, items: [n] as const, text: String(n), byteLength: 1 })),
 *     batch({ maxCount: 2 }),
 *   )
 *   .subscribe((each) => {
 *     if (each._tag === 'Right') console.log(bodyOf(each.right, 0), each.right.closedBy)
 *   })
 * // => [1,2] count
 * // => [3] end
 */
export const batch = (
  options: BatchOptions = {},
): (<L, A>(source: ObservableEither<L, Payload<A>>) => ObservableEither<L | TooLarge, BatchPayload<A>>) => {
  const settings = settingsOf(options)
  const report = reporting(options, settings.clock)
  return <L, A>(source: ObservableEither<L, Payload<A>>) =>
    new Observable<Either<L | TooLarge, BatchPayload<A>>>((subscriber) => {
      const unsubscribed = new Subject<void>()
      const { say, decide, unsaid } = exitTo(subscriber)
      const { offer, close, abandon } = batcher<A>(settings, {
        batch: (made) => {
          say({ kind: 'N', value: right(made) })
        },
        refuse: (refusal) => {
          say({ kind: 'N', value: left(refusal) })
        },
        due: () => {
          decide(close, 'delay')
        },
      })
      const take = (each: Either<L, Payload<A>>): void => {
        if (each._tag === 'Left') say({ kind: 'N', value: each })
        else offer(each.right)
      }
      const end = (notification: ObservableNotification<never>): void => {
        close('end')
        say(notification)
      }
      const error = (defect: unknown): void => {
        decide(end, { kind: 'E', error: defect })
      }
      subscriber.add(() => {
        const batches: ReadonlyArray<Payload<A>> = unsaid().flatMap((each) =>
          each._tag === 'Right' ? [each.right] : [],
        )
        const remainder = [...batches, ...abandon()]
        unsubscribed.next()
        if (remainder.length > 0) report(remainder)
      })
      options.flush?.pipe(takeUntil(unsubscribed)).subscribe({
        next: () => {
          decide(close, 'flush')
        },
        error,
      })
      if (subscriber.closed) return
      source.pipe(takeUntil(unsubscribed)).subscribe({
        next: (each) => {
          decide(take, each)
        },
        error,
        complete: () => {
          decide(end, { kind: 'C' })
        },
      })
    })
}
