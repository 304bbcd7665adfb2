/** `headrace/sources/acknowledged`: messages of a broker, each answered once. @module */
import { concatMap, defer, Observable, Subject, Subscription, type OperatorFunction } from 'rxjs'
import { constVoid, right, type Either } from '../core/either.ts'
import { whenAnswered } from '../core/awaitable.ts'
import { verbOf, withAnswer } from '../core/carry.ts'
import { systemClock, type Cancel, type Clock } from '../core/clock.ts'
import { checkOptions, clockOption, func } from '../core/options.ts'
import { optional, strict, timeLimit, wholeNumber, withDefault } from '../core/options.ts'
import { abandoned, type Abandoned } from '../core/outcome.ts'
import { threw, type Closed, type Disabled, type Full, type NotStored } from '../core/refusal.ts'
import { callSafely, listeners } from '../log/listeners.ts'
import type { Listener } from '../log/logEvent.ts'
import { pull } from './pull.ts'

/**
 * How a broker is answered. The functions may answer promises. Their errors are a `Defect` and end nothing:
 * the broker then sends the message again.
 */
export interface Answers<M, T> {
  /** The item of a message. If it throws, the message is rejected, or put back if there is no `reject`. */
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
  /** Asks the broker for more time, each `extendEvery` while the message is not answered. */
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

const answersOptions = strict({
  item: func(),
  ack: func(),
  nak: func(),
  reject: optional(func()),
  extend: optional(func()),
  extendEvery: withDefault(timeLimit, 10_000),
  lost: optional(func()),
  window: withDefault(wholeNumber('messages', 1), 1_000),
  onEvent: optional(func<Listener>()),
  clock: withDefault(clockOption, systemClock),
})

/** A message that is not answered. */
interface Open<M> {
  readonly message: M
  item?: unknown
  cancelExtend?: Cancel
}

const UNANSWERED =
  'were answered by no operator: the pipeline was stopped, or an operator lost them: use mapRight for ' +
  'map(E.map(f)), flatMapRight for E.chain, filterRight for filter, splitRight for mergeMap, enrich for ' +
  'a promise, validateRight for validate'

/**
 * Feeds a pipeline with the messages of a broker, and answers each message once: when everything that was
 * made of it has ended or, with a durable outbox, is stored. Of several parts (`splitRight`) the worst end
 * counts: `nak` before `reject` before `ack`. In a batch each message has its own end.
 *
 * The answer rides on the `Either`, unseen. The operators of headrace carry it; so does an operator of RxJS
 * that passes the same `Either`, once. If one is lost, its message is put back at the end, with a `Defect`.
 *
 * At most `window` messages are read and not answered: it must hold a batch. If it is used up and none is
 * answered for 10 s, there is a `Defect`. The result ends after the last answer, also if the pipeline ends
 * first. Unsubscribing puts back what is not answered, and calls the source's `return`.
 *
 * @throws ConfigError if an option is missing, wrong or unknown.
 *
 * @example
 * import { deliver, mapRight } from 'headrace'
 * import { memory } from 'headrace/sinks/memory'
 * import { acknowledged } from 'headrace/sources/acknowledged'
 *
 * const ack = (message: string) => console.log('ack', message)
 * const nak = (message: string) => console.log('nak', message)
 * acknowledged(['1', 'x'], { item: (message) => message, ack, nak }, (items$) =>
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
  const checked = checkOptions('options of acknowledged', answersOptions, answers)
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
        const mark = () => ({ at: clock.now(), from: 'acknowledged' })
        const report = listeners({ logger: false, ...(onEvent && { onEvent }) })
        const defect = (where: string, error: unknown): void =>
          report({ _tag: 'Defect', ...mark(), where: `acknowledged: ${where}`, error })

        const settled = (): void => {
          unsettled--
          if (finish === undefined) subscriber.next(undefined)
          else if (unsettled === 0) finish()
        }
        const answer = (one: Open<M>, ended: unknown): void => {
          if (!open.delete(one)) return
          one.cancelExtend?.()
          unsettled++
          const verb = verbOf(ended)
          const call = (): unknown => lost?.(one.message) === true || calls[verb](one.message, ended)
          whenAnswered(call, settled, (error) => {
            defect(verb, error)
            settled()
          })
        }
        const putBack = (one: Open<M>): void => answer(one, abandoned(one.item, 0, undefined))
        const putAllBack = (): void => open.forEach(putBack)
        const extendLater = (one: Open<M>): void => {
          if (extend === undefined) return
          one.cancelExtend = clock.schedule(extendEvery, () => {
            extendLater(one)
            const ask = ({ message }: Open<M>) => (lost?.(message) === true ? putBack(one) : extend(message))
            callSafely(ask, one, (error) => defect('extend', error))
          })
        }
        receive = (message) => {
          const one: Open<M> = { message }
          open.add(one)
          let item: T
          try {
            one.item = item = itemOf(message)
          } catch (error) {
            defect('item', error)
            return reject === undefined ? putBack(one) : answer(one, threw(message, 'acknowledged', error))
          }
          if (subscriber.closed || finish !== undefined) return putBack(one)
          extendLater(one)
          items.next(withAnswer(right(item), { end: (ended) => answer(one, ended) }))
        }
        const sourceEnded = (): void => {
          hasEnded = true
          items.complete()
        }
        const reading = new Subscription()
        const endAfterAnswers = (end: () => void): void => {
          reading.unsubscribe()
          putAllBack()
          finish = end
          if (unsettled === 0) end()
        }

        subscriber.add(
          items.pipe(pipeline).subscribe({
            next: (output) => subscriber.next({ output }),
            error: (error: unknown) => endAfterAnswers(() => subscriber.error(error)),
            complete: () => {
              const lost = `${String(open.size)} messages ${UNANSWERED}`
              if (hasEnded && open.size > 0) defect('pipeline', new Error(lost))
              endAfterAnswers(() => subscriber.complete())
            },
          }),
        )
        subscriber.add(putAllBack)
        // Not through the pipeline: it may unsubscribe before it completes, and messages still come.
        reading.add(messages$.subscribe({ next: receive, error: constVoid, complete: sourceEnded }))
        subscriber.add(reading)
      })
    return pull(messages, answering, {
      window,
      clock,
      creditOf: (output) => (output === undefined ? 1 : 0),
      // The only item that `pull` ends is a message that came after the pipeline had ended.
      onEvent: (event) => (event._tag === 'Ended' ? receive(event.outcome.item as M) : onEvent?.(event)),
    }).pipe(concatMap((each) => (each === undefined ? [] : [each.output])))
  })
}
