/**
 * What `batch` was told, read into values.
 *
 * @module
 */
import { OUTPUTS } from '../output/Output.ts'
import type { Output } from '../output/Output.ts'
import { all, ifGiven, wrong } from '../values/Checked.ts'
import type { Checked } from '../values/Checked.ts'
import { parseChoice } from '../values/parseChoice.ts'
import { parseCount } from '../values/parseCount.ts'
import { parseDuration } from '../values/parseDuration.ts'
import { parseHeaders } from '../values/parseHeaders.ts'
import { parseFile } from '../values/parseFile.ts'
import { readVariable } from '../values/readVariable.ts'

/** Flags as commander hands them over. */
export interface BatchFlags {
  readonly writeKeyEnv?: string
  readonly endpoint: string
  readonly header?: ReadonlyArray<string>
  readonly flushAt: string
  readonly flushAfter: string
  readonly timeout: string
  readonly retryFor: string
  readonly concurrency: string
  readonly maxWaiting: string
  readonly grace: string
  readonly egress: string
  readonly dead?: string
  readonly output: string
}

/** What `batch` works with. Times are milliseconds. */
export interface BatchOptions {
  readonly writeKey: string
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
  readonly flushAt: number
  readonly flushAfter: number
  readonly timeout: number
  readonly retryFor: number
  readonly concurrency: number
  readonly maxWaiting: number
  readonly grace: number
  readonly egress: 'network' | 'public'
  readonly dead: string | undefined
  readonly output: Output
}

type Environment = Readonly<Record<string, string | undefined>>

const writeKey = (name: string | undefined, env: Environment): Checked<string> =>
  name === undefined
    ? wrong('--write-key-env is missing: name the variable of the environment that holds the write key')
    : readVariable('--write-key-env', name, env, 'the write key')

/** Reads the flags of `batch`; everything that is wrong is told at once. What an endpoint may be is for the client to say. */
export const batchOptions = (flags: BatchFlags, env: Environment): Checked<BatchOptions> =>
  all({
    writeKey: writeKey(flags.writeKeyEnv, env),
    endpoint: { _tag: 'Right', right: flags.endpoint },
    headers: parseHeaders('--header', flags.header ?? []),
    flushAt: parseCount('--flush-at', flags.flushAt, 1, 1_000_000),
    flushAfter: parseDuration('--flush-after', flags.flushAfter),
    timeout: parseDuration('--timeout', flags.timeout),
    retryFor: parseDuration('--retry-for', flags.retryFor, 0),
    concurrency: parseCount('--concurrency', flags.concurrency, 1, 1_000),
    maxWaiting: parseCount('--max-waiting', flags.maxWaiting, 1, 1_000_000),
    grace: parseDuration('--grace', flags.grace, 0),
    egress: parseChoice('--egress', flags.egress, ['network', 'public']),
    dead: ifGiven(flags.dead, (path) => parseFile('--dead', path)),
    output: parseChoice('--output', flags.output, OUTPUTS),
  })
