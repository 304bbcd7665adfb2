import { request as requestPlain } from 'node:http'
import { request as requestSecure } from 'node:https'
import { systemClock } from '../core/clock.ts'
import { checkOptions, decodeOptions, option, strict, wholeNumber, withDefault } from '../core/options.ts'
import { headersOption, secretOption, urlOption, type RequestOptions } from '../http/httpOptions.ts'
import { failureOf } from '../http/networkError.ts'
import { secureContextOf, tlsOption } from '../http/tls.ts'
import { signerOf, type Secret } from '../signing/secret.ts'
import type { Misbehaviour } from './faults.ts'
import type { Received } from './loopbackReceiver.ts'
import { receiverVectors, type ReceiverVector } from './receiverVectors.ts'

/** How a receiver is checked. */
export interface CheckReceiverOptions extends Pick<RequestOptions, 'headers' | 'tls'> {
  /** The secret that the receiver verifies with. */
  readonly secret: Secret | string
  /** Milliseconds for each answer. Default 5,000. */
  readonly timeout?: number
}

/** The result of one vector. */
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
  /** The checked URL, without a query. */
  readonly url: string
  /** Every `must` holds. */
  readonly kept: boolean
  /** In the order of the vectors. */
  readonly results: ReadonlyArray<VectorResult>
  /** For people: request, expectation, answer, reason of each failed vector; and a last line that counts. */
  readonly text: string
}

const receiverCheck = strict({
  url: option<string>('a URL', (url) => decodeOptions(urlOption(), url instanceof URL ? url.href : url)),
  secret: secretOption,
  timeout: withDefault(wholeNumber('ms', 1), 5_000),
  headers: withDefault(headersOption(), {}),
  tls: withDefault(tlsOption, {}),
})

/** Vectors without an answer, one after the other, until the rest is not sent. */
const MAX_SILENT = 3
const NOT_SENT = `not sent: there was no answer to the ${String(MAX_SILENT)} vectors before`
const MAX_SHOWN = 200

type SeenAnswer = Pick<VectorResult, 'status' | 'ms' | 'seen'>

type CheckedUrl = Required<Pick<CheckReceiverOptions, 'headers' | 'tls'>> & { readonly url: URL }

/** Posts once, on a connection of its own. Of the answer only the status is read. */
const post = ({ url, headers, tls }: CheckedUrl, { request, expect }: ReceiverVector): Promise<SeenAnswer> =>
  new Promise((resolve) => {
    const { method, body } = request
    const allHeaders = { ...headers, ...request.headers, 'Content-Length': Buffer.byteLength(body) }
    const options = { method, headers: allHeaders, agent: false }
    const startedAt = systemClock.monotonic()
    // Verification is explicit, because the environment may hold NODE_TLS_REJECT_UNAUTHORIZED=0.
    const secure = () => ({ ...options, secureContext: secureContextOf(tls), rejectUnauthorized: true })
    const outgoing = url.protocol === 'https:' ? requestSecure(url, secure()) : requestPlain(url, options)

    /** The first call counts. */
    const end = (what: string, status?: number): void => {
      const ms = Math.round(systemClock.monotonic() - startedAt)
      resolve({ status, ms, seen: status === undefined ? what : `${what} after ${String(ms)} ms` })
      cancel()
      outgoing.destroy()
    }
    const late = (): void => end(`no answer within ${String(expect.withinMs)} ms`)
    const cancel = systemClock.schedule(expect.withinMs, late)
    outgoing.on('response', ({ statusCode }) => end(String(statusCode), statusCode))
    outgoing.on('error', (error) => {
      const { reason, detail = reason } = failureOf(error, true)
      end(detail)
    })
    outgoing.on('close', () => end('the connection was closed before an answer came'))
    outgoing.end(body)
  })

const playVector = async (target: CheckedUrl, vector: ReceiverVector): Promise<VectorResult> => {
  const { request, expect } = vector
  const { times = 1, atOnce = 1 } = request
  const all: SeenAnswer[] = []
  for (let n = 0; n < times; n++)
    all.push(...(await Promise.all(Array.from({ length: atOnce }, () => post(target, vector)))))
  const statusOf = ({ status = 0 }: SeenAnswer) => `${String(status).charAt(0)}xx`
  const wrong = all.find((one) => statusOf(one) !== expect.status || one.ms > expect.withinMs)
  const slowest = all.reduce((one, other) => (other.ms > one.ms ? other : one))
  return { vector, passed: wrong === undefined, ...(wrong ?? slowest) }
}

export const expectedAnswer = ({ expect }: ReceiverVector): string =>
  `${expect.status} within ${String(expect.withinMs)} ms`

const showResult = ({ vector, passed, seen }: VectorResult): string => {
  const { id, level, statement, why, request } = vector
  const word = passed ? 'passed' : level === 'may' ? 'differs' : 'failed'
  const head = `${word.padEnd(7)}  ${level.padEnd(6)}  ${id.padEnd(25)}  ${statement}`
  if (passed) return head
  if (seen === NOT_SENT) return `${head} ${NOT_SENT}`
  const sent = request.body.slice(0, MAX_SHOWN) + (request.body.length > MAX_SHOWN ? '…' : '')
  return `${head}
         sent      ${sent}
         expected  ${expectedAnswer(vector)}
         seen      ${seen}
         why       ${why}`
}

const showCount = (results: ReadonlyArray<VectorResult>, level: ReceiverVector['level']): string => {
  const ofLevel = results.filter(({ vector }) => vector.level === level)
  return `${level} ${String(ofLevel.filter((result) => result.passed).length)} of ${String(ofLevel.length)}`
}

/**
 * Sends all vectors of `receiverVectors` to a receiver, signed with its secret, and reports how it answered:
 * the test of an HTTP receiver in any language. It is sent events of all kinds about the user
 * `check-receiver`, a delete among them. Takes as long as the receiver, and never rejects because of it: a
 * receiver that is down, or whose certificate does not verify, fails the vectors.
 *
 * @throws ConfigError (rejects) if the URL or an option is wrong
 *
 * @example
 * import { brokenReceivers, checkReceiver, loopbackReceiver } from 'headrace/testing'
 *
 * const { script } = brokenReceivers['accepts requests without a signature']
 * const receiver = await loopbackReceiver(script('correct horse'))
 * const { kept, results } = await checkReceiver(receiver.url, { secret: 'correct horse' })
 * console.log(kept, results.find(({ passed }) => !passed)?.vector.id) // => false signature/missing
 * await receiver.close()
 */
export const checkReceiver = async (
  given: string | URL,
  options: CheckReceiverOptions,
): Promise<ReceiverReport> => {
  const asked = { ...options, url: given }
  const { secret, timeout, ...checked } = checkOptions('options of checkReceiver', receiverCheck, asked)
  const url = new URL(checked.url)
  const results: VectorResult[] = []
  let silent = 0
  for (const vector of receiverVectors(secret, timeout)) {
    const notSent = { vector, passed: false, status: undefined, ms: 0, seen: NOT_SENT }
    const result = silent < MAX_SILENT ? await playVector({ ...checked, url }, vector) : notSent
    results.push(result)
    silent = result.status === undefined ? silent + 1 : 0
  }
  const counts = (['must', 'should', 'may'] as const).map((level) => showCount(results, level))
  const text = [...results.map(showResult), counts.join(' · ')].join('\n')
  const kept = results.every(({ passed, vector }) => passed || vector.level !== 'must')
  return { url: url.origin + url.pathname, kept, results, text }
}

/** A receiver with one fault. */
export interface BrokenReceiver {
  /** The id of the vector of `checkReceiver` that finds the fault. */
  readonly vector: string
  /** How it answers, as a script of `loopbackReceiver`. Each call makes a new one, which has seen nothing. */
  readonly script: (secret: Secret | string) => (received: Received) => Misbehaviour
}

/** `judge`: the status of the answer to a signature, beside the right one. */
const brokenReceiver = (
  vector: string,
  judge: (signature: string, right: string) => number,
): BrokenReceiver => ({
  vector,
  script: (secret) => (received) => {
    const signature = String(received.headers['x-signature'] ?? '')
    return { do: 'status', code: judge(signature, signerOf(secret)(String(received.body))) }
  },
})

/** Receivers with one fault each, by name, to test a check: `loopbackReceiver(script(secret))`. */
export const brokenReceivers = {
  'accepts requests without a signature': brokenReceiver('signature/missing', (signature, right) =>
    ['', right].includes(signature) ? 200 : 401,
  ),
  'answers 500 to a wrong signature': brokenReceiver('signature/wrong-key', (signature, right) =>
    signature === right ? 200 : 500,
  ),
} satisfies Readonly<Record<string, BrokenReceiver>>
