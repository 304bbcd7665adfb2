/** `headrace/sinks/webhook`: a sink that posts to a URL. @module */
import type { Payload } from '../event/payload.ts'
import type { Sink } from '../sink/sink.ts'
import { withTimeout } from '../sink/timeout.ts'
import { bareWebhook, type WebhookOptions } from './bareWebhook.ts'
import { queued } from './httpOptions.ts'

export type { Egress, EgressRules } from './egress.ts'
export { statusTable, type StatusRule, type StatusTable } from '../sink/status.ts'
export type { TlsOptions } from './tls.ts'
export type { WebhookOptions } from './bareWebhook.ts'

/**
 * A sink that posts each payload to a URL, as JSON or in the payload's own format. The verdict is the status,
 * and comes with the status line; the delivery completes when the rest of the answer is read (at most 16 KiB)
 * or dropped. Unsubscribing destroys the socket.
 *
 * Any 2xx is delivered; 408, 425, 429, 5xx, and a connection that fails or breaks may be tried again; a
 * redirect, any other 4xx, a certificate that does not verify and a forbidden address are final. It never
 * follows a redirect, never inflates, and sends nothing at or after `attempt.until`. A wait for one of its
 * `connections` does not count towards its `timeout`.
 *
 * Its name is the URL up to the query, with a hash of the query if there is one.
 *
 * @throws ConfigError that names every wrong option, and no secret or header value.
 *
 * @example
 * import { webhook } from 'headrace/sinks/webhook'
 * const sink = webhook({
 *   url: 'https://receiver.example/hook?token=1',
 *   headers: { 'X-Api-Key': 'k' },
 *   secret: 'correct horse',
 * })
 * console.log(sink.name) // => https://receiver.example/hook?739580765d127026
 */
export const webhook = (target: string | WebhookOptions): Sink<Payload<unknown>> => {
  const given = typeof target === 'object' ? target : { url: target }
  const sink = bareWebhook(given)
  const { timeout = 5_000 } = given
  return queued(timeout === Infinity ? sink : withTimeout({ timeout })(sink), given)
}
