import { left } from 'fp-ts/lib/Either.js'
import { systemClock } from '../clock/Clock.ts'
import type { Payload } from '../event/Payload.ts'
import { version } from '../internal/version.ts'
import { ConfigError } from '../outcome/ConfigError.ts'
import { retryable } from '../outcome/Failure.ts'
import type { Verdict } from '../outcome/Verdict.ts'
import { fromRun, nothingToCancel, type Receiver } from '../sink/Run.ts'
import type { Attempt, Sink } from '../sink/Sink.ts'
import { openLane } from '../transport/openLane.ts'
import type { LanePost } from '../transport/openLane.ts'
import { explained, judged, redacting } from './AnswerBody.ts'
import { type IngestionOptions, ingestionFaults, targetOf } from './IngestionOptions.ts'
import { nameOf } from './nameOf.ts'
import { signatureOf, wireOf } from './Wire.ts'

export type { Egress, EgressRules } from '../transport/Egress.ts'
export { statusTable } from '../transport/StatusTable.ts'
export type { StatusMeaning, StatusRule, StatusTable } from '../transport/StatusTable.ts'
export type { TlsOptions } from '../transport/Tls.ts'
export { ingestionFaults } from './IngestionOptions.ts'
export type { IngestionOptions, IngestionSettings } from './IngestionOptions.ts'

/** An answer may have a line for each message of a batch. What has more than this is not read: its status decides. */
const MOST_BODY = 1_000_000

/** Whether the body of the answer may say more than its status: who was refused in a batch that was taken, and why a refusal. */
const waitsForBody = (verdict: Verdict): boolean =>
  verdict._tag === 'Right' || (verdict.left._tag === 'Refused' && verdict.left.reason === 'status')

/**
 * A sink that posts batches in the public tracking convention: one request a batch, with Basic authentication (the write key is the
 * user name), the exact bytes of the payload, and `X-Retry-Count` (CL4, CO4, DE12).
 *
 * Statuses mean what they mean to a webhook (DE2): any 2xx is delivered; 408, 425, 429, 5xx, and a connection that fails or breaks
 * may be tried again; a redirect, any other 4xx, a certificate that does not verify and a forbidden address are final. The body of
 * the answer is read too, up to 1,000,000 bytes: a 2xx whose JSON says `"ok":false` fails the messages that it names (a `SomeOf`, by
 * position; all of them if it names none), and what a 4xx says stands in the failure's `detail`, without the write key.
 *
 * A request has `timeout` in whole, from its start to the end of the body. If the status was 2xx and the rest stalls, breaks or is
 * too large, the batch is delivered. Deliveries beyond `connections` wait for one within that time: to let them wait outside of it, put the
 * sink into `limiting`. One bad message costs its whole batch unless `bisecting` is around it, and a `Retry-After` holds back
 * no other batch unless `holdingBack` is.
 *
 * Its name is the URL up to the query, with a hash of the query if there is one.
 *
 * @throws ConfigError naming everything that is wrong, and neither the key nor a header's value.
 *
 * @example
 * import { ingestion } from 'headrace/sinks/ingestion'
 * console.log(ingestion('https://ingest.example', 'a write key').name) // => https://ingest.example/v1/batch
 */
export const ingestion = (
  endpoint: string | URL,
  writeKey: string,
  options: IngestionOptions = {},
): Sink<Payload<unknown>> => {
  const faults = ingestionFaults({ ...options, endpoint, writeKey })
  if (faults.length > 0) throw new ConfigError('an ingestion sink cannot be made like this', faults)
  const { timeout = 10_000, headers = {}, clock = systemClock } = options
  const url = targetOf(endpoint)
  const name = nameOf(url)
  const credentials = Buffer.from(`${writeKey}:`).toString('base64')
  const redact = redacting(writeKey, credentials)
  const lane = openLane({ ...options, clock, url, name, connectWithin: timeout })
  const fixed = [
    ...['Content-Type', 'application/json', 'User-Agent', `headrace-node/${version}`],
    ...['Authorization', `Basic ${credentials}`],
    ...Object.entries(headers).flat(),
  ]
  const timedOut: Verdict = left(retryable('timeout', { detail: `no answer within ${String(timeout)} ms` }))

  const postOf = (payload: Payload<unknown>, attempt: Attempt): LanePost => {
    const wire = wireOf(payload, attempt.round, clock.now())
    const all = [...fixed, 'X-Retry-Count', String(attempt.number - 1)]
    if (payload.signer !== undefined) all.push('X-Signature', signatureOf(wire, payload.signer))
    return { headers: all, body: wire.bytes, until: attempt.until, mostBody: MOST_BODY }
  }

  const spoken = (verdict: Verdict, body: Buffer, payload: Payload<unknown>): Verdict =>
    verdict._tag === 'Left' && verdict.left._tag === 'Refused'
      ? explained(verdict.left, body, redact)
      : judged(verdict, body, payload, redact)

  return fromRun(
    name,
    (payload, attempt, receiver) => {
      let post: LanePost
      try {
        post = postOf(payload, attempt)
      } catch (defect) {
        // A frame or a signer may be somebody else's.
        receiver.error(defect)
        return nothingToCancel
      }
      /** Who is told; undefined when the delivery is over or cancelled. */
      let to: Receiver | undefined = receiver
      let told = false
      /** What the status says, as long as the body may say more. */
      let pending: Verdict | undefined

      const tell = (verdict: Verdict): void => {
        if (told) return
        told = true
        to?.next(verdict)
      }
      const finish = (): void => {
        stopTimer()
        if (pending !== undefined) tell(pending)
        const last = to
        to = undefined
        last?.complete()
      }
      const stopTimer = clock.schedule(timeout, () => {
        cancelPost()
        tell(pending ?? timedOut)
        finish()
      })
      const cancelPost = lane.post(post, {
        next: (verdict) => {
          if (waitsForBody(verdict)) pending = verdict
          else tell(verdict)
        },
        body: (body) => {
          if (pending !== undefined) tell(spoken(pending, body, payload))
        },
        complete: finish,
      })
      return () => {
        to = undefined
        stopTimer()
        cancelPost()
      }
    },
    lane.close,
  )
}
