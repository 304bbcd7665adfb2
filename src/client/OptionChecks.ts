/**
 * What is wrong with an option of a client, seen by itself.
 *
 * @module
 */
import { hasFunctions } from '../core/json.ts'
import { folderFaults } from '../outbox/lmdb/opening/folderFaults.ts'
import { isRetryPolicy } from '../policy/retryPolicy.ts'
import { isOutbox } from '../outbox/outbox.ts'
import type { ClientOptions } from './ClientOptions.ts'

/** What is wrong with a value, without the value; undefined if nothing is. */
export type OptionCheck = (value: unknown) => string | undefined

const OVERFLOWS: ReadonlyArray<unknown> = ['error', 'dropNewest', 'dropOldest']

/** A whole number from 1. */
const isWhole = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 1

const whole: OptionCheck = (value) => (isWhole(value) ? undefined : 'must be a whole number from 1')

const aFunction: OptionCheck = (value) => (typeof value === 'function' ? undefined : 'must be a function')

const withFunctions =
  (what: string, ...members: ReadonlyArray<string>): OptionCheck =>
  (value) =>
    hasFunctions(value, members) ? undefined : `must be ${what}: an object with ${members.join(', ')}`

const boolean: OptionCheck = (value) => (typeof value === 'boolean' ? undefined : 'must be true or false')

const isFolder = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && 'path' in value && !('enqueue' in value)

const folderFault: OptionCheck = (folder) => {
  const [first] = isFolder(folder) ? folderFaults(folder) : []
  return first && `has a wrong ${first.path}: it ${first.message}`
}

/** What the sink for the endpoint checks, and what the codec checks. */
const elsewhere: OptionCheck = () => undefined

/** What is looked at for each option by itself; how they stand to each other is for `settingsOf`. */
export const optionChecks: Readonly<Record<keyof ClientOptions, OptionCheck>> = {
  size: whole,
  flushAt: whole,
  flushAfter: (value) =>
    isWhole(value) || value === Infinity ? undefined : 'must be a whole number of ms from 1, or Infinity',
  endpoint: elsewhere,
  maxMessage: whole,
  maxBatch: whole,
  maxCount: whole,
  maxBytes: whole,
  overflow: (value) =>
    OVERFLOWS.includes(value) ? undefined : 'must be one of error, dropNewest, dropOldest',
  concurrency: whole,
  key: aFunction,
  retry: (value) =>
    isRetryPolicy(value) ? undefined : 'must be a RetryPolicy: make it with the constructors',
  timeout: whole,
  integrations: elsewhere,
  context: elsewhere,
  enabled: boolean,
  outbox: (value) =>
    isFolder(value)
      ? folderFault(value)
      : isOutbox(value)
        ? undefined
        : 'must be an Outbox, or { path } of a folder',
  sink: (value) =>
    hasFunctions(value, ['deliver', 'close']) && typeof value['name'] === 'string'
      ? undefined
      : 'must be a Sink: an object with a name, deliver, close',
  egress: elsewhere,
  tls: elsewhere,
  headers: elsewhere,
  logger: (value) =>
    value === false
      ? undefined
      : withFunctions('a Logger, or false', 'debug', 'info', 'warn', 'error')(value),
  onEvent: aFunction,
  waitUntil: aFunction,
  drainOnExit: (value) =>
    typeof value === 'boolean' || isWhole(value)
      ? undefined
      : 'must be true, false or a whole number of ms from 1',
  clock: withFunctions('a Clock', 'now', 'monotonic', 'schedule'),
  random: aFunction,
  newId: aFunction,
}
