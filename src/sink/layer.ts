/**
 * The way to make sinks. Inside, a delivery is a function as for `new Observable`; an Observable is made only
 * where a host subscribes, because one for each layer costs 12 to 16 % of a request.
 *
 * @module
 */

import { Observable, type Observer } from 'rxjs'
import { constVoid } from '../core/either.ts'
import { perClock, steady, systemClock, type Cancel, type Clock } from '../core/clock.ts'
import { isVerdict, type Verdict } from '../core/failure.ts'
import { kindOf } from '../core/json.ts'
import { CLOSE_TIMEOUT, timeoutOf } from '../core/options.ts'
import { ShownError, UnfitAnswer } from '../core/refusal.ts'
import { clockOf, isSink, nowOf, partOf, type Attempt, type Layer, type Sink } from './sink.ts'

/**
 * Starts a delivery and returns its teardown, which runs once: before the observer gets the end, or at the
 * cancel. The observer may be called before this returns. An error of it is a defect of the delivery.
 */
export type Subscribe<in A> = (item: A, attempt: Attempt, observer: Observer<Verdict>) => Cancel

type DeliverFunction<A> = Sink<A>['deliver']

/** The `Subscribe` of a `deliver` of `makeSink`. By function: a changed copy of a sink has another one. */
const starts = new WeakMap<DeliverFunction<never>, Subscribe<never>>()

/** What reports the attempts of a sink, by its `deliver`: the sink itself, or a sink inside it. */
const reporters = new WeakMap<object, 'itself' | 'inside'>()

/** A sink that reports each of its attempts: nothing around it needs to look. */
export const reporting = <A>(sink: Sink<A>): Sink<A> => {
  reporters.set(sink.deliver, 'itself')
  return sink
}
export const isReporting = ({ deliver }: Sink<never>): boolean => reporters.get(deliver) === 'itself'

/** Whether the sink or one inside it reports its attempts, also those that are cancelled. */
export const tellsCuts = ({ deliver }: Sink<never>): boolean => reporters.has(deliver)

/** The gates around a sink and inside it, by its `deliver`. */
const gatesIn = new WeakMap<object, ReadonlySet<unknown>>()
const addGates = ({ deliver }: Sink<never>, gates: Iterable<unknown>): void => {
  gatesIn.set(deliver, new Set([...(gatesIn.get(deliver) ?? []), ...gates]))
}

/** A sink that delivers by another one. */
export const deliveringBy = <A>(inner: Sink<never>, sink: Sink<A>): Sink<A> => {
  if (tellsCuts(inner)) reporters.set(sink.deliver, 'inside')
  const gates = gatesIn.get(inner.deliver)
  if (gates !== undefined) addGates(sink, gates)
  return sink
}

/** The teardown of something that leaves nothing behind. */
export const nothingToCancel: Cancel = () => undefined

/** Ends a delivery by a defect, and one whose `error` throws by `complete`: no error ends the process. */
const endByDefect = (observer: Observer<Verdict> | undefined, defect: unknown): void => {
  for (const end of ['error', 'complete'] as const)
    try {
      return observer?.[end](defect)
    } catch {
      // An observer that throws at both is left alone.
    }
}

/** Holds one delivery to the contract: one verdict at most, one end, and nothing after end or cancel. */
class HeldDelivery implements Observer<Verdict> {
  /** Undefined when the delivery has ended or is cancelled. */
  private observer: Observer<Verdict> | undefined
  private teardown: Cancel | undefined
  private hasVerdict = false

  constructor(observer: Observer<Verdict>) {
    this.observer = observer
  }

  next(verdict: Verdict): void {
    if (this.hasVerdict) return
    this.hasVerdict = true
    try {
      this.observer?.next(verdict)
    } catch (defect) {
      this.error(defect)
    }
  }

  complete(): void {
    if (!this.hasVerdict) return this.error(new ShownError('the sink completed without a verdict'))
    const observer = this.close()
    try {
      observer?.complete()
    } catch (defect) {
      endByDefect(observer, defect)
    }
  }

  error(defect: unknown): void {
    endByDefect(this.close(), defect)
  }

  /** Takes the teardown; it runs at once if the delivery is over already. */
  add(teardown: Cancel): void {
    if (this.observer === undefined) teardown()
    else this.teardown = teardown
  }

  /** Ends the delivery. Returns the observer, if it has had no end. */
  close(): Observer<Verdict> | undefined {
    const observer = this.observer
    const teardown = this.teardown
    this.observer = undefined
    this.teardown = undefined
    try {
      teardown?.()
    } catch {
      // The verdict is out or not wanted: a clean-up that throws must not stop the clean-up of others.
    }
    return observer
  }
}

const NO_METHODS = 'a layer gave an observer without complete: give next, error and complete, not a spread'

/** Holds the deliveries of a function to the contract. */
const holding =
  <A>(subscribe: Subscribe<A>): Subscribe<A> =>
  (item, attempt, observer) => {
    // A defect of the layer's own delivery, before anything is started.
    if (typeof observer.complete !== 'function') throw new TypeError(NO_METHODS)
    const delivery = new HeldDelivery(observer)
    try {
      delivery.add(subscribe(item, attempt, delivery))
    } catch (defect) {
      delivery.error(defect)
    }
    return () => void delivery.close()
  }

/**
 * A sink from the function that starts its deliveries, and one that closes it within `timeout` milliseconds
 * of a clock. `isHeld`: the function is that of another sink, which holds its deliveries to the contract.
 */
export const makeSink = <A>(
  name: string,
  subscribe: Subscribe<A>,
  close: (timeout: number, clock: Clock) => Promise<void>,
  isHeld = false,
): Sink<A> => {
  const start = isHeld ? subscribe : holding(subscribe)
  const deliver: DeliverFunction<A> = (item, attempt) =>
    new Observable((subscriber) => start(item, attempt, subscriber))
  starts.set(deliver, start)
  return {
    name,
    deliver,
    // A sink has no listener: a wrong timeout is ignored.
    close: async (given) => close(timeoutOf(given, CLOSE_TIMEOUT, constVoid), given?.clock ?? systemClock),
  }
}

/** Ends a delivery at once with a verdict. Nothing was started. */
export const answer = (observer: Observer<Verdict>, verdict: Verdict): Cancel => {
  observer.next(verdict)
  observer.complete()
  return nothingToCancel
}

const VERDICT = 'a sink emits one Either, a Failure on the left or { sink } on the right'

/** Throws a TypeError for a value that is no sink, when a pipeline is assembled. `user` received it. */
export const assertSink = (user: string, value: unknown): void => {
  if (isSink(value)) return
  const way =
    typeof value === 'function'
      ? "wrap a function with sink('name', f), and call what makes a sink or a layer"
      : 'it needs name, deliver and close; await a Promise of one first'
  throw new TypeError(`${user}: expected a sink, got ${kindOf(value)}: ${way}`)
}

/** Starts deliveries of any sink. A `deliver` that is not of `makeSink` is held to the contract. */
export const subscribeTo = <A>(sink: Sink<A>): Subscribe<A> => {
  const { deliver } = sink
  // The entry of this very function: it takes the items that the function takes.
  const start = starts.get(deliver) as Subscribe<A> | undefined
  const subscribe = holding<A>((item, attempt, observer) => {
    const wrong = (it: string): void => observer.error(new UnfitAnswer(`the sink ${sink.name} emitted ${it}`))
    let hasVerdict = false
    const subscription = sink.deliver(item, attempt).subscribe({
      next: (verdict) => {
        if (!isVerdict(verdict)) wrong(`no verdict: ${VERDICT}`)
        else if (hasVerdict) wrong('two verdicts for one delivery')
        else observer.next(verdict)
        hasVerdict = true
      },
      complete: () => observer.complete(),
      error: (defect: unknown) => observer.error(defect),
    })
    return () => subscription.unsubscribe()
  })
  if (start === undefined) return subscribe
  // A host may put another function into its place at any time: a decorator, a spy.
  return (item, attempt, observer) => (sink.deliver === deliver ? start : subscribe)(item, attempt, observer)
}

/** An observer with another `next`. A class: one for each delivery, and three closures cost more. */
export class WithNext implements Observer<Verdict> {
  readonly next: (verdict: Verdict) => void
  hasFailed = false
  private readonly observer: Observer<Verdict>

  constructor(observer: Observer<Verdict>, next: (verdict: Verdict) => void) {
    this.observer = observer
    this.next = next
  }

  complete(): void {
    this.observer.complete()
  }

  error(defect: unknown): void {
    this.hasFailed = true
    this.observer.error(defect)
  }
}

/**
 * A sink around another one, with its name and its `close`. `wrap` is called once for each clock, with the
 * way to start deliveries inside: its state belongs to the deliveries on that clock.
 *
 * `headers` of the attempt are added to the request of `webhook` and `ingestion`. Those that it has already,
 * reserved ones and values that are no visible ASCII are left out, with a `Defect`.
 *
 * @throws TypeError for a value that is no sink.
 *
 * @example
 * import { makeLayer, sink, type Layer } from 'headrace'
 *
 * const withRegion: Layer = (inner) =>
 *   makeLayer(inner, (subscribe) => (item, attempt, observer) =>
 *     subscribe(item, { ...attempt, headers: { ...attempt.headers, 'X-Region': 'eu' } }, observer))
 * console.log(withRegion(sink('crm', async () => 'done')).name) // => crm
 */
export const makeLayer = <A, B = A>(
  sink: Sink<A>,
  wrap: (subscribe: Subscribe<A>, clock: Clock) => Subscribe<B>,
): Sink<B> => {
  assertSink('a layer', sink)
  const subscribe = subscribeTo(sink)
  const startOn = perClock((clock) => wrap(subscribe, clock))
  const made = makeSink<B>(
    sink.name,
    (item, attempt, observer) => startOn(clockOf(attempt))(item, attempt, observer),
    (timeout, clock) => sink.close({ timeout, clock }),
  )
  return deliveringBy(sink, made)
}

/** A sink that starts nothing while there is a `why` instead: a layer may hold deliveries until then. */
export const stoppable = <A>(sink: Sink<A>, why: () => Verdict | undefined): Sink<A> =>
  makeLayer(sink, (subscribe) => (item, attempt, observer) => {
    const held = why()
    return held === undefined ? subscribe(item, attempt, observer) : answer(observer, held)
  })

/** Holds deliveries back, on one clock. */
interface Gate {
  /** The verdict of a delivery that is not started. */
  readonly holdBack: () => Verdict | undefined
  /** Receives every other verdict before it is passed on: its observer may start another delivery. */
  readonly learn?: (verdict: Verdict, attempt: Attempt) => void
}

/** A gate holds the item back until a moment: a closed destination names none. */
const reportHeld = (sink: string, item: unknown, attempt: Attempt, held: Verdict): void => {
  const { number, report } = attempt
  if (report === undefined || held._tag === 'Right' || held.left._tag !== 'Retryable') return
  const { notBefore: until, gate: because = 'Retry-After' } = held.left
  if (until === undefined) return
  report({ _tag: 'Held', at: nowOf(attempt), from: partOf(attempt), item, sink, number, until, because })
}

/** A layer that may hold deliveries back. The sinks that it is put around share its gate. */
export const gateLayer = (open: (now: () => number) => Gate): Layer => {
  const gateOf = perClock((clock) => open(steady(clock)))
  return (sink) => {
    const made = makeLayer(sink, (subscribe, clock) => {
      const { holdBack, learn } = gateOf(clock)
      return (item, attempt, observer) => {
        const held = holdBack()
        if (held !== undefined) {
          reportHeld(sink.name, item, attempt, held)
          return answer(observer, held)
        }
        if (learn === undefined) return subscribe(item, attempt, observer)
        const onVerdict = (verdict: Verdict): void => {
          learn(verdict, attempt)
          observer.next(verdict)
        }
        return subscribe(item, attempt, new WithNext(observer, onVerdict))
      }
    })
    // The inner gate would hold back each delivery that the outer one starts, without end.
    if (gatesIn.get(sink.deliver)?.has(gateOf))
      throw new TypeError(
        `the sink ${sink.name} has this very gate already: make one more, by withX(options)`,
      )
    addGates(made, [gateOf])
    return made
  }
}

/**
 * A sink for other items: `f` translates each on its way in. If `f` throws, that delivery is a defect.
 *
 * @example
 * import { contramap, sink } from 'headrace'
 *
 * const lines = sink('lines', async (line: string) => console.log(line))
 * const numbers = contramap((n: number) => `number ${n}`)(lines)
 */
export const contramap =
  <A, B>(f: (item: B) => A) =>
  (sink: Sink<A>): Sink<B> =>
    makeLayer<A, B>(sink, (subscribe) => (item, attempt, observer) => subscribe(f(item), attempt, observer))
