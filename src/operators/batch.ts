import { Observable, Subject, isObservable, takeUntil } from 'rxjs'
import { left, right, type Either } from '../core/either.ts'
import { answerOn, answersOf, carry, joinedAnswer, withAnswer, type SourceAnswer } from '../core/carry.ts'
import { systemClock, type Cancel, type Clock } from '../core/clock.ts'
import { drainLoop } from '../core/drainLoop.ts'
import { isRecord, kindOf } from '../core/json.ts'
import { checkOptions, clockOption, func, guarded, limit, oneOf } from '../core/options.ts'
import { optional, strict, timeLimit, withDefault, type Decoded } from '../core/options.ts'
import { assertEither, type EitherSource, type Hint, type ObservableEither } from '../core/outcome.ts'
import { queue } from '../core/queue.ts'
import { invalid, threw, tooLarge, type Refusal, type Threw, type TooLarge } from '../core/refusal.ts'
import { frameBytes, isPayload, jsonArrayFrame, newId as randomId } from '../event/payload.ts'
import type { BatchPayload, ClosedBy, EventPayload, FixedFrame, Frame } from '../event/payload.ts'
import type { ItemBatch, Payload } from '../event/payload.ts'
import { callSafely, channel, publishAsClosed } from '../log/listeners.ts'

/** When a batch is closed. */
interface BatchLimits {
  /** The maximum number of members. Default 20; `Infinity` for no limit. */
  readonly maxCount?: number
  /** The maximum bytes: of a body with frame and commas, or the sum of `sizeOf`. Default 500,000. */
  readonly maxBytes?: number
  /** The maximum time that a member waits, in milliseconds. Default 5,000; `Infinity` for no limit. */
  readonly maxDelay?: number
  /**
   * The start of the delay. `firstItem` (default): the first member of the batch. `lastFlush`: the last
   * batch, at first the subscription; an item after a longer pause is then sent at once.
   */
  readonly delayFrom?: 'firstItem' | 'lastFlush'
  /** Batches that are open at once with `by`. For one key more, the oldest batch is closed. Default 1,000. */
  readonly maxKeys?: number
  /** Each value closes all open batches. Its completion is ignored; its error ends the stream. */
  readonly flush?: Observable<unknown>
  /** Default the system clock. */
  readonly clock?: Clock
  /** Makes the id of a batch. Default: a random UUID. */
  readonly newId?: () => string
}

interface PayloadBatchLimits<F extends Frame> extends BatchLimits {
  /** The frame. Default: a JSON array. */
  readonly frame?: F
  /**
   * Receives, once on unsubscription, the payloads that were not emitted, batches first. Default: each goes
   * to the channel `headrace:notAccepted` as `Closed`. To lose nothing, complete the source instead.
   */
  readonly abandoned?: (payloads: ReadonlyArray<Payload<unknown>>) => void
  readonly sizeOf?: never
}

/** When a batch of payloads is closed, and its frame. */
export interface BatchOptions<F extends Frame = Frame> extends PayloadBatchLimits<F> {
  readonly by?: never
}

/** The same for batches by key. */
export interface KeyedBatchOptions<F extends Frame, in A> extends PayloadBatchLimits<F> {
  /** The key of an item. A batch has items of one key, and limits of its own. Default: one key for all. */
  readonly by?: (item: A) => string
}

/** When a batch of any items is closed. */
export interface ItemBatchOptions<in A> extends BatchLimits {
  /** The bytes of an item, from 0; other answers refuse it. `() => 0` if only count and delay matter. */
  readonly sizeOf: (item: A) => number
  /** As for payloads. */
  readonly by?: (item: A) => string
  /** Receives, once on unsubscription, the items that were not emitted. Default as for payloads. */
  readonly abandoned?: (items: ReadonlyArray<A>) => void
  readonly frame?: never
}

/** With `sizeOf` it gathers any items; without, payloads, whose JSON it joins. */
export interface Batch {
  <A>(
    options: ItemBatchOptions<A>,
  ): <L>(source: EitherSource<L, A>) => ObservableEither<L | Refusal | Threw, ItemBatch<A>>
  <F extends Frame = FixedFrame>(
    options?: BatchOptions<F>,
  ): <L, A>(
    source: EitherSource<L, Payload<A> | Hint<'put encode() before batch'>>,
  ) => ObservableEither<L | TooLarge, BatchPayload<A, F>>
  <A, F extends Frame = FixedFrame>(
    options: KeyedBatchOptions<F, A>,
  ): <L>(
    source: EitherSource<L, Payload<A> | Hint<'put encode() before batch'>>,
  ) => ObservableEither<L | Refusal | Threw, BatchPayload<A, F>>
}

/** The options of every batch. */
const limitShape = {
  maxCount: withDefault(limit('members'), 20),
  maxBytes: withDefault(limit('bytes'), 500_000),
  maxDelay: withDefault(timeLimit, 5_000),
  delayFrom: withDefault(oneOf('firstItem', 'lastFlush'), 'firstItem'),
  maxKeys: withDefault(limit('keys'), 1_000),
  by: optional(func()),
  flush: optional(guarded('an Observable', isObservable)),
  clock: withDefault(clockOption, systemClock),
  newId: withDefault(func<() => string>(), randomId),
  abandoned: optional(func()),
  sizeOf: optional(func()),
}

const isFrame = (value: unknown): value is Frame =>
  isRecord(value) && typeof value['prefix'] === 'string' && typeof value['suffix'] === 'string'

const payloadOptions = strict(
  { ...limitShape, frame: withDefault(guarded('a frame, { prefix, suffix }', isFrame), jsonArrayFrame) },
  ({ maxBytes, frame }) => {
    const bytes = frameBytes(frame)
    if (maxBytes > bytes) return []
    const message = `must be more than the ${String(bytes)} bytes of the frame, not ${String(maxBytes)}`
    return [{ path: 'maxBytes', message }]
  },
)

/** A batch that still takes members. */
interface OpenBatch<M, A> {
  readonly members: M[]
  /** Visiting all members again at the end is slower (measured). */
  readonly items: A[]
  /** When its delay is over, on the monotonic clock. */
  readonly due: number
  byteLength: number
  /** By the places of the members, if any of them has one. */
  answers?: Array<SourceAnswer | undefined>
}

type Unfit = Refusal | Threw

/** The form of members and batches: of payloads, or of any items. */
interface Form<V, M, A, B> {
  readonly frameSize: number
  readonly comma: number
  /** How many members a value has. */
  readonly countOf: (value: V) => number
  /** Gives `add` the members of a value, or answers a refusal. Throws a TypeError that ends the stream. */
  readonly read: (value: V, add: (member: M, item: A, size: number) => void) => Unfit | undefined
  readonly tooLarge: (member: M, size: number) => TooLarge
  readonly toBatch: (id: string, open: OpenBatch<M, A>, closedBy: ClosedBy) => B
  readonly abandon: (batches: ReadonlyArray<B>, members: ReadonlyArray<M>) => unknown
}

/** Asks a function of the host about an item. An error, or an answer not `wanted`, costs that item. */
const asking =
  <A, T>(name: string, f: (item: A) => T, wanted: string, isRight: (answer: T) => boolean) =>
  (item: A, member: unknown): Either<Unfit, T> => {
    try {
      const answer = f(item)
      if (isRight(answer)) return right(answer)
      const got = typeof answer === 'number' ? String(answer) : kindOf(answer)
      return left(invalid(member, [{ path: '', message: `${name} must answer ${wanted}, got ${got}` }]))
    } catch (error) {
      return left(threw(member, 'batch', error))
    }
  }

const gather = <L, V, M, A, B>(
  source: ObservableEither<L, V>,
  limits: Decoded<typeof limitShape>,
  by: ((item: A) => string) | undefined,
  form: Form<V, M, A, B>,
): ObservableEither<L | Unfit, B> => {
  const { clock, delayFrom, flush, maxBytes, maxCount, maxDelay, maxKeys, newId } = limits
  const { comma, frameSize } = form
  const keyOf = by && asking('by', by, 'a string', (key) => typeof key === 'string')
  return new Observable<Either<L | Unfit, B>>((subscriber) => {
    const unsubscribed = new Subject<void>()
    const waiting = queue<Either<L | Unfit, B>>()
    /** Ends the stream, after the waiting members. */
    let end: (() => void) | undefined
    const emit = drainLoop(() => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) subscriber.next(next)
      end?.()
    })
    /** By key, '' without `by`. The first is the oldest, and its delay is over first. */
    const open = new Map<string, OpenBatch<M, A>>()
    /** The answers of the members that a value still has to add. */
    let riding: Array<SourceAnswer | undefined> | undefined
    let cancelTimer: Cancel | undefined
    let lastFlush = clock.monotonic()

    /** Changes the state first and emits afterwards: a subscriber may send or flush inside `next`. */
    const update = <I>(change: (input: I) => void, input: I): void => {
      try {
        change(input)
      } catch (error) {
        end ??= () => subscriber.error(error)
      }
      emit()
    }
    const stopTimer = (): void => {
      cancelTimer?.()
      cancelTimer = undefined
    }
    const close = (key: string, batch: OpenBatch<M, A>, closedBy: ClosedBy): void => {
      // After an error members stay here, also those that still come, and are handed back.
      if (end !== undefined) return
      let batched: Either<never, B>
      try {
        batched = right(form.toBatch(newId(), batch, closedBy))
      } catch (error) {
        end = () => subscriber.error(error)
        return
      }
      const { answers, members } = batch
      if (answers !== undefined) {
        answers.length = members.length
        batched = withAnswer(batched, joinedAnswer(answers))
      }
      lastFlush = clock.monotonic()
      open.delete(key)
      if (open.size === 0) stopTimer()
      waiting.push(batched)
    }
    const closeAll = (closedBy: ClosedBy): void => open.forEach((batch, key) => close(key, batch, closedBy))
    const closeDue = (): void => {
      const now = clock.monotonic()
      for (const [key, batch] of open) {
        if (batch.due > now) break
        close(key, batch, 'delay')
      }
      waitForOldest()
    }
    const onTimer = (): void => {
      cancelTimer = undefined
      update(closeDue, undefined)
    }
    /** One timer for all batches, which runs only while one is open. */
    const waitForOldest = (): void => {
      if (cancelTimer !== undefined || maxDelay === Infinity) return
      const [oldest] = open.values()
      if (oldest !== undefined) cancelTimer = clock.schedule(oldest.due - clock.monotonic(), onTimer)
    }
    const start = (key: string): OpenBatch<M, A> => {
      const [oldest] = open
      if (oldest !== undefined && open.size >= maxKeys) close(...oldest, 'keys')
      const due = maxDelay + (delayFrom === 'firstItem' ? clock.monotonic() : lastFlush)
      const batch: OpenBatch<M, A> = { members: [], items: [], byteLength: frameSize - comma, due }
      open.set(key, batch)
      return batch
    }
    const refuse = (refusal: Either<Unfit, never>, answer: SourceAnswer | undefined): void =>
      waiting.push(answer === undefined ? refusal : withAnswer(refusal, answer))
    const add = (member: M, item: A, size: number): void => {
      const answer = riding?.shift()
      const alone = frameSize + size
      if (alone > maxBytes) return refuse(left(form.tooLarge(member, alone)), answer)
      const asked = keyOf?.(item, member)
      if (asked?._tag === 'Left') return refuse(asked, answer)
      const key = asked?.right ?? ''
      let batch = open.get(key)
      if (batch !== undefined && batch.byteLength + comma + size > maxBytes) {
        close(key, batch, 'bytes')
        batch = open.get(key)
      }
      batch ??= start(key)
      if (answer !== undefined) (batch.answers ??= [])[batch.members.length] = answer
      batch.members.push(member)
      batch.items.push(item)
      batch.byteLength += comma + size
      if (batch.members.length >= maxCount) close(key, batch, 'count')
      else if (batch.byteLength >= maxBytes) close(key, batch, 'bytes')
      else if (batch.members.length === 1) closeDue()
    }
    const accept = (each: Either<L, V>): void => {
      assertEither('batch', each)
      if (each._tag === 'Left') return waiting.push(each)
      const answer = answerOn(each)
      riding = answer && answersOf(answer, form.countOf(each.right))
      const refusal = form.read(each.right, add)
      if (refusal !== undefined) waiting.push(carry(each, left(refusal)))
    }
    const endWith = (how: () => void): void => {
      closeAll('end')
      end ??= how
    }
    const fail = (error: unknown): void => update(endWith, () => subscriber.error(error))

    subscriber.add(() => {
      const batches = waiting.drain().flatMap((each) => (each._tag === 'Right' ? [each.right] : []))
      const rest = [...open.values()].flatMap(({ members }) => members)
      stopTimer()
      unsubscribed.next()
      if (batches.length + rest.length === 0) return
      const failed = (error: unknown) =>
        channel({ _tag: 'Defect', at: clock.now(), from: 'batch', where: 'abandoned', error })
      callSafely(() => form.abandon(batches, rest), undefined, failed)
    })
    flush?.pipe(takeUntil(unsubscribed)).subscribe({ next: () => update(closeAll, 'flush'), error: fail })
    if (subscriber.closed) return
    source.pipe(takeUntil(unsubscribed)).subscribe({
      next: (each) => update(accept, each),
      error: fail,
      complete: () => update(endWith, () => subscriber.complete()),
    })
  })
}

const IS_SIGNED = 'batch: the payload is signed, and a signature covers a whole body: put sign after batch'

/** Throws for a payload that cannot be joined. */
const joinable = <A>(given: Payload<A>): Payload<A> => {
  // The type says so; code without types may still send something else.
  if (!isPayload(given))
    throw new TypeError(`batch: expected a payload, got ${kindOf(given)}: put encode() first, or give sizeOf`)
  if (given.signature !== undefined) throw new TypeError(IS_SIGNED)
  if (given.contentType !== undefined)
    throw new TypeError(`batch: joins JSON, and the payload is ${given.contentType}: give sizeOf`)
  return given
}

const ofPayloads = <A, F extends Frame>(options: KeyedBatchOptions<F, A>) => {
  const limits = checkOptions('options of batch', payloadOptions, options)
  // Without a frame F is FixedFrame, its default.
  const frame = options.frame ?? (jsonArrayFrame as Frame as F)
  const frameSize = frameBytes(frame)
  const { abandoned = publishAsClosed('batch', limits.clock) } = options
  return <L>(source: ObservableEither<L, Payload<A>>) =>
    gather<L, Payload<A>, EventPayload<A>, A, BatchPayload<A, F>>(source, limits, options.by, {
      frameSize,
      comma: 1,
      countOf: (payload) => joinable(payload).members?.length ?? 1,
      read: (payload, add) => {
        const given = joinable(payload)
        if (given.members === undefined) add(given, given.items[0], given.byteLength)
        else for (const member of given.members) add(member, member.items[0], member.byteLength)
        return undefined
      },
      tooLarge: (payload, size) => tooLarge(payload, limits.maxBytes, size, payload.id),
      toBatch: (id, { items, members, byteLength }, closedBy) => {
        return { id, items, members, byteLength, frame, closedBy }
      },
      abandon: (batches, members) => abandoned([...batches, ...members]),
    })
}

const ofItems = <A>(options: ItemBatchOptions<A>) => {
  const limits = checkOptions('options of batch', strict(limitShape), options)
  const { sizeOf, abandoned = publishAsClosed('batch', limits.clock) } = options
  const isSize = (size: number): boolean => Number.isFinite(size) && size >= 0
  const ask = asking('sizeOf', sizeOf, 'a number of bytes from 0', isSize)
  const form: Form<A, A, A, ItemBatch<A>> = {
    frameSize: 0,
    comma: 0,
    countOf: () => 1,
    read: (item, add) => {
      const size = ask(item, item)
      if (size._tag === 'Left') return size.left
      add(item, item, size.right)
      return undefined
    },
    tooLarge: (item, size) => tooLarge(item, limits.maxBytes, size, undefined),
    toBatch: (id, { items, byteLength }, closedBy) => ({ id, items, byteLength, closedBy }),
    abandon: (batches, items) => abandoned([...batches.flatMap((each) => each.items), ...items]),
  }
  return <L>(source: ObservableEither<L, A>) => gather(source, limits, options.by, form)
}

/**
 * Gathers payloads into batches, or, with `sizeOf`, any items. A batch is closed for one reason, its
 * `closedBy`: count, bytes, delay, flush, keys, or the end of the source. When the source completes or fails,
 * the rest is emitted first. Order is kept, no batch is empty, and `byteLength` is exact. An item too large
 * for any batch is emitted at once as `TooLarge`, and the open batch goes on. Lefts pass at once.
 *
 * With `by` each key has a batch and limits of its own: at most `maxKeys` are open, and for one more the
 * oldest is closed, by `keys`. Order is kept within a key.
 *
 * Payloads keep their bytes, joined in a frame. Items are not changed: `{ id, items, byteLength, closedBy }`
 * is for a sink of your own. A `by` or `sizeOf` that throws or answers something else costs its item only.
 *
 * @function
 * @throws ConfigError if an option is wrong or unknown.
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
export const batch = ((options: KeyedBatchOptions<Frame, unknown> | ItemBatchOptions<unknown> = {}) =>
  // Each overload of `Batch` is one of these two: `sizeOf` tells them apart. No value is a Hint.
  options.sizeOf === undefined ? ofPayloads(options) : ofItems(options)) as Batch
