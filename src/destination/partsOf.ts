import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { systemClock } from '../clock/Clock.ts'
import type { Fault } from '../outcome/Refusal.ts'
import type { DestinationOptions } from './Destination.ts'
import { isRetryPolicy } from '../policy/isRetryPolicy.ts'
import { outboxFaults } from './keeping/outboxFaults.ts'
import { numbersOf } from './numbersOf.ts'
import type { Parts } from './openDestination.ts'
import type { Settings } from './Settings.ts'
import { webhooksOf } from './webhooksOf.ts'

/** Looked at before anything is opened: what fails later would leave a folder open. */
const retryFaults = (retry: unknown): ReadonlyArray<Fault> =>
  retry === undefined || isRetryPolicy(retry)
    ? []
    : [{ path: 'retry', message: 'must be a RetryPolicy: make it with the constructors' }]

/** What decoded settings stand for, or what is wrong with the options that all their URLs share. */
export const partsOf = (
  settings: Settings,
  options: DestinationOptions,
): Either<ReadonlyArray<Fault>, Parts> => {
  const { clock = systemClock, egress, statuses, messageIdHeader, outbox, retry } = options
  const { enabled = true } = settings
  const shared = { clock, egress, statuses, messageIdHeader, connections: numbersOf(options).concurrency }
  const urls = webhooksOf(settings, shared)
  const faults = [...(isLeft(urls) ? urls.left : []), ...outboxFaults(outbox), ...retryFaults(retry)]
  return isLeft(urls) || faults.length > 0 ? left(faults) : right({ urls: urls.right, enabled })
}
