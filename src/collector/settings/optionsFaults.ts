import { hasFunctions, isRecord } from '../../internal/Fields.ts'
import type { Fields } from '../../internal/Fields.ts'
import type { Fault } from '../../outcome/Refusal.ts'
import { isRetryPolicy } from '../../policy/isRetryPolicy.ts'
import { egressFaults } from '../../transport/Egress.ts'
import { statusFaults } from '../../transport/StatusTable.ts'
import type { CollectorOptions } from '../Collector.ts'
import { at } from './Checks.ts'

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
  inRound: whole,
  maxBody: whole,
  egress: egressFaults,
  statuses: statusFaults,
  messageIdHeader: elsewhere,
  outbox: (value) => unless(typeof value === 'function', 'must be a function from a name to an outbox'),
  logger: (value) => (value === false ? [] : logger(value)),
  tell: aFunction,
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
