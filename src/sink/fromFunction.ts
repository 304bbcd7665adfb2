import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { left, right } from '../core/either.ts'
import { whenAnswered } from '../core/awaitable.ts'
import type { Clock } from '../core/clock.ts'
import { isError, isFailure, isVerdict, sinkClosed } from '../core/failure.ts'
import type { Failure, Receipt, Verdict } from '../core/failure.ts'
import { hasFunctions, isRecord, kindOf, type Fields } from '../core/json.ts'
import { UnfitAnswer } from '../core/refusal.ts'
import { checkOptions, func, optional, strict, text, timeLimit, withDefault } from '../core/options.ts'
import { thrown } from '../log/logEvent.ts'
import { answer, makeSink } from './layer.ts'
import { clockOf, nowOf, type Attempt, type Sink } from './sink.ts'
import { statusTable, verdictOf as statusVerdict } from './status.ts'
import { withTimeout } from './timeout.ts'

/** The second parameter of a handler. */
export interface HandlerContext {
  /** Aborted when the delivery is cancelled. Made when it is first read. */
  readonly signal: AbortSignal
  readonly attempt: Attempt
}

/** Delivers one item: with a Promise, with a TaskEither, or at once with an Either. */
export type Handler<in A> = (
  item: A,
  context: HandlerContext,
) => PromiseLike<unknown> | TaskEither<Failure, Receipt> | Verdict

/** Options of `sink`. */
export interface SinkOptions {
  /**
   * Milliseconds for one delivery; then its verdict is `Retryable('timeout')`. Default 30,000; or `Infinity`.
   */
  readonly timeout?: number
  /**
   * Releases the handler's resources, within `timeout` milliseconds. Called once. If it rejects, so does the
   * `close` of the sink.
   */
  readonly close?: (options: { readonly timeout: number }) => PromiseLike<unknown> | undefined
  /** The failure of an error. Without it every error is retryable, as `threw`. */
  readonly failureOf?: (error: unknown) => Failure
}

const sinkOptions = strict({
  timeout: withDefault(timeLimit, 30_000),
  close: optional(func<NonNullable<SinkOptions['close']>>()),
  failureOf: optional(func<NonNullable<SinkOptions['failureOf']>>()),
})

const isStatus = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 100 && value <= 599

/** The status of an answer of any HTTP client; 0 is that of a `Response` without one. */
const statusOf = (answer: Fields): number | undefined => {
  const { status, statusCode, ok } = answer
  if (isStatus(statusCode)) return statusCode
  return isStatus(status) || (status === 0 && ok === false) ? status : undefined
}

/** The value of a header, from a `Headers` or from a record of them. */
const retryAfterOf = (headers: unknown): string | ReadonlyArray<string> | undefined => {
  if (!isRecord(headers)) return undefined
  const { get } = headers
  const value: unknown = typeof get === 'function' ? get.call(headers, 'retry-after') : headers['retry-after']
  return typeof value === 'string' || Array.isArray(value) ? value : undefined
}

/** Bytes of a body that are read, and milliseconds for them, before its stream is destroyed. */
export const MAX_DRAINED = 16_384
const DRAINED_WITHIN = 5_000

/** The used part of a stream of Node. */
interface Stream {
  readonly readableFlowing: unknown
  readonly on: (event: string, hear: (chunk: string | Uint8Array) => void) => Stream
  readonly destroy: () => void
}
const isStream = (value: unknown): value is Stream => hasFunctions(value, ['on', 'pipe', 'destroy'])
const isWebStream = (value: unknown): value is { readonly cancel: () => Promise<void> } =>
  hasFunctions(value, ['cancel', 'getReader'])

/** Drops a body that the host has not begun to read: it would hold its connection. */
const drop = (body: unknown, clock: Clock): void => {
  if (isWebStream(body)) body.cancel().catch(() => undefined)
  if (!isStream(body) || body.readableFlowing !== null) return
  const cancel = clock.schedule(DRAINED_WITHIN, () => body.destroy(), { holds: false })
  let left = MAX_DRAINED
  body
    .on('error', () => undefined)
    .on('close', cancel)
    .on('data', ({ length }) => {
      left -= length
      if (left < 0) body.destroy()
    })
}

const ANSWER = 'to fail, answer left(refused(…)), left(retryable(…)) or left(partlyFailed(…)), or throw'

/** The verdict on a member of a list, or what `Promise.allSettled` gives for one that failed; no row. */
const isOfMember = (value: unknown): boolean => {
  if (!isRecord(value)) return false
  const { _tag, status, reason } = value
  return _tag === 'Left' || _tag === 'Right' || (status === 'rejected' && isError(reason))
}

/** An answer that means failure, or that nothing was done, but is no verdict. */
const isMistake = (value: unknown): boolean => {
  if (value === false || typeof value === 'function' || isFailure(value)) return true
  if (Array.isArray(value)) return value.some(isOfMember)
  if (!isRecord(value) || value['_tag'] !== 'Right') return false
  return isFailure(value['right']) || isOfMember(value['right'])
}

/** A class, because a getter in an object literal is made anew for each delivery (0.6 µs). */
class Context implements HandlerContext {
  readonly attempt: Attempt
  #controller: AbortController | undefined

  constructor(attempt: Attempt) {
    this.attempt = attempt
  }

  get signal(): AbortSignal {
    return (this.#controller ??= new AbortController()).signal
  }

  abort(): void {
    ;(this.#controller ??= new AbortController()).abort()
  }
}

/**
 * A sink of your own, from a function.
 *
 * The handler's Promise is the delivery. If it is fulfilled with an `Either`, that is the verdict; with the
 * answer of an HTTP client, a record with an integer from 100 to 599 in `status` or `statusCode`, its status
 * decides as that of a webhook does; with `false` or a `Failure`, that is a defect of the handler; with
 * anything else, the item is delivered. If it rejects, or the handler throws, the item was not delivered: a
 * `Failure` stands for itself, another error is what `failureOf` says, else `Retryable('threw')` with the
 * error's kind, place and message. Cancelling aborts `signal`; whatever the Promise does later is ignored.
 *
 * After `close` nothing is delivered by a sink that has the option `close`: it answers `Retryable('closed')`.
 *
 * `name` must be unique among siblings and stay the same across restarts: past failures are remembered under
 * it.
 *
 * @example
 * import { bodyOf, sink } from 'headrace'
 * import type { Payload } from 'headrace'
 *
 * const producer = {
 *   send: async (text: string, { signal }: { signal: AbortSignal }) => signal.aborted || text.length,
 * }
 * const kafka = sink('kafka', (payload: Payload<unknown>, { signal }) =>
 *   producer.send(bodyOf(payload, Date.now()), { signal }),
 * )
 */
export const sink = <A>(name: string, handler: Handler<A>, options: SinkOptions = {}): Sink<A> => {
  checkOptions('name of a sink', text, name)
  checkOptions('handler of a sink', func(), handler)
  const { timeout, close, failureOf } = checkOptions('options of a sink', sinkOptions, options)
  const delivered: Verdict = right({ sink: name })

  const failed = (error: unknown): Verdict => {
    if (isFailure(error)) return left(error)
    if (failureOf === undefined) return left(thrown('threw', error))
    const failure: unknown = failureOf(error)
    if (isFailure(failure)) return left(failure)
    throw new UnfitAnswer(`failureOf of the sink ${name} answered ${kindOf(failure)}, and no Failure`)
  }

  const verdictOf = (value: unknown, attempt: Attempt): Verdict => {
    if (isVerdict(value)) return value
    if (isMistake(value)) throw new UnfitAnswer(`the sink ${name} answered ${kindOf(value)}: ${ANSWER}`)
    if (!isRecord(value)) return delivered
    const status = statusOf(value)
    if (status !== undefined) {
      const clock = clockOf(attempt)
      drop(value['body'] ?? value, clock)
      const retryAfter = retryAfterOf(value['headers'])
      return statusVerdict(statusTable, name, { status, retryAfter }, clock.now(), nowOf(attempt))
    }
    if (value['_tag'] !== 'Left') return delivered
    if (isError(value['left'])) return failed(value['left'])
    throw new UnfitAnswer(`the sink ${name} answered a Left of ${kindOf(value['left'])}: ${ANSWER}`)
  }

  const release = async (within: number): Promise<void> => {
    await close?.({ timeout: within })
  }
  let closing: Promise<void> | undefined
  const made = makeSink<A>(
    name,
    (item, attempt, observer) => {
      const context = new Context(attempt)
      let settled = false

      const settle = (judge: (value: unknown, attempt: Attempt) => Verdict) => (value: unknown) => {
        settled = true
        let verdict: Verdict
        try {
          verdict = judge(value, attempt)
        } catch (defect) {
          observer.error(defect)
          return
        }
        answer(observer, verdict)
      }

      if (closing !== undefined && close !== undefined)
        return answer(observer, left(sinkClosed(name, nowOf(attempt))))
      const ask = (): unknown => {
        const asked = handler(item, context)
        return typeof asked === 'function' ? asked() : asked
      }
      whenAnswered(ask, settle(verdictOf), settle(failed))
      return () => {
        if (!settled) context.abort()
      }
    },
    (within) => (closing ??= release(within)),
  )
  return timeout === Infinity ? made : withTimeout({ timeout })(made)
}
