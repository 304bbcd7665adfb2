import { isLeft } from 'fp-ts/lib/Either.js'
import { faultText } from '../core/refusal.ts'
import type { Fault } from '../core/refusal.ts'
import { webhookDestination } from '../destination/createDestination.ts'
import type { DestinationOptions } from '../destination/destination.ts'
import { decodeSettings } from '../destination/settings.ts'
import type { Settings } from '../destination/settings.ts'
import type { Call } from '../event/model.ts'
import type { OptionsOf } from './flags.ts'
import { MAX_BYTES, forward, retryFor } from './forward.ts'
import type { Job } from './forward.ts'
import { openInput } from './input.ts'
import { UsageError } from './options.ts'
import type { Terminal } from './terminal.ts'

/** A fault of the settings in the words of the flags. */
const sentenceOf = (fault: Fault): string =>
  faultText(fault)
    .replaceAll(/webhooks\[(\d+)\]\.url/g, (_, at: string) => `--to number ${String(Number(at) + 1)}`)
    .replace(/^webhooks\[\d+\]\.headers\./, '--header ')

/** Delivers to webhooks. */
export const toWebhooks =
  (settings: Settings, options: Omit<DestinationOptions, 'outbox' | 'onEvent'>): Job['open'] =>
  (onEvent, outbox) => {
    const stored = outbox === undefined ? {} : { outbox }
    const destination = webhookDestination(settings, {
      ...{ maxBytes: MAX_BYTES, logger: false, onEvent },
      ...options,
      ...stored,
    })
    // `send` checks whatever it gets, and answers `Invalid` for what is no call.
    return { ...destination, offer: (value) => destination.send(value as Call) }
  }

/** `headrace send`: sends NDJSON events to one to five URLs. */
export const sendCommand = async (
  options: OptionsOf<'send'>,
  terminal: Terminal,
  file: string,
): Promise<number> => {
  const { urls, headers, secret, egress, timeout, concurrency, maxWaiting, outbox, fromStart } = options
  const webhooks = urls.map((url) => ({ url, headers }))
  const settings = decodeSettings(
    secret === undefined ? { webhooks } : { sharedSecret: secret, webhooks },
    egress,
  )
  // All URLs have the same headers, and the same faults of them.
  if (isLeft(settings)) throw new UsageError(...new Set(settings.left.map(sentenceOf)))
  if (fromStart && outbox === undefined)
    throw new UsageError('--from-start needs --outbox: without it every input is read from its first line')
  const input = await openInput(file, terminal.host)
  const retry = retryFor(options.retryFor)
  const open = toWebhooks(settings.right, { retry, timeout, concurrency, egress, maxCount: maxWaiting })
  return (await forward({ ...options, input, open }, terminal)).code
}
