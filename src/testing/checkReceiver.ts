import { request as requestPlain } from 'node:http'
import { request as requestSecure } from 'node:https'
import type { RequestOptions } from 'node:https'
import { systemClock } from '../core/clock.ts'
import {
  checkOptions,
  decodeOptions,
  option,
  optional,
  strict,
  wholeNumber,
  withDefault,
} from '../core/options.ts'
import { headersOption, secretOption, urlOption } from '../http/httpOptions.ts'
import { failureOf } from '../http/networkError.ts'
import { secureContextOf, tlsOption } from '../http/tls.ts'
import type { TlsOptions } from '../http/tls.ts'
import type { Secret } from '../signing/secret.ts'
import { receiverVectors } from './receiverVectors.ts'
import type { ReceiverVector } from './receiverVectors.ts'

/** How a receiver is checked. */
export interface CheckReceiverOptions {
  /** The secret that the receiver verifies with. */
  readonly secret: Secret | string
  /** Milliseconds for each answer. Default 5,000. */
  readonly timeout?: number
  /** Headers of every request, such as those that a gateway asks for. */
  readonly headers?: Readonly<Record<string, string>>
  /** Authorities to trust, and our own certificate. */
  readonly tls?: TlsOptions
}

/** What came back for one vector. */
export interface VectorResult {
  readonly vector: ReceiverVector
  readonly passed: boolean
  /** Of the answer that was not as expected, else of the slowest. Undefined: there was no answer. */
  readonly status: number | undefined
  /** Milliseconds from the start of that request to its status or its end. */
  readonly ms: number
  /** The same in words, such as `500 after 3 ms` or `connection refused: nothing listens there`. */
  readonly seen: string
}

/** The answers of a receiver to all vectors. */
export interface ReceiverReport {
  /** What was checked, without a query. */
  readonly url: string
  /** Every `must` holds. */
  readonly kept: boolean
  /** In the order of the vectors. */
  readonly results: ReadonlyArray<VectorResult>
  /** For people: what was sent, expected and seen, and why it matters, for each vector that failed; and a last line that counts. */
  readonly text: string
}

/** The options, and the URL among them. */
const receiverCheck = strict({
  url: option<string>('a URL', (url) => decodeOptions(urlOption(), url instanceof URL ? url.href : url)),
  secret: secretOption,
  timeout: withDefault(wholeNumber('ms', 1), 5_000),
  headers: optional(headersOption()),
  tls: optional(tlsOption),
})

/** Milliseconds for the rest of an answer. */
const MAX_REST_MS = 500
/** Vectors without an answer, one after the other, until the rest is not sent. */
const MAX_SILENT = 3
const NOT_SENT = `not sent: there was no answer to the ${String(MAX_SILENT)} vectors before`
/** Characters of a body in a report. */
const MAX_SHOWN = 200

type Seen = Pick<VectorResult, 'status' | 'ms' | 'seen'>

interface Target {
  readonly url: URL
  readonly tls: RequestOptions
  readonly headers: Readonly<Record<string, string>>
}

/** Posts once, on a connection of its own, which is closed at the end. */
const post = ({ url, tls, headers }: Target, { request, expect }: ReceiverVector): Promise<Seen> =>
  new Promise((resolve) => {
    const { method, body } = request
    const allHeaders = { ...headers, ...request.headers, 'Content-Length': Buffer.byteLength(body) }
    const send = url.protocol === 'https:' ? requestSecure : requestPlain
    const startedAt = systemClock.monotonic()
    let seen: Seen | undefined

    const see = (status: number | undefined, what: string): void => {
      const ms = Math.round(systemClock.monotonic() - startedAt)
      seen ??= { status, ms, seen: status === undefined ? what : `${what} after ${String(ms)} ms` }
    }
    const outgoing = send(url, { ...tls, method, headers: allHeaders, agent: false })
    let cancel = systemClock.schedule(expect.withinMs, () => {
      see(undefined, `no answer within ${String(expect.withinMs)} ms`)
      outgoing.destroy()
    })
    outgoing.on('response', (answer) => {
      see(answer.statusCode, String(answer.statusCode))
      cancel()
      cancel = systemClock.schedule(MAX_REST_MS, () => outgoing.destroy())
      // The first part of a body is enough.
      answer.once('data', () => outgoing.destroy())
      answer.on('error', () => undefined)
    })
    outgoing.on('error', (error) => {
      const { reason, detail = reason } = failureOf(error, true)
      see(undefined, detail)
    })
    outgoing.on('close', () => {
      cancel()
      see(undefined, 'the connection was closed before an answer came')
      if (seen !== undefined) resolve(seen)
    })
    outgoing.end(body)
  })

const isAsExpected = ({ expect }: ReceiverVector, { status, ms }: Seen): boolean =>
  `${String(status)[0] ?? ''}xx` === expect.status && ms <= expect.withinMs

const play = async (target: Target, vector: ReceiverVector): Promise<VectorResult> => {
  const { times = 1, atOnce = 1 } = vector.request
  const all: Seen[] = []
  for (let n = 0; n < times; n++)
    all.push(...(await Promise.all(Array.from({ length: atOnce }, () => post(target, vector)))))
  const wrong = all.find((seen) => !isAsExpected(vector, seen))
  const slowest = all.reduce((one, other) => (other.ms > one.ms ? other : one))
  return { vector, passed: wrong === undefined, ...(wrong ?? slowest) }
}

/** The answer that a vector expects, in words. */
export const expectedOf = ({ expect }: ReceiverVector): string =>
  `${expect.status} within ${String(expect.withinMs)} ms`

const showResult = ({ vector, passed, seen }: VectorResult): string => {
  const { id, level, statement, why, request } = vector
  const word = passed ? 'passed' : level === 'may' ? 'differs' : 'failed'
  const head = `${word.padEnd(7)}  ${level.padEnd(6)}  ${id.padEnd(25)}  ${statement}`
  if (passed) return head
  if (seen === NOT_SENT) return `${head} ${NOT_SENT}`
  const { body } = request
  const sent = body.length > MAX_SHOWN ? `${body.slice(0, MAX_SHOWN)}…` : body
  const lines = [
    `sent      ${sent}`,
    `expected  ${expectedOf(vector)}`,
    `seen      ${seen}`,
    `why       ${why}`,
  ]
  return [head, ...lines].join('\n         ')
}

const showCounts = (results: ReadonlyArray<VectorResult>): string =>
  (['must', 'should', 'may'] as const)
    .map((level) => {
      const ofLevel = results.filter(({ vector }) => vector.level === level)
      const passed = ofLevel.filter((result) => result.passed).length
      return `${level} ${String(passed)} of ${String(ofLevel.length)}`
    })
    .join(' · ')

/**
 * Sends all vectors of `receiverVectors` to a receiver, signed with its secret, and reports how it answered: the test of an HTTP receiver in any
 * language. It is sent events of all kinds about the user `check-receiver`, a delete among them. Takes as long as the receiver, and never rejects
 * because of it: a receiver that is down, or whose certificate does not verify, fails the vectors.
 *
 * @throws ConfigError (rejects) if the URL or an option is wrong
 *
 * @example
 * import { createServer } from 'node:http'
 * import { verifyRequest } from 'headrace/signing'
 * import { checkReceiver } from 'headrace/testing'
 * const server = createServer(async (request, response) => {
 *   const { _tag } = await verifyRequest('correct horse', request)
 *   response.writeHead(_tag === 'Right' ? 204 : 401).end()
 * })
 * await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
 * const { port } = server.address() as { port: number }
 * const { kept, results } = await checkReceiver(`http://127.0.0.1:${port}/hook`, { secret: 'correct horse' })
 * console.log(kept, results.filter(({ passed }) => !passed).map(({ vector }) => vector.id)) // => true [ 'signature/upper-case' ]
 * server.close()
 */
export const checkReceiver = async (
  given: string | URL,
  options: CheckReceiverOptions,
): Promise<ReceiverReport> => {
  const check = checkOptions('options of checkReceiver', receiverCheck, { ...options, url: given })
  const { url, secret, timeout, headers, tls } = check
  const { protocol, origin, pathname } = new URL(url)
  // Verification is explicit, because the environment may hold NODE_TLS_REJECT_UNAUTHORIZED=0.
  const secure = () => ({ secureContext: secureContextOf(tls ?? {}), rejectUnauthorized: true })
  const target = { url: new URL(url), tls: protocol === 'https:' ? secure() : {}, headers: headers ?? {} }
  const results: VectorResult[] = []
  let silent = 0
  for (const vector of receiverVectors(secret, timeout)) {
    const isSent = silent < MAX_SILENT
    const result = isSent
      ? await play(target, vector)
      : { vector, passed: false, status: undefined, ms: 0, seen: NOT_SENT }
    results.push(result)
    silent = result.status === undefined ? silent + 1 : 0
  }
  const text = [...results.map(showResult), showCounts(results)].join('\n')
  const kept = results.every(({ passed, vector }) => passed || vector.level !== 'must')
  return { url: origin + pathname, kept, results, text }
}
