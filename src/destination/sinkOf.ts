import { flow } from 'fp-ts/lib/function.js'
import type { Clock } from '../clock/Clock.ts'
import type { Event } from '../event/Event.ts'
import type { Payload } from '../event/Payload.ts'
import { firstSuccess } from '../layers/firstSuccess.ts'
import { limiting } from '../layers/limiting.ts'
import { observing } from '../layers/observing.ts'
import { timingOut } from '../layers/timingOut.ts'
import type { Tell } from '../observe/Happening.ts'
import { webhook } from '../sinks/webhook.ts'
import type { WebhookOptions } from '../sinks/webhook.ts'
import type { Sink } from '../sink/Sink.ts'
import type { DestinationOptions } from './Destination.ts'
import type { Settings, WebhookSettings } from './Settings.ts'

/** What the parts of a destination share. */
export interface SinkSurroundings {
  readonly clock: Clock
  readonly timeout: number
  readonly inRound: number
  readonly tell: Tell
}

const webhookOptions = (
  entry: WebhookSettings,
  options: DestinationOptions,
  clock: Clock,
): WebhookOptions => {
  const { concurrency, egress, statuses, messageIdHeader } = options
  return {
    ...entry,
    clock,
    ...(concurrency === undefined ? {} : { connections: concurrency }),
    ...(egress === undefined ? {} : { egress }),
    ...(statuses === undefined ? {} : { statuses }),
    ...(messageIdHeader === undefined ? {} : { messageIdHeader }),
  }
}

/**
 * Every URL in a lane of its own (DE8), each attempt within its time (DE3), and the first success of all of them (DE1). A lane
 * can hold all that is in a round, so it is full only with what ended elsewhere.
 */
export const sinkOf = (
  settings: Settings,
  options: DestinationOptions,
  { clock, timeout, inRound, tell }: SinkSurroundings,
): Sink<Payload<Event>> => {
  const { concurrency = 16 } = options
  const guarded = flow(
    webhook,
    timingOut(timeout, { clock }),
    observing(tell, { clock, only: 'Attempted' }),
    limiting<Payload<unknown>>({ concurrency, queue: inRound, clock }),
    observing(tell, { clock, only: 'PassedOver' }),
  )
  return firstSuccess(
    settings.webhooks.map((entry) => guarded(webhookOptions(entry, options, clock))),
    { clock },
  )
}
