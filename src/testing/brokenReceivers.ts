import { isRecord } from '../core/json.ts'
import type { Signer } from '../event/payload.ts'
import { signerOf } from '../signing/secret.ts'
import type { Secret } from '../signing/secret.ts'
import type { Fault } from './faults.ts'
import type { Received } from './loopbackReceiver.ts'

/** A receiver with one fault. */
export interface BrokenReceiver {
  readonly name: string
  /** The id of the vector of `checkReceiver` that finds the fault. */
  readonly vector: string
  /** How it answers, as a script of `loopbackReceiver`. Each call makes a new one, which has seen nothing. */
  readonly script: (secret: Secret | string) => (received: Received) => Fault
}

/** The status of the answer, 500 if it throws; undefined: there is no answer. */
type Judge = (body: Buffer, signature: string) => number | undefined

const broken = (name: string, vector: string, judgeWith: (sign: Signer) => Judge): BrokenReceiver => ({
  name,
  vector,
  script: (secret) => {
    const judge = judgeWith(signerOf(secret))
    return ({ body, headers }) => {
      try {
        const code = judge(body, String(headers['x-signature'] ?? ''))
        return code === undefined ? { do: 'silence' } : { do: 'status', code }
      } catch {
        return { do: 'status', code: 500 }
      }
    }
  },
})

/** Verifies what `change` makes of the body. */
const verifying =
  (change: (body: Buffer) => string) =>
  (sign: Signer): Judge =>
  (body, signature) =>
    sign(change(body)) === signature ? 200 : 401

/** Verifies as it must, and then has an answer of its own for some bodies. */
const answering =
  (answer: (text: string) => number | undefined) =>
  (sign: Signer): Judge =>
  (body, signature) =>
    sign(body) === signature ? answer(body.toString()) : 401

/** JSON, parsed and written anew with other values. */
const rewritten =
  (change: (value: unknown) => unknown) =>
  (body: Buffer): string =>
    JSON.stringify(JSON.parse(body.toString(), (_key, value: unknown) => change(value)))

const sorted = (value: unknown): unknown =>
  isRecord(value) && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value

/**
 * Receivers with one fault each: to see that a check of receivers finds it.
 *
 * @example
 * import { brokenReceivers, checkReceiver, loopbackReceiver } from 'headrace/testing'
 * const broken = brokenReceivers.find(({ name }) => name === 'accepts requests without a signature')
 * const receiver = await loopbackReceiver(broken?.script('correct horse'))
 * const { results } = await checkReceiver(receiver.url, { secret: 'correct horse' })
 * console.log(results.find(({ passed }) => !passed)?.vector.id) // => signature/missing
 * await receiver.close()
 */
export const brokenReceivers: ReadonlyArray<BrokenReceiver> = [
  broken('verifies the parsed body with sorted keys', 'kind/track', verifying(rewritten(sorted))),
  broken(
    'trims strings before it verifies',
    'body/padded-strings',
    verifying(rewritten((value) => (typeof value === 'string' ? value.trim() : value))),
  ),
  broken(
    'reads the body as Latin-1',
    'body/unicode',
    verifying((body) => body.toString('latin1')),
  ),
  broken(
    'accepts requests without a signature',
    'signature/missing',
    (sign) => (body, signature) => (signature === '' || sign(body) === signature ? 200 : 401),
  ),
  broken(
    'compares the first eight digits',
    'signature/flipped-digit',
    (sign) => (body, signature) => (signature.slice(0, 8) === sign(body).slice(0, 8) ? 200 : 401),
  ),
  broken(
    'answers 500 to a wrong signature',
    'signature/wrong-key',
    (sign) => (body, signature) => (sign(body) === signature ? 200 : 500),
  ),
  broken(
    'needs a version in a delete',
    'kind/delete',
    answering((text) => (text.includes('"version":1') ? 200 : 422)),
  ),
  broken('refuses an event that it has', 'repeat/same-event', (sign) => {
    const seen = new Set<string>()
    return answering((text) => {
      if (seen.has(text)) return 409
      seen.add(text)
      return 200
    })(sign)
  }),
  broken(
    'never answers to a group',
    'kind/group',
    answering((text) => (text.includes('"type":"group"') ? undefined : 200)),
  ),
]
