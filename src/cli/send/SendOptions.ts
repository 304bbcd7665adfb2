/**
 * What `send` was told, read into values.
 *
 * @module
 */
import { left, right } from 'fp-ts/lib/Either.js'
import { decodeSettings } from '../../destination/Settings.ts'
import type { Settings } from '../../destination/Settings.ts'
import { OUTPUTS } from '../output/Output.ts'
import type { Output } from '../output/Output.ts'
import { all, ifGiven, wrong } from '../values/Checked.ts'
import type { Checked } from '../values/Checked.ts'
import { parseChoice } from '../values/parseChoice.ts'
import { parseCount } from '../values/parseCount.ts'
import { parseDuration } from '../values/parseDuration.ts'
import { parseFile } from '../values/parseFile.ts'
import { parseHeaders } from '../values/parseHeaders.ts'
import { readSecret } from '../values/readSecret.ts'
import { flagFaults } from './flagFaults.ts'

/** Flags as commander hands them over. */
export interface SendFlags {
  readonly to?: ReadonlyArray<string>
  readonly header?: ReadonlyArray<string>
  readonly secretEnv?: string
  readonly timeout: string
  readonly retryFor: string
  readonly concurrency: string
  readonly maxWaiting: string
  readonly grace: string
  readonly egress: string
  readonly dead?: string
  readonly outbox?: string
  readonly fromStart?: boolean
  readonly output: string
}

/** What `send` works with. Times are milliseconds. */
export interface SendOptions {
  readonly settings: Settings
  readonly timeout: number
  readonly retryFor: number
  readonly concurrency: number
  readonly maxWaiting: number
  readonly grace: number
  readonly egress: 'network' | 'public'
  readonly dead: string | undefined
  readonly outbox: string | undefined
  readonly fromStart: boolean
  readonly output: Output
}

const toUrls = (urls: ReadonlyArray<string>): Checked<ReadonlyArray<string>> =>
  urls.length === 0
    ? wrong('--to is missing: give one to five URLs, such as --to http://127.0.0.1:7412/hook')
    : right(urls)

const fromStart = ({ outbox, fromStart = false }: SendFlags): Checked<boolean> =>
  fromStart && outbox === undefined
    ? wrong(
        '--from-start has a meaning only with --outbox: without it, every input is read from its first line',
      )
    : right(fromStart)

type Environment = Readonly<Record<string, string | undefined>>

const parse = (flags: SendFlags, env: Environment) =>
  all({
    urls: toUrls(flags.to ?? []),
    headers: parseHeaders('--header', flags.header ?? []),
    secret: ifGiven(flags.secretEnv, (name) => readSecret('--secret-env', name, env)),
    timeout: parseDuration('--timeout', flags.timeout),
    retryFor: parseDuration('--retry-for', flags.retryFor, 0),
    concurrency: parseCount('--concurrency', flags.concurrency, 1, 1_000),
    maxWaiting: parseCount('--max-waiting', flags.maxWaiting, 1, 1_000_000),
    grace: parseDuration('--grace', flags.grace, 0),
    egress: parseChoice('--egress', flags.egress, ['network', 'public']),
    dead: ifGiven(flags.dead, (path) => parseFile('--dead', path)),
    outbox: ifGiven(flags.outbox, (path) => parseFile('--outbox', path)),
    fromStart: fromStart(flags),
    output: parseChoice('--output', flags.output, OUTPUTS),
  })

/** Reads the flags of `send`; everything that is wrong is told at once. */
export const sendOptions = (flags: SendFlags, env: Environment): Checked<SendOptions> => {
  const parsed = parse(flags, env)
  if (parsed._tag === 'Left') return parsed
  const { urls, headers, secret, ...rest } = parsed.right
  const settings = decodeSettings(
    {
      ...(secret === undefined ? {} : { sharedSecret: secret }),
      webhooks: urls.map((url) => ({ url, headers })),
    },
    rest.egress,
  )
  return settings._tag === 'Left'
    ? left(flagFaults(settings.left, urls.length))
    : right({ settings: settings.right, ...rest })
}
