import { type Either, left, right } from 'fp-ts/lib/Either.js'
import { checkSecrets } from './checkSecrets.ts'
import { checkSignature } from './checkSignature.ts'
import { bodyTooLarge, type NodeRequest, type WebRequest } from './Incoming.ts'
import { mismatch, type Mismatch, type Secrets, type VerifiedRequest } from './Mismatch.ts'
import { nodeBody } from './nodeBody.ts'
import { verifyRaw } from './verifyRaw.ts'
import { webBody } from './webBody.ts'

/** How a request is read. */
export interface VerifyRequestOptions {
  /** The most bytes of body that are held. Default 1 MiB; a webhook's body has at most 64,000 (BY2). */
  readonly maxBytes?: number
}

const HEADER = 'x-signature'
const ONE_MEBIBYTE = 1_048_576

const isWeb = (request: WebRequest | NodeRequest): request is WebRequest =>
  typeof request.headers.get === 'function'

const headerOf = (request: WebRequest | NodeRequest, name: string): unknown =>
  isWeb(request) ? request.headers.get(name) : request.headers[name]

const isRequest = (request: unknown): boolean =>
  typeof request === 'object' &&
  request !== null &&
  'headers' in request &&
  typeof request.headers === 'object' &&
  request.headers !== null &&
  ('bodyUsed' in request || ('on' in request && typeof request.on === 'function'))

const verify = async (
  secrets: Secrets,
  request: WebRequest | NodeRequest,
  maxBytes: number,
): Promise<Either<Mismatch, VerifiedRequest>> => {
  const keys = checkSecrets(secrets)
  if (keys._tag === 'Left') return keys
  const signature = checkSignature(headerOf(request, HEADER))
  if (signature._tag === 'Left') return signature
  if (Number(headerOf(request, 'content-length')) > maxBytes) return left(bodyTooLarge(maxBytes))
  const body = await (isWeb(request) ? webBody(request, maxBytes) : nodeBody(request, maxBytes))
  if (body._tag === 'Left') return body
  const result = verifyRaw(secrets, body.right, signature.right)
  return result._tag === 'Left'
    ? result
    : right({ ...result.right, body: body.right, text: Buffer.from(body.right).toString('utf8') })
}

/**
 * Verifies a whole incoming request: a web `Request` or Node's `IncomingMessage`. It reads the body once, within a bound, and
 * hands its bytes on with the verdict, because they cannot be read again. A body that somebody read before is a failure of
 * its own, which names the way out. The promise never rejects. Nothing is read if the signature is missing or malformed.
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
  const nothing = mismatch('unreadable', 'this is neither a web Request nor a Node IncomingMessage')
  try {
    return isRequest(request)
      ? await verify(secrets, request, options.maxBytes ?? ONE_MEBIBYTE)
      : left(nothing)
  } catch {
    return left(nothing)
  }
}
