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
