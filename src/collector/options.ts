import { hasFunctions, isRecord } from '../core/json.ts'
import type { Fields } from '../core/json.ts'
import { decodeOptions } from '../core/options.ts'
import type { Fault } from '../core/refusal.ts'
import { egressFaults } from '../http/egress.ts'
import { storedIn } from '../outbox/lmdb/contract.ts'
import { isRetryPolicy } from '../policy/retryPolicy.ts'
import { statusFaults } from '../sink/status.ts'
import type { CollectorOptions } from './collector.ts'
import { at } from './settings.ts'

type Faults = ReadonlyArray<Fault>
type Check = (value: unknown) => Faults

const unless = (isRight: boolean, message: string): Faults => (isRight ? [] : [at('', message)])

const whole: Check = (value) =>
  unless(Number.isSafeInteger(value) && Number(value) >= 1, 'must be a whole number from 1')

const aFunction: Check = (value) => unless(typeof value === 'function', 'must be a function')

const withFunctions =
  (what: string, ...members: ReadonlyArray<string>): Check =>
  (value) =>
    unless(hasFunctions(value, members), `must be ${what}`)

const logger = withFunctions('a Logger, or false', 'debug', 'info', 'warn', 'error')

/** What every webhook checks, with its own headers. */
const elsewhere: Check = () => []

const checks: Readonly<Record<keyof CollectorOptions, Check>> = {
  retry: (value) => unless(isRetryPolicy(value), 'must be a RetryPolicy'),
  timeout: whole,
  concurrency: whole,
  orderBy: aFunction,
  maxCount: whole,
  maxBytes: whole,
  maxInFlight: whole,
  maxBody: whole,
  egress: egressFaults,
  statuses: statusFaults,
  messageIdHeader: elsewhere,
  outbox: (value) => unless(typeof value === 'function', 'must be a function from a name to an outbox'),
  logger: (value) => (value === false ? [] : logger(value)),
  onEvent: aFunction,
  clock: withFunctions('a Clock', 'now', 'monotonic', 'schedule'),
  random: aFunction,
  newId: aFunction,
  whenFull: (value) => unless(value === 'deadLetter' || value === 'refuse', 'must be deadLetter or refuse'),
  maxMessage: whole,
  maxBatch: whole,
  uploadTimeout: whole,
  maxUploading: whole,
}

const pathOf = (name: string, path: string): string => {
  if (path === '') return name
  return path.startsWith('[') ? name + path : `${name}.${path}`
}

const faultsOf = (options: Fields): Faults => [
  ...Object.entries(checks).flatMap(([name, check]) => {
    const value = options[name]
    return value === undefined ? [] : check(value).map(({ path, message }) => at(pathOf(name, path), message))
  }),
  ...Object.keys(options)
    .filter((name) => !Object.hasOwn(checks, name))
    .map((name) => at(name, `is no option of a collector; there are ${Object.keys(checks).join(', ')}`)),
]

/** What is wrong with the options of a collector, by themselves: every fault at once, a misspelt name too (HD14). Never throws. */
export const optionsFaults = (options: unknown): Faults => {
  if (!isRecord(options)) return [at('', 'the options must be an object')]
  try {
    return faultsOf(options)
  } catch {
    return [at('', 'the options could not be read: give plain data')]
  }
}

/** What is wrong with the folder of a destination; undefined stands for memory. */
export const outboxFaults = (outbox: unknown, path: string): ReadonlyArray<Fault> => {
  if (outbox === undefined) return []
  if (!isRecord(outbox)) return [at(path, 'must be an object with the path of a folder')]
  const decoded = decodeOptions(storedIn, outbox)
  return decoded._tag === 'Right' ? [] : decoded.left.map((each) => at(`${path}.${each.path}`, each.message))
}
