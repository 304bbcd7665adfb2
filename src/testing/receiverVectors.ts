import { loadPackage } from '../core/package.ts'
import type { Signer } from '../event/payload.ts'
import { signerOf, type Secret } from '../signing/secret.ts'

/** A request to a receiver and the answer that is expected, as data that any language reads. */
export interface ReceiverVector {
  /** Such as `signature/missing`. It stays the same in later versions. */
  readonly id: string
  /** Breaking a `must` loses events or takes forged ones. A `should` is rarer, a `may` is a choice. */
  readonly level: 'must' | 'should' | 'may'
  /** The receiver's behaviour, in one sentence. */
  readonly statement: string
  readonly request: {
    readonly method: 'POST'
    /** All but Content-Length, which is always sent. Values are Latin-1. */
    readonly headers: Readonly<Record<string, string>>
    /** Sent as UTF-8. */
    readonly body: string
    /** Requests, one after the other. Default 1. */
    readonly times?: number
    /** Requests at the same time. Default 1. */
    readonly atOnce?: number
  }
  /** The class of the status of each answer, and the milliseconds until its headers come. */
  readonly expect: { readonly status: '2xx' | '4xx'; readonly withinMs: number }
  /** The consequence of another behaviour. */
  readonly why: string
}

/** The secret of the published vectors, `headrace/vectors/receiver.json`. */
export const VECTOR_SECRET = 'the secret of the receiver vectors'

/** The signatures that are not the right one, by id. Undefined: the request has none. */
const signatures: Readonly<Record<string, (sign: Signer, body: string) => string | undefined>> = {
  'signature/missing': () => undefined,
  'signature/empty': () => '',
  'signature/truncated': (sign, body) => sign(body).slice(0, 20),
  'signature/prefixed': (sign, body) => `sha1=${sign(body)}`,
  'signature/wrong-key': (_sign, body) => signerOf('another secret')(body),
  'signature/flipped-digit': (sign, body) => sign(body).replace(/.$/, (last) => (last === '0' ? '1' : '0')),
  'signature/not-hex': () => 'z'.repeat(40),
  'signature/tampered-body': (sign, body) => sign(body.replace('gold', 'free')),
  'signature/not-ascii': (sign, body) => `é${sign(body).slice(1)}`,
  'signature/upper-case': (sign, body) => sign(body).toUpperCase(),
}

/**
 * The behaviour that a receiver of signed webhooks must, should and may have: requests with the expected
 * answers, signed with a secret. The users and the message ids in them begin with `check-receiver`. The same
 * secret gives the same vectors.
 *
 * @param withinMs milliseconds for each answer. Default 5,000, after which headrace tries again
 */
export const receiverVectors = (secret: Secret | string, withinMs = 5_000): ReadonlyArray<ReceiverVector> => {
  const sign = signerOf(secret)
  // A part of this package, found by its published name also from a bundle; a test reads all its vectors.
  const file = loadPackage('headrace/vectors/receiver.json') as { vectors: ReadonlyArray<ReceiverVector> }
  return file.vectors.map((vector) => {
    const { id, request, expect } = vector
    const wrong = signatures[id]
    const signature = wrong === undefined ? sign(request.body) : wrong(sign, request.body)
    const signed = signature !== undefined && { 'X-Signature': signature }
    const headers = { 'Content-Type': 'application/json', ...signed }
    return { ...vector, request: { ...request, headers }, expect: { ...expect, withinMs } }
  })
}
