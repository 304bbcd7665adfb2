import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Clock } from '../core/clock.ts'
import { wholeNumber } from '../core/json.ts'
import type { Fault } from '../core/refusal.ts'
import type { Event } from '../event/event.ts'
import { bodyBytes } from '../event/limits.ts'
import type { Payload } from '../event/payload.ts'
import { webhook } from '../http/webhook.ts'
import { webhookFaults } from '../http/webhookOptions.ts'
import type { WebhookOptions } from '../http/webhookOptions.ts'
import type { Sink } from '../sink/sink.ts'
import type { DestinationOptions } from './destination.ts'
import type { Settings } from './settings.ts'

/** The numbers of a destination, each with its default where none was given. */
export type Numbers = Required<
  Pick<DestinationOptions, 'timeout' | 'concurrency' | 'maxCount' | 'maxBytes' | 'maxInFlight' | 'maxBody'>
>

const DEFAULTS: Numbers = {
  timeout: 5_000,
  concurrency: 16,
  maxCount: 100_000,
  maxBytes: 268_435_456,
  maxInFlight: 1_000,
  maxBody: bodyBytes,
}

/** Reads the numbers of `whose` options. @throws RangeError naming the option that is not a whole number from 1. */
export const numbersOf = (
  options: Pick<DestinationOptions, keyof Numbers>,
  whose = 'webhookDestination',
): Numbers => {
  const read = (name: keyof Numbers, unit: string): number =>
    wholeNumber(`${whose}: ${name}`, unit, 1, options[name] ?? DEFAULTS[name])
  return {
    timeout: read('timeout', 'ms'),
    concurrency: read('concurrency', 'requests'),
    maxCount: read('maxCount', 'items'),
    maxBytes: read('maxBytes', 'bytes'),
    maxInFlight: read('maxInFlight', 'items'),
    maxBody: read('maxBody', 'bytes'),
  }
}

/** What all webhooks of a destination have in common. */
export interface SharedOptions {
  readonly clock: Clock
  readonly connections: number
  readonly egress: DestinationOptions['egress']
  readonly statuses: DestinationOptions['statuses']
  readonly messageIdHeader: DestinationOptions['messageIdHeader']
}

/** The webhook of each URL, or what is wrong with the options that they share: their own settings have been decoded. */
export const webhooksOf = (
  { webhooks, sharedSecret }: Settings,
  { egress, statuses, messageIdHeader, ...others }: SharedOptions,
): Either<ReadonlyArray<Fault>, ReadonlyArray<Sink<Payload<Event>>>> => {
  const shared = {
    ...others,
    ...(egress === undefined ? {} : { egress }),
    ...(statuses === undefined ? {} : { statuses }),
    ...(messageIdHeader === undefined ? {} : { messageIdHeader }),
  }
  const all = webhooks.map((entry): WebhookOptions => {
    const secret = entry.secret ?? sharedSecret
    return { ...entry, ...shared, ...(secret === undefined ? {} : { secret }) }
  })
  const faults = new Map(all.flatMap(webhookFaults).map((fault) => [fault.path, fault]))
  return faults.size > 0 ? left([...faults.values()]) : right(all.map((options) => webhook(options)))
}
