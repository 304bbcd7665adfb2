/** The listeners, streams and close of a part that a host holds. */
import { Observable, Subject } from 'rxjs'
import type { Observer, OperatorFunction, Subscriber, Subscription } from 'rxjs'
import { inTime, steady, type Clock } from '../core/clock.ts'
import { constVoid, left, type Either } from '../core/either.ts'
import { hasFunctions } from '../core/json.ts'
import { serialQueue } from '../core/queue.ts'
import type { Refusal } from '../core/refusal.ts'
import { callSafely, isListening, listeners, type Listening } from './listeners.ts'
import type { Listener, LogEvent } from './logEvent.ts'

/** What a destination and a client tell of themselves. @inline */
export interface HostedPart {
  /** The option `name`, which its log events have as `from`. */
  readonly name: string
  /** Each refused call, with the reason. Hot, like `outcomes$`: for calls whose answers are not read. */
  readonly refusals$: Observable<Refusal>
  /**
   * Each log event, as `onEvent` gets it. Hot, like `outcomes$`: without a subscriber nothing is made for it.
   * An error of a subscriber is logged as a `Defect`, which `events$` leaves out.
   */
  readonly events$: Observable<LogEvent>
}

/** Receives the error of a subscriber, or the rejection of its promise. */
export type OnError = (error: unknown) => void

/**
 * A stream whose subscribers cannot end the process. RxJS throws a subscriber's error from a timer, which
 * would end the process with every event in memory. No operator can catch it, so `subscribe` wraps each
 * subscriber, and `pipe` returns a stream of the same kind.
 */
export const guardedStream = <T>(inner: Observable<T>, report: OnError): Observable<T> => {
  const subscribe = (
    first?: Partial<Observer<T>> | ((value: T) => void) | null,
    error?: ((error: unknown) => void) | null,
    complete?: (() => void) | null,
  ): Subscription => {
    // A Subscriber is RxJS's own, of any copy: an operator, or `firstValueFrom`.
    const isSubscriber: boolean = hasFunctions(first, ['add', 'unsubscribe'])
    if (isSubscriber) return inner.subscribe(first as Subscriber<T>)
    const given = typeof first === 'function' ? { next: first, error, complete } : (first ?? {})
    const next = (value: T): unknown => given.next?.(value)
    return inner.subscribe({
      next: (value) => callSafely(next, value, report),
      error: (fault: unknown) => callSafely((each: unknown) => (given.error ?? report)(each), fault, report),
      complete: () => callSafely(() => given.complete?.(), undefined, report),
    })
  }

  const pipe = (...operators: ReadonlyArray<OperatorFunction<never, unknown>>): Observable<never> => {
    // The types of `pipe` match each operator to the output of the one before it.
    const through = (before: Observable<unknown>, operator: OperatorFunction<never, unknown>) =>
      operator(before as Observable<never>)
    return guardedStream(operators.reduce<Observable<unknown>>(through, inner) as Observable<never>, report)
  }

  return Object.assign(new Observable<T>(), { subscribe, pipe })
}

/**
 * A hot stream: it flows with and without subscribers. Every subscriber gets every value in the same order,
 * also a value that a subscriber causes. Errors of a subscriber go to `report`.
 */
export const safeSubject = <T>(report: OnError) => {
  const subject = new Subject<T>()
  const order = serialQueue()
  const emit = (value: T): void => subject.next(value)
  return {
    next: (value: T): void => {
      // Skips `next` without subscribers: RxJS copies its list of observers all the same (measured).
      if (subject.observed || order.busy()) order.take(emit, value)
    },
    complete: (): void => order.take(() => subject.complete(), undefined),
    observed: (): boolean => subject.observed,
    values$: guardedStream(subject, report),
  }
}

const AT_EVENTS = 'a subscriber of events$'

/** Calls whose unknown keys are always looked for, which costs time: a misspelt one is then in the log. */
const FIRST_CALLS = 100

/** The listeners of a destination, client or collector, its streams for the host, and its one close. */
export const lifecycle = <Closing>(clock: Clock, from: string, options: Listening, ...own: Listener[]) => {
  const now = steady(clock)
  // Without the errors of its own subscribers, or there could be no end of them.
  const toStream: Listener = (event) => {
    for (const each of own) each(event)
    if (event._tag !== 'Defect' || event.where !== AT_EVENTS) events.next(event)
  }
  const onEvent = listeners(options, toStream)
  const isHeard = isListening(options)
  let unchecked = FIRST_CALLS
  let closing: Promise<Closing> | undefined

  /** Reports an error of something that should not fail. */
  const defectIn = (where: string) => (error: unknown) =>
    onEvent({ _tag: 'Defect', at: now(), from, where, error })
  const events = safeSubject<LogEvent>(defectIn(AT_EVENTS))
  const streams: Array<{ readonly complete: () => void }> = [events]
  const stream = <T>(name: string) => {
    const made = safeSubject<T>(defectIn(`a subscriber of ${name}`))
    streams.push(made)
    return made
  }
  const refusals = stream<Refusal>('refusals$')
  const tellRefusal = (refusal: Refusal): void => {
    onEvent({ _tag: 'NotAccepted', at: now(), from, refusal })
    refusals.next(refusal)
  }

  const shutDown = async (task: () => Promise<Closing>): Promise<Closing> => {
    // A turn later, so that a close inside a callback of the close gets the same promise.
    const result = await Promise.resolve().then(task)
    for (const stream of streams) stream.complete()
    return result
  }

  /** Whether anything listens to events of a kind. To attempts the logger and the counts of a part do. */
  const hears = (tag: LogEvent['_tag']): boolean => tag === 'Attempted' || events.observed() || isHeard(tag)

  return {
    now,
    onEvent,
    hears,
    /** Whether unknown keys of the next call are of interest. */
    hearsKeys: (): boolean => unchecked-- > 0 || hears('UnknownKeys'),
    /** Tells the keys that a call lost. */
    onKeys: (keys: ReadonlyArray<string>) => onEvent({ _tag: 'UnknownKeys', at: now(), from, keys }),
    /** For the host. The streams complete after the close. */
    hosted: { name: from, refusals$: refusals.values$, events$: events.values$ } satisfies HostedPart,
    defectIn,
    /** A hot stream. It completes after the close. */
    stream,
    /** Tells a refusal, and answers it. Never throws: the stack of the caller may be near its end. */
    refuse: (refusal: Refusal): Either<Refusal, never> => {
      callSafely(tellRefusal, refusal, constVoid)
      return left(refusal)
    },
    /** Closes a thing that the part uses, in time. An error is reported. */
    closeInTime: (what: string, within: number, task: () => Promise<void>): Promise<void> =>
      inTime(clock, within, task).catch(defectIn(`the close of the ${what}`)),
    isClosing: (): boolean => closing !== undefined,
    /** Runs the task of the first call. All calls get its promise. */
    close: (task: () => Promise<Closing>): Promise<Closing> => (closing ??= shutDown(task)),
  }
}
