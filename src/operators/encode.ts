import { left, right, type Either } from '../core/either.ts'
import { systemClock } from '../core/clock.ts'
import { isRecord, kindOf } from '../core/json.ts'
import { checkOptions, func, optional, strict, text, wholeNumber, withDefault } from '../core/options.ts'
import type { EitherSource, ObservableEither } from '../core/outcome.ts'
import { invalid, type Refusal } from '../core/refusal.ts'
import { bodyBytes, messageIdLength } from '../event/limits.ts'
import { encodeBytes, encodePayload, metaOf, newId, type EventPayload } from '../event/payload.ts'
import { channel } from '../log/listeners.ts'
import { changeRight } from './rightSide.ts'

/** Options of `encode`. */
export interface EncodeOptions<in A> {
  /** The maximum size of a body in bytes. Default 64,000. */
  readonly maxBytes?: number
  /** The payload's id, 1 to 256 characters. Default: the item's own `messageId`, else a random UUID. */
  readonly idOf?: (item: A) => string
  /**
   * Data beside the item, such as its trace: in `meta` of the payload, stored and not sent. If it throws, or
   * answers more than 1,024 bytes of JSON, there is none, and a `Defect` on the diagnostics channel.
   */
  readonly meta?: (item: A) => Readonly<Record<string, string>> | undefined
}

/** A format that is not JSON. */
export interface EncodeFormat<in A> extends EncodeOptions<A> {
  /** Writes an item. A string is sent as its UTF-8 bytes. */
  readonly toBytes: (item: A) => Uint8Array | string
  /** The Content-Type that `webhook` sends, such as `application/x-protobuf`. */
  readonly contentType: string
}

/** How items are written: a function for the body, which becomes JSON, or a format of its own. */
export type BodyWriter<A> = ((item: A) => unknown) | EncodeFormat<A>

/** Within a `pipe` the item is that of the stream; elsewhere it is the parameter of the writer. */
export interface Encode {
  <A>(
    writer: BodyWriter<NoInfer<A>>,
    options?: EncodeOptions<NoInfer<A>>,
  ): <L = never>(source: EitherSource<L, A>) => ObservableEither<L | Refusal, EventPayload<A>>
  <A>(
    writer: BodyWriter<A>,
    options?: EncodeOptions<A>,
  ): <B extends A, L = never>(source: EitherSource<L, B>) => ObservableEither<L | Refusal, EventPayload<B>>
}

const messageIdOf = (item: unknown): string =>
  (isRecord(item) && typeof item['messageId'] === 'string' && item['messageId']) || newId()

const NO_ID = [{ path: 'messageId', message: 'must have 1 to 256 characters: see the option idOf' }]

/** Visible ASCII: anything else would fail in each request. */
const CONTENT_TYPE = /^[\x21-\x2e\x30-\x7e]+\/[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/

const encodeShape = {
  maxBytes: withDefault(wholeNumber('bytes', 1), bodyBytes),
  idOf: optional(func()),
  meta: optional(func()),
}
const encodeOptions = strict(encodeShape)
const formatOptions = strict({ ...encodeShape, toBytes: optional(func()), contentType: optional(text) })

const metaFailed = (error: unknown): void =>
  channel({ _tag: 'Defect', at: systemClock.now(), from: 'encode', where: 'meta', error })

type WriteBody<A> = <B extends A>(id: string, item: B, limit: number) => Either<Refusal, EventPayload<B>>

/** How items are written, and the name of the function that writes them. */
const writerOf = <A>(given: BodyWriter<A>): readonly [string, WriteBody<A>] => {
  if (typeof given === 'function')
    return ['toBody', (id, item, limit) => encodePayload(id, item, given(item), limit)]
  // Code without types may give anything.
  if (!isRecord(given) || typeof given.toBytes !== 'function')
    throw new TypeError('encode: expected a function for the body, or { toBytes, contentType }')
  const { toBytes, contentType } = given
  if (typeof contentType !== 'string' || !CONTENT_TYPE.test(contentType))
    throw new TypeError('encode: contentType must be one, such as application/x-protobuf')
  const write: WriteBody<A> = (id, item, limit) => {
    const body: unknown = toBytes(item)
    if (typeof body === 'string' || body instanceof Uint8Array)
      return encodeBytes(id, item, body, contentType, limit)
    const message = `toBytes must answer a Uint8Array or a string, got ${kindOf(body)}`
    return left(invalid(item, [{ path: '', message }]))
  }
  return ['toBytes', write]
}

/**
 * Encodes each item once: the same bytes are measured, stored, signed, sent and retried. A body that JSON
 * would bend or cannot hold (see `encodePayload`) becomes `Invalid` with the path of each fault, one with too
 * many bytes `TooLarge`. An error thrown by a function of yours affects that item only. Lefts pass.
 *
 * For another format than JSON give `{ toBytes, contentType }`. `webhook` sends these bytes with that
 * Content-Type, `sign` signs them, and a sink of your own gets them with `bytesOf(payload, now)`.
 *
 *     in:   R(a)  L(x)  R(huge)
 *     out:  R(pa) L(x)  L(TooLarge)
 *
 * @function
 * @throws TypeError for a value that is neither a function nor a format; ConfigError for an option that is
 *   wrong or unknown.
 *
 * @example
 * import { encode, validate } from 'headrace'
 * import { Event, toWebhookBody } from 'headrace/events'
 * import { of } from 'rxjs'
 * of({ type: 'delete', userId: 'u1', timestamp: '2024-02-29T12:00:00Z' })
 *   .pipe(validate(Event), encode(toWebhookBody))
 *   .subscribe((each) => {
 *     if (each._tag === 'Right') console.log(each.right.text)
 *   })
 * // => {"type":"delete","userId":"u1","timestamp":"2024-02-29T12:00:00.000Z"}
 */
export const encode: Encode = <A>(writer: BodyWriter<A>, options: EncodeOptions<A> = {}) => {
  const [name, write] = writerOf(writer)
  const isFormat = typeof writer !== 'function'
  const given = isFormat ? { ...options, ...writer } : options
  const { maxBytes } = checkOptions('options of encode', isFormat ? formatOptions : encodeOptions, given)
  const { idOf = messageIdOf, meta: askMeta } = given
  const encodeOne = <B extends A>(item: B): Either<Refusal, EventPayload<B>> => {
    let asked = 'idOf'
    try {
      const id: unknown = idOf(item)
      asked = name
      if (typeof id !== 'string' || id === '' || id.length > messageIdLength)
        return left(invalid(item, NO_ID))
      const written = write(id, item, maxBytes)
      if (askMeta === undefined || written._tag === 'Left') return written
      const meta = metaOf(() => askMeta(item), metaFailed)
      return meta === undefined ? written : right({ meta, ...written.right })
    } catch {
      return left(invalid(item, [{ path: '', message: `could not be encoded: ${asked} throws an error` }]))
    }
  }
  return <B extends A, L = never>(source: EitherSource<L, B>) => changeRight('encode', encodeOne<B>)(source)
}
