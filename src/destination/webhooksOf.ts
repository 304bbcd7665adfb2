import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Clock } from '../clock/Clock.ts'
import type { Event } from '../event/Event.ts'
import type { Payload } from '../event/Payload.ts'
import type { Fault } from '../outcome/Refusal.ts'
import type { Sink } from '../sink/Sink.ts'
import { webhook } from '../sinks/webhook.ts'
import type { WebhookOptions } from '../sinks/webhook.ts'
import { webhookFaults } from '../sinks/WebhookOptions.ts'
import type { DestinationOptions } from './Destination.ts'
import type { Settings } from './Settings.ts'

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
