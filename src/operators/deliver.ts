import { Observable, Subject, Subscription, defer, isObservable, take, takeUntil, tap } from 'rxjs'
import { constVoid, isLeft, left, type Either } from '../core/either.ts'
import { whenAnswered, type Awaitable } from '../core/awaitable.ts'
import { answerOn, lastFailureOf, STORED, type SourceAnswer } from '../core/carry.ts'
import { messageOf } from '../core/failure.ts'
import { systemClock, systemRandom, type Clock, type Random } from '../core/clock.ts'
import { isRecord, kindOf } from '../core/json.ts'
import { checkOptions, clockOption, func, guarded } from '../core/options.ts'
import { optional, strict, text, wholeNumber, withDefault, type Decoded } from '../core/options.ts'
import { assertEither } from '../core/outcome.ts'
import type { EitherSource, Hint, ObservableEither, Outcome } from '../core/outcome.ts'
import { ShownError, invalid, isRefusal, notStored, type Fault, type Refusal } from '../core/refusal.ts'
import { isListening, listeners, type Listening } from '../log/listeners.ts'
import type { Listener } from '../log/logEvent.ts'
import { byteLengthOf, memoryOutbox } from '../outbox/memoryOutbox.ts'
import { inUse, isOutbox, type Entry, type Outbox } from '../outbox/outbox.ts'
import type { BatchPayload, Payload } from '../event/payload.ts'
import { relay } from '../outbox/relay.ts'
import { one, type Shape } from '../outbox/take.ts'
import { retryOption, standard, type Retrying } from '../policy/retryPolicy.ts'
import { assertSink } from '../sink/layer.ts'
import type { Sink } from '../sink/sink.ts'
import { bulkOptions, lists, type BulkOptions } from './bulk.ts'

/** Options of `deliver`. */
export interface DeliverOptions extends Retrying, Pick<Listening, 'onEvent'> {
  /** `from` in its log events. Default `deliver`. */
  readonly name?: string
  /**
   * Its first value cancels deliveries in flight, emits unended items as abandoned (a durable outbox keeps
   * them), and completes the stream; after an error of the source it ends with that error.
   */
  readonly stop?: Observable<unknown>
  /**
   * The maximum number of items in flight; the others wait in the outbox. Default 1,000. Retries take at most
   * half of it; with 1 a due retry goes first.
   */
  readonly maxInFlight?: number
  /** Default the system clock. */
  readonly clock?: Clock
}

/** The operator before the sink of such items, in the words of a compiler's error. */
type NeededFor<S> = [S] extends [BatchPayload<unknown>]
  ? Hint<'put encode() and batch() before deliver'>
  : [S] extends [Payload<unknown>]
    ? Hint<'put encode() before deliver'>
    : [S] extends [ReadonlyArray<unknown>]
      ? Hint<'give deliver the option batch'>
      : never

/** Options of `deliver` for a bulk sink, which takes many items in one delivery. */
export interface BulkDeliverOptions<A> extends DeliverOptions {
  /**
   * Delivers many items at once. Each is stored, retried, ended and dead-lettered by itself: a `Right`
   * delivers all, a `Left` fails all, and a `PartlyFailed` says each by its place. `maxInFlight` counts
   * items; there is room for at least one batch. With 1 batch at a time nothing new starts while a retry
   * waits, which keeps the order if batches fail as a whole.
   */
  readonly batch: BulkOptions<A>
  /** Where items wait. Default: in memory, 100,000 items and 256 MiB. */
  readonly outbox?: Outbox<A>
}

/** Without an outbox `deliver` takes the sink's items; with one, the outbox's; with `batch`, single items. */
export interface Deliver {
  <A>(
    sink: Sink<ReadonlyArray<A>>,
    options: BulkDeliverOptions<A>,
  ): <L, P extends A>(source: EitherSource<L, P>) => Observable<L | Refusal | Outcome<P>>
  <S>(
    sink: Sink<S>,
    options?: DeliverOptions,
  ): <L, P extends S>(source: EitherSource<L, P | NeededFor<S>>) => Observable<L | Refusal | Outcome<P>>
  <P>(
    sink: Sink<P>,
    options: DeliverOptions & { readonly outbox?: Outbox<P> | undefined },
  ): <L>(source: EitherSource<L, P | NeededFor<P>>) => Observable<L | Refusal | Outcome<P>>
}

const shape = {
  name: withDefault(text, 'deliver'),
  retry: withDefault(retryOption, standard),
  stop: optional(guarded('an Observable', isObservable)),
  maxInFlight: withDefault(wholeNumber('items', 1), 1_000),
  onEvent: optional(func<Listener>()),
  clock: withDefault(clockOption, systemClock),
  random: withDefault(func<Random>(), systemRandom),
  outbox: optional(guarded('an Outbox', isOutbox)),
  batch: optional(bulkOptions),
}

/** By outbox: how many delivers were stopped and still put back what they have leased. */
const leaving = new WeakMap<object, number>()
const leavingOf = (outbox: object): number => leaving.get(outbox) ?? 0
/** By outbox and entry, of the items that end here: another deliver may end them. */
const openAnswers = new WeakMap<object, Map<string, SourceAnswer>>()
/** Lefts that a deliver reported: another one may receive them too. */
const reportedLefts = new WeakSet<object>()

const IN_USE =
  'deliver: another part works on this outbox: give each part an outbox of its own, or use ' +
  'one deliver with route({ keyOf, open }) for several sinks'

/** Why an item cannot be counted, if it cannot. */
const sizeFault = <P>(sizeOf: (item: P) => number, item: P): Fault | undefined => {
  const size: unknown = sizeOf(item)
  if (typeof size === 'number' && size >= 0 && size < Infinity) return undefined
  return { path: '', message: `sizeOf must answer a number from 0, got ${kindOf(size)}` }
}

const runRelay = <L, P, D>(
  source: ObservableEither<L, P>,
  sink: Sink<D>,
  outbox: Outbox<P>,
  how: Shape<P, D>,
  sizeOf: ((item: P) => number) | undefined,
  options: Decoded<typeof shape>,
): Observable<L | Refusal | Outcome<P>> =>
  new Observable((subscriber) => {
    const { clock, random, retry, onEvent, name } = options
    const hears = isListening(onEvent === undefined ? {} : { onEvent })
    if (inUse.has(outbox)) return subscriber.error(new Error(IN_USE))
    inUse.set(outbox, constVoid)
    const use = new Subscription(() => inUse.delete(outbox))
    const stopped = new Subject<void>()
    /** It may count entries as waiting whose outcome an earlier deliver is storing. */
    const isAfterAnother = leavingOf(outbox) > 0
    let state: 'open' | 'ended' | 'stopped' = 'open'
    let sourceError: { readonly error: unknown } | undefined
    /** Items for which the outbox has not answered yet. */
    let enqueuing = 0
    const answers = openAnswers.get(outbox) ?? new Map<string, SourceAnswer>()
    openAnswers.set(outbox, answers)
    /** What others add to a shared outbox meanwhile waits for a full batch, or for `maxDelay`. */
    const atEnd = outbox.watch && (options.batch?.maxDelay ?? 0) < Infinity ? 'flush' : 'end'
    const isStopped = (): boolean => state === 'stopped'
    const settled = (id: string, outcome: Outcome<P>): void => {
      if (answers.size === 0) return
      answers.get(id)?.end(outcome, lastFailureOf(outcome))
      answers.delete(id)
    }
    const keep = (entry: Entry<P>, answer: SourceAnswer): void => {
      if (outbox.keeps(entry)) answer.end(STORED)
      else answers.set(entry.id, answer)
    }

    const parts = { sink, outbox, retry, clock, random, name, shape: how }
    const work = relay<P, D>({
      ...parts,
      hears,
      settled,
      isSynchronous: true,
      staysOpen: true,
      // Without a listener of the host: the diagnostics channels and the debug log.
      onEvent: listeners({ logger: false, ...(onEvent && { onEvent }) }),
      ended: (outcome) => subscriber.next(outcome),
    })
    inUse.set(outbox, work.storeChanged)
    const defectIn = (where: string) => (error: unknown) =>
      work.report({ _tag: 'Defect', at: work.now(), from: name, where, error })
    const isOver = work.allEnded()
    const endIfDone = (): void => {
      if (use.closed || state === 'open' || enqueuing > 0) return
      if (state === 'ended') {
        if (leavingOf(outbox) > 0) return
        if (work.hasWorkBefore(Infinity) && isOver()) work.stopStarting()
        if (work.hasWorkBefore(Infinity) || work.running() > 0) return
        const lost = isAfterAnother ? 0 : work.lost()
        if (lost > 0) {
          const why = 'left the outbox without an outcome: it lost them, or could not read them'
          defectIn('outbox')(new ShownError(`${String(lost)} entries ${why}`))
        }
        return stop()
      }
      if (!work.isAborted()) return
      // Before the end, because its subscriber may subscribe again at once.
      use.unsubscribe()
      if (sourceError === undefined) subscriber.complete()
      else subscriber.error(sourceError.error)
    }
    const sourceEnded = (failed?: { readonly error: unknown }): void => {
      // A stop ends the source too. What waits for a batch is not sent then.
      if (isStopped()) return
      state = 'ended'
      sourceError = failed
      if (enqueuing === 0) work.flush(atEnd)
      endIfDone()
    }
    const reportLeft = (end: unknown): void => {
      if (!isRecord(end) || reportedLefts.has(end)) return
      const at = work.now()
      if (isRefusal(end)) work.report({ _tag: 'NotAccepted', at, from: name, refusal: end })
      else if (end['_tag'] === 'Skipped') work.report({ _tag: 'Skipped', at, from: name, item: end['item'] })
      else return
      reportedLefts.add(end)
    }
    const answered = (refusal: Refusal | undefined, answer: SourceAnswer | undefined): void => {
      if (refusal !== undefined) {
        answer?.end(refusal)
        reportLeft(refusal)
        subscriber.next(refusal)
        // The outbox may hold less than a batch.
        if (refusal._tag === 'Full' && how.isBatch) work.flush('flush')
      }
      // After the refusal, because the stream may end here. The last batch waits for all its items.
      if (--enqueuing === 0 && state === 'ended') work.flush(atEnd)
      endIfDone()
    }
    const offer = (item: P, answer: SourceAnswer | undefined): void => {
      enqueuing++
      whenAnswered(
        (): Awaitable<Either<Refusal, unknown>> => {
          const fault = sizeOf && sizeFault(sizeOf, item)
          if (fault !== undefined) return left(invalid(item, [fault]))
          return work.offer(item, answer && ((entry) => keep(entry, answer)))
        },
        (given) => answered(isLeft(given) ? given.left : undefined, answer),
        (error) => answered(notStored(item, messageOf(error)), answer),
      )
    }
    const stop = (): void => {
      if (isStopped() || use.closed) return
      state = 'stopped'
      stopped.next()
      leaving.set(outbox, leavingOf(outbox) + 1)
      work.abort(() => {
        leaving.set(outbox, leavingOf(outbox) - 1)
        // Another one may have begun meanwhile.
        if (use.closed) inUse.get(outbox)?.()
        endIfDone()
      })
    }

    work.changes$.subscribe({ next: endIfDone, error: endIfDone })
    subscriber.add(stop)
    // After `stop`, which does nothing once the stream has ended.
    subscriber.add(use)
    options.stop?.pipe(take(1), takeUntil(stopped)).subscribe({ next: stop, error: defectIn('stop') })
    // `stop` may have a value at once: then the source is not subscribed.
    if (isStopped()) return
    const eithers = source.pipe(tap((each) => assertEither('deliver', each)))
    eithers.pipe(takeUntil(stopped)).subscribe({
      next: (each) => {
        const answer = answerOn(each)
        if (isLeft(each)) {
          answer?.end(each.left)
          if (hears('NotAccepted') || hears('Skipped')) reportLeft(each.left)
          subscriber.next(each.left)
        } else offer(each.right, answer)
      },
      error: (error: unknown) => sourceEnded({ error }),
      complete: () => sourceEnded(),
    })
  })

/**
 * Delivers each item to a sink, retries by a policy, and emits exactly one outcome for each: delivered,
 * rejected, expired or abandoned. An item for which the outbox has no room is emitted at once as a refusal.
 * Lefts pass.
 *
 * When the source completes, the stream goes on until each item has its outcome and nothing runs any more,
 * and completes then; an error of the source is passed on then. Of an outbox that others use too, it waits
 * for what is in it at the end of the source. `stop` ends it early. Unsubscribing does too, and reports
 * abandoned items to `onEvent` only.
 *
 * A message of `acknowledged` is answered at the outcome of its item, or when a durable outbox has stored it.
 *
 * The outbox bounds waiting items (by default 100,000 and 256 MiB). To bound the requests in flight, wrap the
 * sink in `withConcurrency`. A subscriber may send, stop or unsubscribe inside `next`; the results are
 * emitted afterwards.
 *
 * One part works on an outbox at a time: the stream of a second deliver ends with an error that says how to
 * mend it, until the first has completed or is unsubscribed. Without `onEvent` log events go to the
 * diagnostics channels and the debug log (`DEBUG=headrace:*`).
 *
 * @function
 * @throws TypeError for a value that is no sink; ConfigError when an option is wrong or unknown.
 *
 * ```
 * source   --a----b---|
 * sink       a✗ a✓  b✓
 * deliver  ------A--B-|
 * ```
 *
 * @example
 * import { deliver } from 'headrace'
 * import { memory } from 'headrace/sinks/memory'
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
  options: DeliverOptions & {
    readonly outbox?: Outbox<S> | undefined
    readonly batch?: BulkOptions<never>
  } = {},
) => {
  assertSink('deliver', sink)
  const all = checkOptions('options of deliver', strict(shape), options)
  const { batch, maxInFlight } = all
  return <L, P extends S>(from: EitherSource<L, P | NeededFor<S>>): Observable<L | Refusal | Outcome<P>> => {
    // The overloads of `Deliver` allow an outbox only where P is S, and `batch` only where S is a list of P.
    const given = options.outbox as Outbox<P> | undefined
    // No value is a Hint.
    const items$ = from as ObservableEither<L, P>
    if (batch === undefined)
      return defer(() => runRelay(items$, sink, given ?? memoryOutbox<P>(), one(maxInFlight), undefined, all))
    const bulkSink = sink as Sink<unknown> as Sink<ReadonlyArray<P>>
    const sizeOf = (batch.sizeOf ?? byteLengthOf) as (item: P) => number
    const how = lists(batch, maxInFlight, sizeOf)
    const store = (): Outbox<P> => given ?? memoryOutbox<P>({ sizeOf: how.sizeOf })
    return defer(() => runRelay(items$, bulkSink, store(), how, sizeOf, all))
  }
}
