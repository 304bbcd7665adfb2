/** `headrace/sources/acknowledged`: messages of a broker, each answered once. @module */
import { concatMap, defer, Observable, Subject, Subscription, type OperatorFunction } from 'rxjs'
import { constVoid, right, type Either } from '../core/either.ts'
import { isPromiseLike, whenAnswered } from '../core/awaitable.ts'
import { verbOf, withAnswer } from '../core/carry.ts'
import { systemClock, type Cancel, type Clock } from '../core/clock.ts'
import * as option from '../core/options.ts'
import { abandoned, notEither, notPromise, type Abandoned } from '../core/outcome.ts'
import { ShownError, threw, type Closed, type Disabled, type Full, type NotStored } from '../core/refusal.ts'
import { listeners } from '../log/listeners.ts'
import type { Listener } from '../log/logEvent.ts'
import { pull } from './pull.ts'
import { watchdog } from './watchdog.ts'

/**
 * How a broker is answered. The functions may answer promises. Their errors are a `Defect` and end nothing:
 * the broker then sends the message again.
 */
export interface Answers<M, T> {
  /**
   * The item of a message: no promise of it, and no `Either`. If it throws or answers such, the message is
   * rejected, or put back if there is no `reject`, with a `Defect`.
   */
  readonly item: (message: M) => T
  /** Everything of the message is delivered, skipped, or stored by a durable outbox. */
  readonly ack: (message: M) => unknown
  /** The message is to come again: something of it was not accepted, or was abandoned. */
  readonly nak: (message: M, why: Full | Closed | Disabled | NotStored | Abandoned<unknown>) => unknown
  /**
   * The message is not to come again: something of it was refused, rejected, expired or dropped, threw, or
   * ended as a left of yours. Default `ack`: the end comes out of the stream in any case.
   */
  readonly reject?: (message: M, ended: unknown) => unknown
  /**
   * Asks the broker for more time, each `extendEvery` until the promise of the answer settles. While a call
   * is pending there is no other one for its message.
   */
  readonly extend?: (message: M) => unknown
  /** Milliseconds. Default 10,000. */
  readonly extendEvery?: number
  /**
   * Whether the message is another consumer's by now: its partition was revoked, or its lease is over. Asked
   * before each answer and `extend`; then the message is forgotten. Its item goes on.
   */
  readonly lost?: (message: M) => boolean
  /** The maximum number of messages that are not answered. Default 1,000. */
  readonly window?: number
  /** Receives each `Defect`; so does the debug log (`DEBUG=headrace:*`). */
  readonly onEvent?: Listener
  readonly clock?: Clock
}

const answersOptions = option.strict({
  item: option.func(),
  ack: option.func(),
  nak: option.func(),
  reject: option.optional(option.func()),
  extend: option.optional(option.func()),
  extendEvery: option.withDefault(option.timeLimit, 10_000),
  lost: option.optional(option.func()),
  window: option.withDefault(option.wholeNumber('messages', 1), 1_000),
  onEvent: option.optional(option.func<Listener>()),
  clock: option.withDefault(option.clockOption, systemClock),
})

/** A message whose answer has not settled. */
interface Open<M> {
  readonly message: M
  item?: unknown
  isAnswered?: boolean
  isExtending?: boolean
  cancelExtend?: Cancel
}

const LOST =
  'the pipeline has no deliver at its end, or an operator loses the answers: use mapRight for ' +
  'map(E.map(f)), flatMapRight for E.chain, filterRight for filter, splitRight for mergeMap, enrich for ' +
  'a promise, validateRight for validate'

const noAnswerFor = (unanswered: number, unsettled: number): string =>
  `no message was answered for 10 s; ${String(unsettled)} calls of ack, nak or reject have not settled, ` +
  `${String(unanswered)} messages wait for such a call: an answer hangs, the sink is slow or down, ${LOST}`

/**
 * Feeds a pipeline with the messages of a broker, and answers each message once: when everything that was
 * made of it has ended or, with a durable outbox, is stored. Of several parts (`splitRight`) the worst end
 * counts: `nak` before `reject` before `ack`. In a batch each message has its own end.
 *
 * The answer rides on the `Either`, unseen. The operators of headrace carry it; so does an operator of RxJS
 * that passes the same `Either`, once. If one is lost, its message is put back at the end, with a `Defect`.
 *
 * At most `window` messages are read and not answered: it must hold a batch. If none is answered for 10 s
 * while it is used up, or while an answer does not settle, there is a `Defect`. The result ends after the
 * last answer, also if the pipeline ends first. Unsubscribing puts back what is not answered, and calls the
 * source's `return`.
 *
 * @throws ConfigError if an option is missing, wrong or unknown, or the pipeline is no function.
 *
 * @example
 * import { deliver, mapRight } from 'headrace'
 * import { memory } from 'headrace/sinks/memory'
 * import { acknowledged } from 'headrace/sources/acknowledged'
 *
 * const ack = (message: string) => console.log('ack', message)
 * acknowledged(['1', 'x'], { item: (message) => message, ack, nak: console.error }, (items$) =>
 *   items$.pipe(mapRight((text): unknown => JSON.parse(text)), deliver(memory())),
 * ).subscribe((ended) => console.log(ended._tag))
 * // => ack 1
 * // => Delivered
 * // => ack x
 * // => Threw
 */
export const acknowledged = <M, T, R>(
  messages: AsyncIterable<M> | Iterable<M>,
  answers: Answers<M, T>,
  pipeline: OperatorFunction<Either<never, T>, R>,
): Observable<R> => {
  const checked = option.checkOptions('options of acknowledged', answersOptions, answers)
  option.checkOptions('pipeline of acknowledged', option.func(), pipeline)
  const { window, extendEvery, onEvent, clock } = checked
  const { item: itemOf, ack, nak, reject, extend, lost } = answers
  // `nak` gets the ends that `verbOf` says it for.
  const calls = { ack, reject: reject ?? ack, nak: nak as (message: M, ended: unknown) => unknown }

  return defer(() => {
    let receive: (message: M) => void
    const answering = (messages$: Observable<M>) =>
      new Observable<{ readonly output: R } | undefined>((subscriber) => {
        const items = new Subject<Either<never, T>>()
        const open = new Set<Open<M>>()
        /** Answers whose promise is not settled. */
        let unsettled = 0
        let hasEnded = false
        let finish: (() => void) | undefined
        const report = listeners({ logger: false, ...(onEvent && { onEvent }) })
        const defect = (where: string, error: unknown): void => {
          const place = { at: clock.now(), from: 'acknowledged', where: `acknowledged: ${where}` }
          report({ _tag: 'Defect', ...place, error })
        }

        const ask = (where: string, call: () => unknown, use: () => void): void => {
          // A thenable of the host may throw: a promise of it rejects.
          const settling = (): unknown => {
            const answer = call()
            return isPromiseLike(answer) ? Promise.resolve(answer) : answer
          }
          whenAnswered(settling, use, (error) => {
            defect(where, error)
            use()
          })
        }

        const isStuck = () => !subscriber.closed && (unsettled > 0 || open.size >= window)
        const tell = () => defect('standstill', new ShownError(noAnswerFor(open.size - unsettled, unsettled)))
        const waiting = watchdog(clock, isStuck, tell)
        const settled = (one: Open<M>): void => {
          open.delete(one)
          one.cancelExtend?.()
          unsettled--
          if (finish === undefined) subscriber.next(undefined)
          else if (open.size === 0) finish()
          waiting.moved()
        }
        const answer = (one: Open<M>, ended: unknown): void => {
          if (one.isAnswered === true) return
          one.isAnswered = true
          unsettled++
          const verb = verbOf(ended)
          const call = (): unknown => lost?.(one.message) === true || calls[verb](one.message, ended)
          ask(verb, call, () => settled(one))
          if (open.has(one)) waiting.moved()
        }
        const putBack = (one: Open<M>): void => answer(one, abandoned(one.item, 0, undefined))
        const extendLater = (one: Open<M>): void => {
          if (extend === undefined || subscriber.closed) return
          one.cancelExtend = clock.schedule(extendEvery, () => {
            extendLater(one)
            if (one.isExtending === true) return
            one.isExtending = true
            const call = () => (lost?.(one.message) === true ? putBack(one) : extend(one.message))
            ask('extend', call, () => (one.isExtending = false))
          })
        }
        receive = (message) => {
          const one: Open<M> = { message }
          open.add(one)
          extendLater(one)
          if (open.size >= window) waiting.moved()
          let item: T
          try {
            item = notEither(notPromise(itemOf(message)))
            one.item = item
          } catch (error) {
            defect('item', error)
            return reject === undefined ? putBack(one) : answer(one, threw(message, 'acknowledged', error))
          }
          if (subscriber.closed || finish !== undefined) return putBack(one)
          items.next(withAnswer(right(item), { end: (ended) => answer(one, ended) }))
        }
        const sourceEnded = (): void => {
          hasEnded = true
          items.complete()
        }
        const reading = new Subscription()
        const endAfterAnswers = (end: () => void): void => {
          reading.unsubscribe()
          open.forEach(putBack)
          finish = end
          if (open.size === 0) end()
        }

        subscriber.add(
          items.pipe(pipeline).subscribe({
            next: (output) => subscriber.next({ output }),
            error: (error: unknown) => endAfterAnswers(() => subscriber.error(error)),
            complete: () => {
              const count = open.size - unsettled
              const why = `${String(count)} messages were answered by no operator: it was stopped, ${LOST}`
              if (hasEnded && count > 0) defect('pipeline', new ShownError(why))
              endAfterAnswers(() => subscriber.complete())
            },
          }),
        )
        subscriber.add(() => {
          waiting.stop()
          for (const one of open) {
            putBack(one)
            one.cancelExtend?.()
          }
        })
        // Not through the pipeline: it may unsubscribe before it completes, and messages still come.
        reading.add(messages$.subscribe({ next: receive, error: constVoid, complete: sourceEnded }))
        subscriber.add(reading)
      })
    return pull(messages, answering, {
      window,
      // No timer: the standstill of `pull` has other words.
      clock: { now: () => clock.now(), monotonic: () => 0, schedule: () => constVoid },
      creditOf: (output) => (output === undefined ? 1 : 0),
      // The only item that `pull` ends is a message that came after the pipeline had ended.
      onEvent: (event) => (event._tag === 'Ended' ? receive(event.outcome.item as M) : onEvent?.(event)),
    }).pipe(concatMap((each) => (each === undefined ? [] : [each.output])))
  })
}
