import { systemClock } from '../core/clock.ts'
import { checkOptions } from '../core/options.ts'
import type { Payload } from '../event/payload.ts'
import { signerOf } from '../signing/sign.ts'
import { nameOf } from '../sink/fromFunction.ts'
import { makeSink } from '../sink/layer.ts'
import type { Sink } from '../sink/sink.ts'
import { openUrlClient } from './urlClient.ts'
import { webhookOptions } from './webhookOptions.ts'
import type { WebhookOptions } from './webhookOptions.ts'
import { signatureOf, wireOf } from './wire.ts'

export type { Egress, EgressRules } from './egress.ts'
export { statusTable } from '../sink/status.ts'
export type { StatusMeaning, StatusRule, StatusTable } from '../sink/status.ts'
export type { TlsOptions } from './tls.ts'
export type { WebhookOptions } from './webhookOptions.ts'

const VISIBLE = /^[\x21-\x7e]+$/

/** An id may hold any character, a header may not: an id that is not visible ASCII is percent-encoded. */
const inHeader = (id: string): string =>
  VISIBLE.test(id) ? id : encodeURIComponent(Buffer.from(id).toString())

/**
 * A sink that posts each payload to a URL as JSON. The verdict is the status, and comes with the status line; the delivery completes
 * when the rest of the answer is read (at most 16 KiB) or dropped. Unsubscribing destroys the socket.
 *
 * Any 2xx is delivered; 408, 425, 429, 5xx, and a connection that fails or breaks may be tried again; a redirect, any other 4xx, a
 * certificate that does not verify and a forbidden address are final. It never follows a redirect, never
 * inflates, and sends nothing at or after `attempt.until`. Its only time limit is for connecting: put it
 * into `withTimeout(5_000)`.
 *
 * Its name is the URL up to the query, with a hash of the query if there is one.
 *
 * @throws ConfigError that names every wrong option, and no secret or header value.
 *
 * @example
 * import { webhook } from 'headrace/sinks/webhook'
 * const sink = webhook({ url: 'https://receiver.example/hook?token=1', headers: { 'X-Api-Key': 'k' }, secret: 'correct horse' })
 * console.log(sink.name) // => https://receiver.example/hook?b35c04b9
 */
export const webhook = (target: string | WebhookOptions): Sink<Payload<unknown>> => {
  const given = typeof target === 'string' ? { url: target } : target
  // The egress rules are needed to check the URL, so they are read first. The input may be anything.
  const egress = (given as Partial<WebhookOptions> | undefined)?.egress
  const options = checkOptions('webhook options', webhookOptions(egress), given)
  const { headers = {}, secret, messageIdHeader, userAgent = 'headrace/1.0', clock = systemClock } = options
  const url = new URL(options.url)
  const name = nameOf(url)
  const ownSigner = secret === undefined ? undefined : signerOf(secret)
  const client = openUrlClient({ ...options, clock, url, name })
  const fixed = [
    ...['Content-Type', 'application/json', 'User-Agent', userAgent],
    ...Object.entries(headers).flat(),
  ]

  return makeSink(
    name,
    (payload, attempt, observer) => {
      const wire = wireOf(payload, attempt.shared, clock.now())
      const all = [...fixed]
      const signer = ownSigner ?? payload.signer
      if (signer !== undefined) all.push('X-Signature', signatureOf(wire, signer))
      if (messageIdHeader !== undefined) all.push(messageIdHeader, inHeader(payload.id))
      return client.post({ headers: all, body: wire.bytes, until: attempt.until }, observer)
    },
    client.close,
  )
}
