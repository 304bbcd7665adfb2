/** `headrace/sinks/ingestion`: a sink that posts batches to a collector. @module */
import type { Payload } from '../event/payload.ts'
import type { Sink } from '../sink/sink.ts'
import { bareIngestion, type IngestionOptions } from './bareIngestion.ts'
import { queued } from './httpOptions.ts'

export type { Egress, EgressRules } from './egress.ts'
export { statusTable, type StatusRule, type StatusTable } from '../sink/status.ts'
export type { TlsOptions } from './tls.ts'
export { ingestionFaults, type IngestionOptions, type IngestionSettings } from './bareIngestion.ts'

/**
 * A sink that posts batches in the public tracking convention: one request a batch, with Basic authentication
 * (the write key is the user name), the exact bytes of the payload, and `X-Retry-Count`.
 *
 * Statuses, failed connections and its name are those of `webhook`. The body of the answer is read too, up to
 * 1,000,000 bytes: a 2xx whose JSON has `"ok":false` fails the messages that it names (a `PartlyFailed`, by
 * position; all of them if it names none), and the text of a 4xx is the failure's `detail`, without the write
 * key.
 *
 * `timeout` is for the whole request, from its start to the end of the body. If the status was 2xx and the
 * rest stalls, breaks or is too large, the batch is delivered. A wait for one of its `connections` does not
 * count towards its `timeout`. One bad message fails its whole batch unless `withBisection` is around it, and
 * a `Retry-After` delays no other batch unless `withRetryAfterGate` is.
 *
 * @throws ConfigError that names every wrong option, and neither the key nor a header's value.
 *
 * @example
 * import { ingestion } from 'headrace/sinks/ingestion'
 * console.log(ingestion('https://ingest.example', 'a write key').name) // => https://ingest.example/v1/batch
 */
export const ingestion = (
  endpoint: string | URL,
  writeKey: string,
  options: IngestionOptions = {},
): Sink<Payload<unknown>> => queued(bareIngestion(endpoint, writeKey, options), options)
