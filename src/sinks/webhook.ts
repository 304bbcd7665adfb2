import { systemClock } from '../clock/Clock.ts'
import type { Payload, Signer } from '../event/Payload.ts'
import { signerOf } from '../signing/signerOf.ts'
import { fromRun, nothingToCancel } from '../sink/Run.ts'
import type { Wire } from '../sink/Round.ts'
import type { Sink } from '../sink/Sink.ts'
import { openLane } from '../transport/openLane.ts'
import type { LanePost } from '../transport/openLane.ts'
import { type WebhookOptions, webhookFaults } from './WebhookOptions.ts'
import { nameOf } from './nameOf.ts'
import { signatureOf, wireOf } from './Wire.ts'

export type { Egress, EgressRules } from '../transport/Egress.ts'
export { statusTable } from '../transport/StatusTable.ts'
export type { StatusMeaning, StatusRule, StatusTable } from '../transport/StatusTable.ts'
export type { TlsOptions } from '../transport/Tls.ts'
export type { WebhookOptions } from './WebhookOptions.ts'

const checked = (target: string | WebhookOptions): WebhookOptions => {
  const options = typeof target === 'string' ? { url: target } : target
  const faults = webhookFaults(options)
  if (faults.length === 0) return options
  const lines = faults.map(({ path, message }) => (path === '' ? message : `${path} ${message}`))
  throw new TypeError(`a webhook cannot be made like this: ${lines.join('; ')}`)
}

const VISIBLE = /^[\x21-\x7e]+$/

/** An id may hold anything, a header may not: what is not visible ASCII is percent-encoded. */
const inHeader = (id: string): string =>
  VISIBLE.test(id) ? id : encodeURIComponent(Buffer.from(id).toString())

/**
 * A sink that posts each payload to a URL as JSON. Its verdict is the status, out as soon as the status line is there; it
 * completes when the rest of the answer, of which it reads at most 16 KiB, is read or dropped. Unsubscribing destroys the socket.
 *
 * Any 2xx is delivered; 408, 425, 429, 5xx, and a connection that fails or breaks may be tried again; a redirect, any other 4xx, a
 * certificate that does not verify and a forbidden address are final (DE2, DE13). It never follows a redirect, never
 * inflates, and sends nothing at or after `attempt.until`. It has no time limit of its own but for connecting: put it
 * into `timingOut(5_000)` (DE3).
 *
 * Its name is the URL up to the query, with a hash of the query if there is one.
 *
 * @throws TypeError naming everything that is wrong with the options, and no secret or header value.
 *
 * @example
 * import { webhook } from 'headrace/sinks/webhook'
 * const sink = webhook({ url: 'https://receiver.example/hook?token=1', headers: { 'X-Api-Key': 'k' }, secret: 'correct horse' })
 * console.log(sink.name) // => https://receiver.example/hook?b35c04b9
 */
export const webhook = (target: string | WebhookOptions): Sink<Payload<unknown>> => {
  const options = checked(target)
  const { headers = {}, secret, messageIdHeader, userAgent = 'headrace/1.0', clock = systemClock } = options
  const url = new URL(options.url)
  const name = nameOf(url)
  const own: Signer | undefined = secret === undefined ? undefined : signerOf(secret)
  const lane = openLane({ ...options, clock, url, name })
  const fixed = [
    ...['Content-Type', 'application/json', 'User-Agent', userAgent],
    ...Object.entries(headers).flat(),
  ]

  const headersOf = (payload: Payload<unknown>, wire: Wire): string[] => {
    const signer = own ?? payload.signer
    const all = [...fixed]
    if (signer !== undefined) all.push('X-Signature', signatureOf(wire, signer))
    if (messageIdHeader !== undefined) all.push(messageIdHeader, inHeader(payload.id))
    return all
  }

  return fromRun(
    name,
    (payload, attempt, receiver) => {
      let post: LanePost
      try {
        const wire = wireOf(payload, attempt.round, clock.now())
        post = { headers: headersOf(payload, wire), body: wire.bytes, until: attempt.until }
      } catch (defect) {
        // A frame or a signer may be somebody else's.
        receiver.error(defect)
        return nothingToCancel
      }
      return lane.post(post, receiver)
    },
    lane.close,
  )
}
