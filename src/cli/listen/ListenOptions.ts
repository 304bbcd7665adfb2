/**
 * What `listen` was told, read into values.
 *
 * @module
 */
import type { Secret } from '../../signing/Secret.ts'
import { OUTPUTS } from '../output/Output.ts'
import type { Output } from '../output/Output.ts'
import { all, ifGiven } from '../values/Checked.ts'
import type { Checked } from '../values/Checked.ts'
import { parseChoice } from '../values/parseChoice.ts'
import { parseCount } from '../values/parseCount.ts'
import { parseDuration } from '../values/parseDuration.ts'
import { parseRate } from '../values/parseRate.ts'
import { readSecret } from '../values/readSecret.ts'

/** Flags as commander hands them over. */
export interface ListenFlags {
  readonly secretEnv?: string
  readonly respond: string
  readonly fail: string
  readonly delay: string
  readonly out?: string
  readonly once?: string
  readonly output: string
}

/** What `listen` works with. */
export interface ListenOptions {
  readonly port: number
  readonly secret: Secret | undefined
  /** The status of an answer. */
  readonly respond: number
  /** The share of requests that are answered 503. */
  readonly fail: number
  /** Milliseconds before an answer. */
  readonly delay: number
  readonly out: string | undefined
  readonly once: number | undefined
  readonly output: Output
}

/** Reads the arguments of `listen`; everything that is wrong is told at once. */
export const listenOptions = (
  port: string,
  flags: ListenFlags,
  env: Readonly<Record<string, string | undefined>>,
): Checked<ListenOptions> =>
  all({
    port: parseCount('PORT', port, 0, 65_535),
    secret: ifGiven(flags.secretEnv, (name) => readSecret('--secret-env', name, env)),
    respond: parseCount('--respond', flags.respond, 200, 599),
    fail: parseRate('--fail', flags.fail),
    delay: parseDuration('--delay', flags.delay, 0),
    out: ifGiven(flags.out, (path) => ({ _tag: 'Right', right: path })),
    once: ifGiven(flags.once, (count) => parseCount('--once', count, 1, 1_000_000_000)),
    output: parseChoice('--output', flags.output, OUTPUTS),
  })
