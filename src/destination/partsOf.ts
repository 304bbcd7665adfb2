import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { systemClock } from '../clock/Clock.ts'
import type { Fault } from '../outcome/Refusal.ts'
import type { DestinationOptions } from './Destination.ts'
import { outboxFaults } from './keeping/outboxFaults.ts'
import { numbersOf } from './numbersOf.ts'
import type { Parts } from './openDestination.ts'
import type { Settings } from './Settings.ts'
import { webhooksOf } from './webhooksOf.ts'

/** What decoded settings stand for, or what is wrong with the options that all their URLs share. */
export const partsOf = (
  settings: Settings,
  options: DestinationOptions,
): Either<ReadonlyArray<Fault>, Parts> => {
  const { clock = systemClock, egress, statuses, messageIdHeader, outbox } = options
  const { enabled = true, sharedSecret } = settings
  const shared = { clock, egress, statuses, messageIdHeader, connections: numbersOf(options).concurrency }
  const urls = webhooksOf(settings, shared)
  const faults = [...(isLeft(urls) ? urls.left : []), ...outboxFaults(outbox)]
  return isLeft(urls) || faults.length > 0 ? left(faults) : right({ urls: urls.right, sharedSecret, enabled })
}
