/**
 * Reads and verifies an incoming request. Requests are known by their shape: neither Node's http nor the DOM is imported.
 *
 * @module
 */

import { right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { expected, failed, verifyBytes } from './verify.ts'
import type { Mismatch, Secrets, VerifiedRequest } from './verify.ts'

/** What is used of a web `Request`: Hono, Next, Remix, Bun, Deno, workers. */
export interface WebRequest {
  readonly headers: { readonly get: (name: string) => string | null }
  readonly bodyUsed: boolean
  readonly body: WebBody | null
}

/** What is used of a web `ReadableStream`. */
export interface WebBody {
  readonly locked: boolean
  readonly getReader: () => {
    readonly read: () => Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>
    readonly cancel: () => Promise<void>
  }
}

/** What is used of Node's `IncomingMessage`: node:http, Express, Koa's `ctx.req`, Fastify's `request.raw`. */
export interface NodeRequest {
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Whether something has read from it. */
  readonly readableDidRead: boolean
  readonly destroyed: boolean
  on(event: string, listener: (value: unknown) => void): unknown
  removeListener(event: string, listener: (value: unknown) => void): unknown
  resume(): unknown
}

const bodyConsumed = failed(
  'bodyConsumed',
  "the request's body was read before, most often by a body parser, and its bytes are gone: call verifyRequest before the parser, or let the parser keep the bytes (express.raw, or the verify option of express.json) and use verifyRaw, or use verifyParsed on what it made",
)
const unreadable = failed('unreadable', 'the request broke off before its body was complete')
const noRequest = failed('unreadable', 'this is neither a web Request nor a Node IncomingMessage')
const decoded = failed(
  'badBody',
  'the request was told to decode its body to text (setEncoding), and wrong bytes do not survive that: leave it out',
)
const tooLarge = (maxBytes: number): Either<Mismatch, never> =>
  failed('tooLarge', `the body is longer than ${String(maxBytes)} bytes: answer 413, or raise maxBytes`)

type Body = Either<Mismatch, Uint8Array>

/** Without a listener, a request that breaks off after its verdict would end the process. */
const ignore = (): void => undefined

/**
 * The whole body of a Node request. Never rejects. The rest of a longer body flows away unread, so that the receiver can still answer 413.
 * How long a sender may take is the server's `requestTimeout`.
 */
const nodeBody = (request: NodeRequest, maxBytes: number): Promise<Body> =>
  new Promise((resolve) => {
    const chunks: Uint8Array[] = []
    let size = 0
    const settle = (result: Body): void => {
      for (const [event, listener] of listeners) request.removeListener(event, listener)
      request.on('error', ignore)
      request.resume()
      resolve(result)
    }
    const take = (chunk: unknown): void => {
      if (!(chunk instanceof Uint8Array)) return settle(decoded)
      size += chunk.byteLength
      if (size <= maxBytes) chunks.push(chunk)
      else settle(tooLarge(maxBytes))
    }
    const fail = (): void => settle(unreadable)
    const listeners = [
      ['data', take],
      ['end', () => settle(right(Buffer.concat(chunks, size)))],
      ['error', fail],
      ['close', fail],
    ] as const
    for (const [event, listener] of listeners) request.on(event, listener)
  })

/** The whole body of a web `Request`. Rejects if it breaks off. */
const webBody = async (body: WebBody, maxBytes: number): Promise<Body> => {
  const reader = body.getReader()
  const chunks: Uint8Array[] = []
  let size = 0
  for (;;) {
    const { value } = await reader.read()
    if (value === undefined) return right(Buffer.concat(chunks, size))
    size += value.byteLength
    if (!(size <= maxBytes)) {
      // The verdict does not wait for the sender's side to end.
      reader.cancel().catch(ignore)
      return tooLarge(maxBytes)
    }
    chunks.push(value)
  }
}

const isWeb = (request: WebRequest | NodeRequest): request is WebRequest =>
  typeof request.headers.get === 'function'

const bodyOf = async (request: WebRequest | NodeRequest, maxBytes: number): Promise<Body> => {
  if (!isWeb(request)) {
    if (request.readableDidRead) return bodyConsumed
    return request.destroyed ? unreadable : nodeBody(request, maxBytes)
  }
  if (request.bodyUsed || request.body?.locked === true) return bodyConsumed
  return request.body === null
    ? right(new Uint8Array(0))
    : webBody(request.body, maxBytes).catch(() => unreadable)
}

/** How a request is read. */
export interface VerifyRequestOptions {
  /** Maximum bytes of the body. Default 1 MiB; a webhook's body has at most 64,000. */
  readonly maxBytes?: number
}

const ONE_MEBIBYTE = 1_048_576

/**
 * Verifies an incoming request: a web `Request` or Node's `IncomingMessage`. It reads the body once, within a bound, and answers its bytes
 * too, because they cannot be read again. A body that was read before is a failure that says what to do. Never rejects. Nothing is
 * read if the signature is missing or malformed.
 *
 * @example
 * import { sign, verifyRequest } from 'headrace/signing'
 * const body = '{"type":"track","userId":"u1"}'
 * const request = new Request('http://localhost/', { method: 'POST', body, headers: { 'x-signature': sign('correct horse', body) } })
 * const result = await verifyRequest('correct horse', request)
 * console.log(result._tag === 'Right' ? result.right.text : result.left.explanation) // => {"type":"track","userId":"u1"}
 */
export const verifyRequest = async (
  secrets: Secrets,
  request: WebRequest | NodeRequest,
  options: VerifyRequestOptions = {},
): Promise<Either<Mismatch, VerifiedRequest>> => {
  const { maxBytes = ONE_MEBIBYTE } = options
  try {
    const header = (name: string): unknown =>
      isWeb(request) ? request.headers.get(name) : request.headers[name]
    const wanted = expected(secrets, header('x-signature'))
    if (wanted._tag === 'Left') return wanted
    if (Number(header('content-length')) > maxBytes) return tooLarge(maxBytes)
    const body = await bodyOf(request, maxBytes)
    if (body._tag === 'Left') return body
    const result = verifyBytes(wanted.right, body.right)
    if (result._tag === 'Left') return result
    return right({ ...result.right, body: body.right, text: Buffer.from(body.right).toString('utf8') })
  } catch {
    // It has not even the members of a request.
    return noRequest
  }
}
