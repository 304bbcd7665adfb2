import { left, right } from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { whenSettled, messageOf } from '../core/awaitable.ts'
import { retryable } from '../core/failure.ts'
import type { Failure, Receipt, Verdict } from '../core/failure.ts'
import { makeSink } from './layer.ts'
import type { Attempt, Sink } from './sink.ts'

/** FNV-1a, 32 bits: tells two queries apart in a name and shows neither. */
const fingerprint = (text: string): string => {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193)
  return (hash >>> 0).toString(16).padStart(8, '0')
}

/** The name of a sink that posts to a URL: the URL up to the query, with a hash of the query if there is one. */
export const nameOf = ({ origin, pathname, search }: URL): string =>
  search === '' ? origin + pathname : `${origin}${pathname}?${fingerprint(search)}`

/** What a handler is given beside its item. */
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
  /** Releases what the handler uses, within `within` milliseconds. Called once. If it rejects, so does the `close` of the sink. */
  readonly close?: (within: number) => PromiseLike<unknown> | undefined
  /** Says what an error means. Without it every error is retryable, as `threw`. */
  readonly failureOf?: (error: unknown) => Failure
}

const tagOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && '_tag' in value ? value._tag : undefined

const FAILURES: ReadonlySet<unknown> = new Set<Failure['_tag']>([
  'Refused',
  'Retryable',
  'AllFailed',
  'NotAll',
  'PartlyFailed',
  'Expired',
])

const isFailure = (value: unknown): value is Failure => FAILURES.has(tagOf(value))

const isReceipt = (value: unknown): value is Receipt =>
  typeof value === 'object' && value !== null && 'sink' in value && typeof value.sink === 'string'

const isLeft = (value: unknown): value is { readonly left: unknown } =>
  tagOf(value) === 'Left' && 'left' in Object(value)

const isRight = (value: unknown): value is { readonly right: unknown } =>
  tagOf(value) === 'Right' && 'right' in Object(value)

/** A class, because a getter in an object literal is made anew for each delivery (0.6 µs). */
class Context implements HandlerContext {
  readonly attempt: Attempt
  #controller: AbortController | undefined
  #aborted = false

  constructor(attempt: Attempt) {
    this.attempt = attempt
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.#aborted) this.#controller.abort()
    return this.#controller.signal
  }

  abort(): void {
    this.#aborted = true
    this.#controller?.abort()
  }
}

/**
 * A sink of your own, from a function.
 *
 * The handler's Promise is the delivery. If it is fulfilled with an `Either`, that is the verdict; with anything else, the item is
 * delivered (beware of `fetch`, which is fulfilled for a 500 too: look at the status). If it rejects, or the handler throws, the
 * item was not delivered: a `Failure` stands for itself, another error is what `failureOf` says, else `Retryable('threw')` with the
 * error's message. Cancelling aborts `signal`, and whatever the Promise does later is ignored.
 *
 * `name` must be unique among siblings and stay the same across restarts: past failures are remembered under it.
 *
 * @example
 * import { bodyOf, sink } from 'headrace'
 * import type { Payload } from 'headrace'
 *
 * const producer = { send: async (text: string, options: { signal: AbortSignal }) => options.signal.aborted || text.length }
 * const kafka = sink('kafka', (payload: Payload<unknown>, { signal }) =>
 *   producer.send(bodyOf(payload, Date.now()), { signal }),
 * )
 */
export const sink = <A>(name: string, handler: Handler<A>, options: SinkOptions = {}): Sink<A> => {
  const delivered: Verdict = right({ sink: name })

  const failed = (error: unknown): Verdict => {
    if (isFailure(error)) return left(error)
    if (options.failureOf !== undefined) return left(options.failureOf(error))
    return left(retryable('threw', { detail: messageOf(error) }))
  }

  const verdictOf = (value: unknown): Verdict => {
    if (isLeft(value)) return failed(value.left)
    if (isRight(value) && isReceipt(value.right)) return right(value.right)
    return delivered
  }

  let closing: Promise<void> | undefined
  return makeSink<A>(
    name,
    (item, attempt, observer) => {
      const context = new Context(attempt)
      let settled = false

      const settle = (judge: (value: unknown) => Verdict, value: unknown): void => {
        settled = true
        let verdict: Verdict
        try {
          verdict = judge(value)
        } catch (defect) {
          observer.error(defect)
          return
        }
        observer.next(verdict)
        observer.complete()
      }
      const rejected = (error: unknown): void => settle(failed, error)

      try {
        const answer = handler(item, context)
        whenSettled<unknown>(
          typeof answer === 'function' ? answer() : answer,
          (value) => settle(verdictOf, value),
          rejected,
        )
      } catch (error) {
        rejected(error)
      }
      return () => {
        if (!settled) context.abort()
      }
    },
    (within) => () => {
      closing ??= (async () => {
        await options.close?.(within)
      })()
      return closing
    },
  )
}
