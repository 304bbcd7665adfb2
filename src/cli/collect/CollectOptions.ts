/**
 * What `collect` was told, read into values.
 *
 * @module
 */
import type { CollectorSettings } from '../../collector/CollectorSettings.ts'
import { readConfig } from '../config/readConfig.ts'
import { OUTPUTS } from '../output/Output.ts'
import type { Output } from '../output/Output.ts'
import { all, wrong } from '../values/Checked.ts'
import type { Checked } from '../values/Checked.ts'
import { parseChoice } from '../values/parseChoice.ts'
import { parseCount } from '../values/parseCount.ts'
import { parseDuration } from '../values/parseDuration.ts'

/** Flags as commander hands them over. */
export interface CollectFlags {
  readonly config?: string
  readonly host: string
  readonly grace: string
  readonly egress: string
  readonly output: string
}

/** What `collect` works with. */
export interface CollectOptions {
  readonly port: number
  readonly host: string
  readonly settings: CollectorSettings
  /** Milliseconds in which retries may still start after a stop. */
  readonly grace: number
  readonly egress: 'network' | 'public'
  readonly output: Output
}

type Environment = Readonly<Record<string, string | undefined>>

const settingsIn = (file: string | undefined, env: Environment): Checked<CollectorSettings> =>
  file === undefined
    ? wrong("--config is missing: give a file of sources and destinations, see 'headrace help collect'")
    : readConfig(file, env)

/** Reads the arguments of `collect`; everything that is wrong is told at once. */
export const collectOptions = (
  port: string,
  flags: CollectFlags,
  env: Environment,
): Checked<CollectOptions> =>
  all({
    port: parseCount('PORT', port, 0, 65_535),
    host:
      flags.host === '' ? wrong('--host must be an address') : { _tag: 'Right' as const, right: flags.host },
    settings: settingsIn(flags.config, env),
    grace: parseDuration('--grace', flags.grace, 0),
    egress: parseChoice('--egress', flags.egress, ['network', 'public']),
    output: parseChoice('--output', flags.output, OUTPUTS),
  })
