/** Verifies an incoming request. It is known by its shape: neither Node's http nor the DOM is imported. */
import { constVoid, right, valueOr, type Either } from '../core/either.ts'
import { byteBuffer } from '../core/byteBuffer.ts'
import { isRecord } from '../core/json.ts'
import { STANDARD_HEADERS, standardVerifierOf, type StandardSecrets } from './standard.ts'
import { failed, verifierOf, type Mismatch, type Secrets, type VerifiedRequest } from './verify.ts'

/** The used part of a web `Request`: Hono, Next, Remix, Bun, Deno, workers. */
export interface WebRequest {
  readonly headers: { readonly get: (name: string) => string | null }
  readonly bodyUsed: boolean
  readonly body: WebBody | null
}

/** The used part of a web `ReadableStream`. */
export interface WebBody {
  readonly locked: boolean
  readonly getReader: () => {
    readonly read: () => Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
    readonly cancel: () => Promise<void>
  }
}

/** The used part of Node's `IncomingMessage`: of Express, Koa's `ctx.req`, Fastify's `request.raw`. */
export interface NodeRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Whether something has read from it. */
  readonly readableDidRead: boolean
  readonly destroyed: boolean
  iterator(options: { readonly destroyOnReturn: boolean }): AsyncIterator<unknown>
  resume(): unknown
}

const bodyConsumed = failed(
  'bodyConsumed',
  "the request's body was read before, most often by a body parser, and its bytes are gone: call " +
    'verifyRequest before the parser, or let the parser keep the bytes (express.raw, or the verify ' +
    'option of express.json) and use verifyRaw, or use verifyParsed on what it made',
)
const NO_REQUEST = 'the request broke off, or is neither a web Request nor a Node IncomingMessage'
const unreadable = failed('unreadable', NO_REQUEST)
const decoded = failed('badBody', 'the body came decoded, which loses wrong bytes: leave out setEncoding')
const bodyTooLarge = (maxBytes: number): Either<Mismatch, never> =>
  failed('tooLarge', `the body is longer than ${String(maxBytes)} bytes: answer 413, or raise maxBytes`)

type BodyResult = Either<Mismatch, Uint8Array>

/** The whole body. Rejects if it breaks off. `stop` is called when nothing more is read. */
const readAll = async (
  next: () => Promise<{ readonly done?: boolean | undefined; readonly value?: unknown }>,
  stop: () => unknown,
  maxBytes: number,
): Promise<BodyResult> => {
  const body = byteBuffer()
  try {
    for (;;) {
      const { done, value } = await next()
      if (done === true) return right(body.bytes())
      if (!(value instanceof Uint8Array)) return decoded
      if (!(body.size() + value.byteLength <= maxBytes)) return bodyTooLarge(maxBytes)
      body.add(value)
    }
  } finally {
    // The verdict does not wait for the sender's side to end.
    Promise.resolve(stop()).catch(constVoid)
  }
}

type AnyRequest = WebRequest | NodeRequest

const isWebRequest = (it: AnyRequest): it is WebRequest => typeof it.headers.get === 'function'

/** The body of a request, at most `maxBytes`. Rejects if it breaks off. */
export const readRequest = (request: AnyRequest, maxBytes: number): Promise<BodyResult> | BodyResult => {
  if (isWebRequest(request)) {
    if (request.bodyUsed || request.body?.locked === true) return bodyConsumed
    if (request.body === null) return right(new Uint8Array(0))
    const reader = request.body.getReader()
    const cancel = () => reader.cancel()
    return readAll(() => reader.read(), cancel, maxBytes)
  }
  if (request.readableDidRead) return bodyConsumed
  if (request.destroyed) return unreadable
  const chunks = request.iterator({ destroyOnReturn: false })
  // The rest of a longer body flows away unread, so that the receiver can still answer 413.
  const drop = () => chunks.return?.().then(() => request.resume())
  return readAll(() => chunks.next(), drop, maxBytes)
}

/** The secrets of a receiver: of `X-Signature`, of Standard Webhooks, or of both. */
export interface VerifyKeys {
  /** Secrets of `X-Signature`. */
  readonly secrets?: Secrets
  /** Secrets of Standard Webhooks. A request then needs its three headers, and is judged by them alone. */
  readonly standardSecrets?: StandardSecrets
  /**
   * Whether `X-Signature` will do for a request without `webhook-signature`, until all senders have a
   * standard secret. An old request without the three headers can then be sent again. Default false.
   */
  readonly migrating?: boolean
  /** How far `webhook-timestamp` may be from now, in milliseconds. Default 300,000. */
  readonly tolerance?: number
  /** Milliseconds since 1970. If it throws or answers others, the reason is `badClock`. Default: the time. */
  readonly now?: () => number
}

const isKeys = (given: Secrets | VerifyKeys): given is VerifyKeys =>
  // A `Secret` has no keys of its own.
  isRecord(given) && Object.keys(given).length > 0

const refuseUnknown = (what: string, unknown: object, known: string): void => {
  const [name] = Object.keys(unknown)
  if (name === undefined) return
  throw new TypeError(`verifyRequest: unknown ${what} ${JSON.stringify(name)}: give { ${known} }`)
}

/** How a request is read. */
export interface VerifyRequestOptions {
  /** Maximum bytes of the body. Default 1 MiB; a webhook's body has at most 64,000. */
  readonly maxBytes?: number
}

const ONE_MEBIBYTE = 1_048_576
const WRONG_BOUND = 'verifyRequest: maxBytes and tolerance must be numbers from 0'

/**
 * Verifies an incoming request: a web `Request` or Node's `IncomingMessage`. It reads the body once, within a
 * bound, and answers its bytes too, because they cannot be read again. A body that was read before is a
 * failure that says how to mend it. Rejects only for wrong options. Nothing is read if the signature is
 * missing or malformed. With `{ standardSecrets }` it verifies Standard Webhooks, which refuses old requests.
 *
 * @example
 * import { signatureOf, verifyRequest } from 'headrace/signing'
 * const body = '{"type":"track","userId":"u1"}'
 * const headers = { 'x-signature': signatureOf('correct horse', body) }
 * const request = new Request('http://localhost/', { method: 'POST', body, headers })
 * const result = await verifyRequest('correct horse', request)
 * console.log(result._tag === 'Right' ? result.right.text : result.left.explanation)
 * // => {"type":"track","userId":"u1"}
 */
export const verifyRequest = async (
  secrets: Secrets | VerifyKeys,
  request: WebRequest | NodeRequest,
  options: VerifyRequestOptions = {},
): Promise<Either<Mismatch, VerifiedRequest>> => {
  const { maxBytes = ONE_MEBIBYTE, ...unknown } = options
  refuseUnknown('option', unknown, 'maxBytes')
  const keys = isKeys(secrets) ? secrets : { secrets }
  const { standardSecrets, migrating, tolerance = 300_000, now = Date.now, ...others } = keys
  const { secrets: own, ...misspelt } = others
  refuseUnknown('key', misspelt, 'secrets, standardSecrets, migrating, tolerance, now')
  for (const bound of [maxBytes, tolerance] as ReadonlyArray<unknown>)
    if (typeof bound !== 'number' || !(bound >= 0)) throw new TypeError(WRONG_BOUND)
  try {
    const header = (name: string): unknown =>
      isWebRequest(request) ? request.headers.get(name) : request.headers[name]
    const standard = STANDARD_HEADERS.map(header)
    // A key that is there counts, also if it is undefined: an unset variable must not turn a check off.
    const isOld = migrating === true && 'secrets' in keys && (standard[2] ?? undefined) === undefined
    const by = 'standardSecrets' in keys && !isOld ? 'webhook-signature' : 'X-Signature'
    const verifier =
      by === 'X-Signature'
        ? verifierOf(own as Secrets, header('x-signature')) // It checks what it is given.
        : standardVerifierOf(standardSecrets, standard, tolerance, valueOr(NaN, now))
    if (verifier._tag === 'Left') return verifier
    if (Number(header('content-length')) > maxBytes) return bodyTooLarge(maxBytes)
    const body = await readRequest(request, maxBytes)
    if (body._tag === 'Left') return body
    const result = verifier.right(body.right)
    if (result._tag === 'Left') return result
    const id = by === 'webhook-signature' && { id: String(standard[0]) }
    return right({ ...result.right, body: body.right, text: Buffer.from(body.right).toString(), by, ...id })
  } catch {
    return unreadable
  }
}
