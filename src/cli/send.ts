/** `send` and `batch`: their destination or client, made from the flags. */
import { isLeft } from '../core/either.ts'
import type { ClientCall } from '../client/client.ts'
import { createClient } from '../client/createClient.ts'
import { systemClock } from '../core/clock.ts'
import { faultText } from '../core/refusal.ts'
import { webhookDestination } from '../destination/createDestination.ts'
import type { DestinationOptions } from '../destination/destination.ts'
import { decodeSettings, type Settings } from '../destination/settings.ts'
import type { Call } from '../event/model.ts'
import * as retry from '../policy/retryPolicy.ts'
import { placeOf, type OptionsOf } from './flags.ts'
import { MAX_WAITING_BYTES, forward, type Job } from './forward.ts'
import { openInput } from './input.ts'
import { UsageError } from './options.ts'
import type { Terminal } from './terminal.ts'

/** The standard retry policy with another deadline; 0 is one attempt. */
const retryFor = (millis: number): retry.RetryPolicy => {
  const delays = retry.fullJitter(retry.capDelay(600_000)(retry.exponential()))
  const end = millis === 0 ? retry.limitRetries(0) : retry.deadline(millis)
  return retry.both(delays, retry.both(end, retry.respectRetryAfter))
}

export const toWebhooks =
  (settings: Settings, options: Omit<DestinationOptions, 'outbox' | 'onEvent'>): Job['open'] =>
  (onEvent, outbox) => {
    const destination = webhookDestination(settings, {
      maxBytes: MAX_WAITING_BYTES,
      logger: false,
      onEvent,
      ...options,
      ...(outbox && { outbox }),
    })
    // `send` checks any value, and answers `Invalid` for one that is no call.
    return { ...destination, offer: (value) => destination.send(value as Call) }
  }

/** The request options of `--header`, `--header-env` and `--tls-ca`. */
const requestsOf = ({ headers, headersEnv, tlsCa }: OptionsOf<'send' | 'batch'>) => {
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
  if (Object.keys(headersEnv).some((name) => names.has(name.toLowerCase())))
    throw new UsageError('--header-env has a name that --header gives too: give each header once')
  return { headers: { ...headers, ...headersEnv }, ...(tlsCa !== undefined && { tls: { ca: tlsCa } }) }
}

export const sendCommand = async (options: OptionsOf<'send'>, terminal: Terminal, file: string) => {
  const { urls, secret, egress, timeout, concurrency, maxWaiting, fromStart } = options
  const place = placeOf(options)
  const webhooks = urls.map((url) => ({ url, ...requestsOf(options) }))
  const settings = decodeSettings({ webhooks, ...(secret && { sharedSecret: secret }) }, egress)
  if (isLeft(settings)) {
    const sentences = settings.left.map((fault) =>
      faultText(fault)
        .replaceAll(/webhooks\[(\d+)\]\.url/g, (_, at: string) => `--to number ${String(Number(at) + 1)}`)
        .replace(/^webhooks\[\d+\]\.headers\.?/, '--header ')
        .replace(/^webhooks\[\d+\]\.tls\.ca/, '--tls-ca'),
    )
    // All URLs have the same headers, and the same faults of them.
    throw new UsageError(...new Set(sentences))
  }
  if (fromStart && place === undefined)
    throw new UsageError('--from-start needs --outbox: without it every input is read from its first line')
  const input = await openInput(file, terminal.host)
  const limits = { timeout, concurrency, egress, maxCount: maxWaiting }
  const open = toWebhooks(settings.right, { retry: retryFor(options.retryFor), ...limits })
  return (await forward({ ...options, place, input, open }, terminal)).code
}

export const batchCommand = async (options: OptionsOf<'batch'>, terminal: Terminal, file: string) => {
  const { endpoint, flushAt, flushAfter, timeout, concurrency, egress } = options
  const asked = { ...requestsOf(options), endpoint, flushAt, flushAfter, timeout, concurrency, egress }
  const open: Job['open'] = (onEvent) => {
    const client = createClient(options.writeKey, {
      ...asked,
      onEvent,
      maxCount: options.maxWaiting,
      maxBytes: MAX_WAITING_BYTES,
      retry: retryFor(options.retryFor),
      // Unlike in a host, timers of the command keep the process alive, and the command ends by itself.
      clock: systemClock,
      drainOnExit: false,
      logger: false,
    })
    // `send` checks any value, and answers `Invalid` for one that is no call.
    return { ...client, offer: (value) => client.send(value as ClientCall), idle: client.flush }
  }
  return (await forward({ ...options, input: await openInput(file, terminal.host), open }, terminal)).code
}
