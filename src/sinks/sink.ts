import { left, right } from 'fp-ts/lib/Either.js'
import type { TaskEither } from 'fp-ts/lib/TaskEither.js'
import { whenSettled } from '../internal/Awaitable.ts'
import { messageOf } from '../internal/messageOf.ts'
import { type Failure, retryable } from '../outcome/Failure.ts'
import type { Receipt } from '../outcome/Receipt.ts'
import type { Verdict } from '../outcome/Verdict.ts'
import { fromRun, type Receiver, type Run } from '../sink/Run.ts'
import type { Attempt, Sink } from '../sink/Sink.ts'

/** What a handler is given beside its item. */
export interface HandlerContext {
  /** Aborted when the delivery is cancelled. Made when it is first read, so a handler that does not ask does not pay. */
  readonly signal: AbortSignal
  readonly attempt: Attempt
}

/** Delivers one item: with a Promise, with a TaskEither, or on the spot with an Either. */
export type Handler<in A> = (
  item: A,
  context: HandlerContext,
) => PromiseLike<unknown> | TaskEither<Failure, Receipt> | Verdict

/** What a sink may have beside its handler. */
export interface SinkOptions {
  /** Lets go of what the handler uses, within so many milliseconds. Called once. A rejection is a defect, and reaches who closes. */
  readonly close?: (within: number) => PromiseLike<unknown> | undefined
  /** Says what an error means. Without it every error is retryable, as `threw`. */
  readonly failureOf?: (error: unknown) => Failure
}

const tagOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null && '_tag' in value ? value._tag : undefined

const FAILURES: ReadonlySet<unknown> = new Set<Failure['_tag']>([
  'Refused',
  'Retryable',
  'EachOf',
  'SomeOf',
  'Expired',
])

const isFailure = (value: unknown): value is Failure => FAILURES.has(tagOf(value))

const isReceipt = (value: unknown): value is Receipt =>
  typeof value === 'object' && value !== null && 'sink' in value && typeof value.sink === 'string'

const isLeft = (value: unknown): value is { readonly left: unknown } =>
  tagOf(value) === 'Left' && 'left' in Object(value)

const isRight = (value: unknown): value is { readonly right: unknown } =>
  tagOf(value) === 'Right' && 'right' in Object(value)

/**
 * A sink of your own, from a function.
 *
 * The handler's Promise is the delivery. If it is fulfilled with an `Either`, that is the verdict; with anything else, the item is
 * delivered (beware of `fetch`, which is fulfilled for a 500 too: look at the status). If it rejects, or the handler throws, the
 * item was not delivered: a `Failure` stands for itself, another error is what `failureOf` says, else `Retryable('threw')` with the
 * error's message. Cancelling aborts `signal`, and whatever the Promise does later is ignored.
 *
 * `name` must be unique among siblings and stay the same across restarts: past causes are remembered under it.
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

  const run: Run<A> = (item, attempt, receiver) => {
    let to: Receiver | undefined = receiver
    /** The handler is done: there is nothing left to abort, even if its receiver cancels now. */
    let settled = false
    let cancelled = false
    let controller: AbortController | undefined

    const context: HandlerContext = {
      attempt,
      get signal(): AbortSignal {
        controller ??= new AbortController()
        if (cancelled) controller.abort()
        return controller.signal
      },
    }

    const complete = (): void => {
      const told = to
      to = undefined
      told?.complete()
    }

    const end = (judge: (value: unknown) => Verdict, value: unknown): void => {
      let verdict: Verdict
      try {
        verdict = judge(value)
      } catch (defect) {
        const told = to
        to = undefined
        told?.error(defect)
        return
      }
      to?.next(verdict)
      complete()
    }

    const fulfilled = (value: unknown): void => {
      settled = true
      if (to !== undefined) end(verdictOf, value)
    }
    const rejected = (error: unknown): void => {
      settled = true
      if (to !== undefined) end(failed, error)
    }

    try {
      const answer = handler(item, context)
      whenSettled<unknown>(typeof answer === 'function' ? answer() : answer, fulfilled, rejected)
    } catch (error) {
      rejected(error)
    }

    return () => {
      to = undefined
      if (settled) return
      cancelled = true
      controller?.abort()
    }
  }

  let closing: Promise<void> | undefined
  return fromRun(name, run, (within) => () => {
    closing ??= (async () => {
      await options.close?.(within)
    })()
    return closing
  })
}
