import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { Observable, Subject, takeUntil } from 'rxjs'
import type { ObservableNotification, Observer } from 'rxjs'
import { systemClock } from '../core/clock.ts'
import type { Cancel, Clock } from '../core/clock.ts'
import { kindOf } from '../core/json.ts'
import { assertEither } from '../core/outcome.ts'
import type { ObservableEither } from '../core/outcome.ts'
import { queue } from '../core/queue.ts'
import { closed, tooLarge } from '../core/refusal.ts'
import type { TooLarge } from '../core/refusal.ts'
import { frameBytes, isPayload, jsonArrayFrame, newId as randomId } from '../event/payload.ts'
import type { BatchPayload, ClosedBy, EventPayload, FixedFrame, Frame, Payload } from '../event/payload.ts'
import { channel } from '../log/channel.ts'
import { callSafely } from '../log/listeners.ts'

/** When a batch is closed, and its envelope. */
export interface BatchOptions<F extends Frame = Frame> {
  /** The maximum number of members. Default 20; `Infinity` for no limit. */
  readonly maxCount?: number
  /** The maximum size of the body in UTF-8 bytes, with envelope and commas. Default 500,000. */
  readonly maxBytes?: number
  /** The maximum time that a member waits, in milliseconds. Default 5,000; `Infinity` for no limit. */
  readonly maxDelay?: number
  /**
   * From when the delay counts. `firstItem` (default): from the first member of the batch. `lastFlush`: from the last batch, at
   * first from the subscription; an item after a longer pause is then sent at once.
   */
  readonly delayFrom?: 'firstItem' | 'lastFlush'
  /** The envelope. Default: a JSON array. */
  readonly frame?: F
  /** Each value closes the open batch. Its completion is ignored; its error ends the stream. */
  readonly flush?: Observable<unknown>
  /**
   * Called once on unsubscription with what was not emitted: batches first, then single payloads. Default: each is published on
   * the diagnostics channel `headrace:refused` as `Closed`. To lose nothing, complete the source instead of unsubscribing.
   */
  readonly abandoned?: (payloads: ReadonlyArray<Payload<unknown>>) => void
  /** Default the system clock. */
  readonly clock?: Clock
  /** Makes the id of a batch. Default: a random UUID. */
  readonly newId?: () => string
}

type Settings<F extends Frame> = Required<Omit<BatchOptions<F>, 'flush' | 'abandoned'>>

const settingsOf = <F extends Frame>(options: BatchOptions<F>): Settings<F> => {
  const { maxCount = 20, maxBytes = 500_000, maxDelay = 5_000 } = options
  // Without a frame F is FixedFrame, its default.
  const frame = options.frame ?? (jsonArrayFrame as Frame as F)
  if (!(maxCount >= 1 && (maxCount === Infinity || Number.isInteger(maxCount))))
    throw new RangeError(`batch: maxCount must be a whole number from 1, got ${String(maxCount)}`)
  const envelope = frameBytes(frame)
  if (!(maxBytes > envelope))
    throw new RangeError(
      `batch: maxBytes must be more than the ${String(envelope)} bytes of the envelope, got ${String(maxBytes)}`,
    )
  if (!(maxDelay > 0)) throw new RangeError(`batch: maxDelay must be above 0 ms, got ${String(maxDelay)}`)
  const { delayFrom = 'firstItem', clock = systemClock, newId = randomId } = options
  return { maxCount, maxBytes, maxDelay, frame, delayFrom, clock, newId }
}

/** A batch that still takes members. */
interface Open<A> {
  readonly members: Array<EventPayload<A>>
  /** Kept along with the members: visiting all of them again at the end is slower (measured). */
  readonly items: A[]
  byteLength: number
}

const COMMA = 1
const SIGNED =
  'batch: the payload is signed already, and a signature covers a whole body: put sign after batch'

const publishAsClosed =
  ({ now }: Clock) =>
  (payloads: ReadonlyArray<Payload<unknown>>): void => {
    for (const payload of payloads) channel({ _tag: 'Refused', at: now(), refusal: closed(payload) })
  }

const emit = <T>(observer: Observer<T>, notification: ObservableNotification<T>): void => {
  if (notification.kind === 'N') observer.next(notification.value)
  else if (notification.kind === 'E') observer.error(notification.error)
  else observer.complete()
}

/**
 * Gathers payloads into batches. A batch is closed for one reason, its `closedBy`: count, bytes, delay, flush, or the end of the
 * source. When the source completes or fails, the rest is emitted first. Order is kept, no batch is empty, and `byteLength` is
 * exact. An item too large for any batch is emitted at once as `TooLarge`, and the open batch goes on. Lefts pass at once.
 *
 * @throws RangeError for limits of 0, below 0, or NaN.
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
export const batch = <F extends Frame = FixedFrame>(
  options: BatchOptions<F> = {},
): (<L, A>(
  source: ObservableEither<L, Payload<A>>,
) => ObservableEither<L | TooLarge, BatchPayload<A, F>>) => {
  const settings = settingsOf(options)
  const { clock, delayFrom, frame, maxBytes, maxCount, maxDelay, newId } = settings
  const envelopeBytes = frameBytes(frame)
  const report = options.abandoned ?? publishAsClosed(clock)
  return <L, A>(source: ObservableEither<L, Payload<A>>) =>
    new Observable<Either<L | TooLarge, BatchPayload<A, F>>>((subscriber) => {
      const unsubscribed = new Subject<void>()
      const waiting = queue<ObservableNotification<Either<L | TooLarge, BatchPayload<A, F>>>>()
      let isEmitting = false
      let open: Open<A> | undefined
      let cancelTimer: Cancel | undefined
      let lastFlush = clock.monotonic()

      /** Changes the state first and emits afterwards: a subscriber may send or flush inside `next`. */
      const update = <I>(change: (input: I) => void, input: I): void => {
        try {
          change(input)
        } catch (error) {
          // What is no payload, or the caller's clock or `newId`.
          waiting.push({ kind: 'E', error })
        }
        if (isEmitting || waiting.size() === 0) return
        isEmitting = true
        for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) emit(subscriber, next)
        isEmitting = false
      }
      const stopTimer = (): void => {
        cancelTimer?.()
        cancelTimer = undefined
      }
      const close = (closedBy: ClosedBy): void => {
        if (open === undefined) return
        const { items, members, byteLength } = open
        open = undefined
        stopTimer()
        lastFlush = clock.monotonic()
        const batch = { id: newId(), items, members, byteLength, frame, closedBy }
        waiting.push({ kind: 'N', value: right(batch) })
      }
      const onTimer = (): void => {
        cancelTimer = undefined
        update(close, 'delay')
      }
      /** The timer runs only while a batch is open. */
      const waitForMore = (): void => {
        if (cancelTimer !== undefined || maxDelay === Infinity) return
        const wait = delayFrom === 'firstItem' ? maxDelay : lastFlush + maxDelay - clock.monotonic()
        if (wait > 0) cancelTimer = clock.schedule(wait, onTimer)
        else close('delay')
      }
      const add = (payload: EventPayload<A>): void => {
        if (payload.signature !== undefined) throw new TypeError(SIGNED)
        const alone = envelopeBytes + payload.byteLength
        if (alone > maxBytes) {
          waiting.push({ kind: 'N', value: left(tooLarge(payload, maxBytes, alone, payload.id)) })
          return
        }
        if (open !== undefined && open.byteLength + COMMA + payload.byteLength > maxBytes) close('bytes')
        if (open === undefined) open = { members: [payload], items: [payload.items[0]], byteLength: alone }
        else {
          open.members.push(payload)
          open.items.push(payload.items[0])
          open.byteLength += COMMA + payload.byteLength
        }
        if (open.members.length >= maxCount) close('count')
        else if (open.byteLength >= maxBytes) close('bytes')
        else waitForMore()
      }
      const accept = (each: Either<L, Payload<A>>): void => {
        assertEither('batch', each)
        if (each._tag === 'Left') waiting.push({ kind: 'N', value: each })
        else if (!isPayload(each.right))
          throw new TypeError(`batch: expected a payload, got ${kindOf(each.right)}: put encode() before it`)
        else if (each.right.members === undefined) add(each.right)
        else if (each.right.signature !== undefined) throw new TypeError(SIGNED)
        else for (const member of each.right.members) add(member)
      }
      const end = (notification: ObservableNotification<never>): void => {
        close('end')
        waiting.push(notification)
      }
      const fail = (error: unknown): void => update(end, { kind: 'E', error })

      subscriber.add(() => {
        const batches = waiting
          .drain()
          .flatMap((each) => (each.kind === 'N' && each.value._tag === 'Right' ? [each.value.right] : []))
        const rest: ReadonlyArray<Payload<A>> = [...batches, ...(open?.members ?? [])]
        open = undefined
        stopTimer()
        unsubscribed.next()
        if (rest.length === 0) return
        callSafely(report, rest, (error) =>
          channel({ _tag: 'Defect', at: clock.now(), where: 'abandoned', error }),
        )
      })
      options.flush?.pipe(takeUntil(unsubscribed)).subscribe({
        next: () => update(close, 'flush'),
        error: fail,
      })
      if (subscriber.closed) return
      source.pipe(takeUntil(unsubscribed)).subscribe({
        next: (each) => update(accept, each),
        error: fail,
        complete: () => update(end, { kind: 'C' }),
      })
    })
}
