import { left } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { map } from 'rxjs'
import { assertEither } from '../core/outcome.ts'
import type { ObservableEither } from '../core/outcome.ts'
import { invalid } from '../core/refusal.ts'
import type { Refusal } from '../core/refusal.ts'
import { bodyBytes } from '../event/limits.ts'
import { encodePayload, newId } from '../event/payload.ts'
import type { EventPayload } from '../event/payload.ts'

/** Options of `encode`. */
export interface EncodeOptions<in A> {
  /** The maximum size of a body in bytes of UTF-8 JSON. Default 64,000. */
  readonly limit?: number
  /** The payload's id. Default: the item's own `messageId`, else a random UUID. */
  readonly idOf?: (item: A) => string
}

const messageIdOf = (item: unknown): string =>
  typeof item === 'object' && item !== null && 'messageId' in item && typeof item.messageId === 'string'
    ? item.messageId
    : newId()

const THREW = [{ path: '', message: 'could not be encoded: toBody or idOf throws an error' }]

/**
 * Encodes each item once: the same text is measured, stored, signed, sent and retried. An item whose body is no JSON becomes
 * `Invalid`, a body with too many bytes becomes `TooLarge`. An error thrown by `toBody` or `idOf` affects that item only. Lefts
 * pass.
 *
 *     in:   R(a)  L(x)  R(huge)
 *     out:  R(pa) L(x)  L(TooLarge)
 *
 * @example
 * import { encode, Event, toWebhookBody, validate } from 'headrace'
 * import { of } from 'rxjs'
 * of({ type: 'delete', userId: 'u1', timestamp: '2024-02-29T12:00:00Z' })
 *   .pipe(validate(Event), encode(toWebhookBody))
 *   .subscribe((each) => {
 *     if (each._tag === 'Right') console.log(each.right.text)
 *   })
 * // => {"type":"delete","userId":"u1","timestamp":"2024-02-29T12:00:00.000Z"}
 */
export const encode = <A>(
  toBody: (item: A) => unknown,
  options: EncodeOptions<A> = {},
): (<B extends A, L = never>(
  source: ObservableEither<L, B>,
) => ObservableEither<L | Refusal, EventPayload<B>>) => {
  const { limit = bodyBytes, idOf = messageIdOf } = options
  const encodeOne = <B extends A>(item: B): Either<Refusal, EventPayload<B>> => {
    try {
      return encodePayload(idOf(item), item, toBody(item), limit)
    } catch {
      return left(invalid(item, THREW))
    }
  }
  return (source) =>
    source.pipe(
      map((each) => {
        assertEither('encode', each)
        return each._tag === 'Left' ? each : encodeOne(each.right)
      }),
    )
}
