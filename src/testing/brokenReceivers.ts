import { signerOf, type Secret } from '../signing/secret.ts'
import type { Misbehaviour } from './faults.ts'
import type { Received } from './loopbackReceiver.ts'

/** A receiver with one fault. */
export interface BrokenReceiver {
  /** The id of the vector of `checkReceiver` that finds the fault. */
  readonly vector: string
  /** How it answers, as a script of `loopbackReceiver`. Each call makes a new one, which has seen nothing. */
  readonly script: (secret: Secret | string) => (received: Received) => Misbehaviour
}

/** The status of the answer to a body, with its signature and the right one. 0: there is no answer. */
type Judge = (text: string, signature: string, right: string) => number

type ReadBody = (body: Buffer) => string

/** `read`: its reading of the body. */
const brokenReceiver = (vector: string, judge: Judge, read: ReadBody = String): BrokenReceiver => ({
  vector,
  script:
    (secret) =>
    ({ body, headers }) => {
      const text = read(body)
      const code = judge(text, String(headers['x-signature'] ?? ''), signerOf(secret)(text))
      return code === 0 ? { do: 'silence' } : { do: 'status', code }
    },
})

/** Verifies as it must, and then has an answer of its own for some bodies. */
const answering =
  (answer: (text: string) => number = () => 200): Judge =>
  (text, signature, right) =>
    signature === right ? answer(text) : 401

const trimmed: ReadBody = (body) => String(body).trim()
/** JSON, parsed, and written anew with sorted keys. */
const sortedJson: ReadBody = (body) => {
  const fields = Object.entries(JSON.parse(String(body)) as object)
  return JSON.stringify(Object.fromEntries(fields.sort(([a], [b]) => (a < b ? -1 : 1))))
}

/** Receivers with one fault each, by name, to test a check: `loopbackReceiver(script(secret))`. */
export const brokenReceivers = {
  'verifies the parsed body with sorted keys': brokenReceiver('kind/track', answering(), sortedJson),
  'reads the body as Latin-1': brokenReceiver('body/unicode', answering(), (body) => body.toString('latin1')),
  'strips the body before it verifies': brokenReceiver('body/white-space-around', answering(), trimmed),
  'accepts requests without a signature': brokenReceiver('signature/missing', (_, signature, right) =>
    ['', right].includes(signature) ? 200 : 401,
  ),
  'answers 500 to a wrong signature': brokenReceiver('signature/wrong-key', (_, signature, right) =>
    signature === right ? 200 : 500,
  ),
  'never answers to a group': brokenReceiver(
    'kind/group',
    answering((text) => (text.includes('"type":"group"') ? 0 : 200)),
  ),
} satisfies Readonly<Record<string, BrokenReceiver>>
