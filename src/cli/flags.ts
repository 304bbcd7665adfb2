/**
 * The flags of all commands: how they stand in the help, and how their texts become values.
 *
 * @module
 */

import { Option } from 'commander'
import { right } from 'fp-ts/lib/Either.js'
import type { Event } from '../event/event.ts'
import type { Secret } from '../signing/secret.ts'
import {
  OUTPUTS,
  all,
  parseChoice,
  parseCount,
  parseDuration,
  parseFile,
  parseHeaders,
  parseMoment,
  parseRate,
  readSecret,
  readVariable,
  wrong,
} from './options.ts'
import type { Checked, Environment, Output } from './options.ts'

/** A flag. `read` gets its name, and its text if it was given. */
export interface Flag<A> {
  readonly option: Option
  readonly read: (name: string, text: string | undefined, env: Environment) => Checked<A>
}

/** The flags from which options are read. */
export type FlagsOf<O> = { readonly [K in keyof O]: Flag<O[K]> }

type Parse<A> = (name: string, text: string, env: Environment) => Checked<A>

const withDefault = <A>(option: string, help: string, preset: string, parse: Parse<A>): Flag<A> => ({
  option: new Option(option, help).default(preset),
  read: (name, text = preset, env) => parse(name, text, env),
})

const optional = <A>(option: string, help: string, parse: Parse<A>): Flag<A | undefined> => ({
  option: new Option(option, help),
  read: (name, text, env) => (text === undefined ? right(undefined) : parse(name, text, env)),
})

const required = <A>(option: string, help: string, missing: string, parse: Parse<A>): Flag<A> => ({
  option: new Option(option, help),
  read: (name, text, env) =>
    text === undefined ? wrong(`${name} is missing: ${missing}`) : parse(name, text, env),
})

const repeated = <A>(
  option: string,
  help: string,
  parse: (name: string, texts: ReadonlyArray<string>) => Checked<A>,
): Flag<A> => ({
  option: new Option(option, help).argParser((text, before: ReadonlyArray<string> | undefined) => [
    ...(before ?? []),
    text,
  ]),
  // `argParser` above makes an array of the texts.
  read: (name, texts) => parse(name, (texts ?? []) as unknown as ReadonlyArray<string>),
})

const isSet = (option: string, help: string): Flag<boolean> => ({
  option: new Option(option, help),
  read: (_, given) => right(given !== undefined),
})

/** The values of all flags. Every fault is told at once. */
export const optionsOf = <O extends object>(
  flags: FlagsOf<O>,
  given: Readonly<Record<string, string | undefined>>,
  env: Environment,
): Checked<O> => {
  const read = Object.entries<Flag<unknown>>(flags).map(
    ([key, { option, read }]) => [key, read(option.long ?? key, given[option.attributeName()], env)] as const,
  )
  // Each key of O has the value that its own flag has read.
  return all(Object.fromEntries(read)) as Checked<O>
}

const text: Parse<string> = (_, given) => right(given)
const duration: Parse<number> = (name, given) => parseDuration(name, given)
const durationOrZero: Parse<number> = (name, given) => parseDuration(name, given, 0)
const count =
  (min: number, max: number): Parse<number> =>
  (name, given) =>
    parseCount(name, given, min, max)

const SECRET = 'the variable of the environment that holds the shared secret'
const OUTPUT = withDefault('--output <form>', 'lines, json or quiet', 'lines', (name, given) =>
  parseChoice(name, given, OUTPUTS),
)
const GRACE = withDefault(
  '--grace <duration>',
  'after Ctrl-C: time in which retries may start',
  '10s',
  durationOrZero,
)
const EGRESS = withDefault(
  '--egress <where>',
  'network, or public for addresses of the internet only',
  'network',
  (name, given) => parseChoice(name, given, ['network', 'public']),
)
const DEAD = optional(
  '--dead <file>',
  'append what is not delivered, to be sent again; made when needed',
  parseFile,
)
const RETRY_FOR = withDefault(
  '--retry-for <duration>',
  'from the first attempt on; 0s for no retry',
  '4h',
  durationOrZero,
)

const HEADERS = repeated(
  '--header <header>',
  "'Name: value', sent with every request; may be repeated",
  parseHeaders,
)

/** Times in options are milliseconds. */
export interface OutputOptions {
  readonly output: Output
}

export const outputFlags: FlagsOf<OutputOptions> = { output: OUTPUT }

/** What all commands that run until they are stopped have. */
interface RunOptions extends OutputOptions {
  readonly grace: number
  readonly egress: 'network' | 'public'
}

interface SendingOptions extends RunOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly retryFor: number
  readonly maxWaiting: number
  readonly dead: string | undefined
}

/** Of `send`. */
export interface SendOptions extends SendingOptions {
  readonly urls: ReadonlyArray<string>
  readonly secret: Secret | undefined
  readonly timeout: number
  readonly concurrency: number
  readonly outbox: string | undefined
  readonly fromStart: boolean
}

export const sendFlags: FlagsOf<SendOptions> = {
  urls: repeated('--to <url>', 'where to; give it one to five times', (name, urls) =>
    urls.length === 0
      ? wrong(`${name} is missing: give one to five URLs, such as --to http://127.0.0.1:7412/hook`)
      : right(urls),
  ),
  headers: HEADERS,
  secret: optional('--secret-env <name>', `${SECRET}; requests are then signed`, readSecret),
  timeout: withDefault('--timeout <duration>', 'for one attempt', '5s', duration),
  retryFor: RETRY_FOR,
  concurrency: withDefault('--concurrency <n>', 'requests at a time to one URL', '16', count(1, 1_000)),
  maxWaiting: withDefault(
    '--max-waiting <n>',
    'events that wait, in memory or in the outbox; reading waits for them',
    '10000',
    count(1, 1_000_000),
  ),
  dead: DEAD,
  outbox: optional(
    '--outbox <folder>',
    'where events wait on the disk, so that a crash loses none',
    parseFile,
  ),
  fromStart: isSet(
    '--from-start',
    'with --outbox: read FILE from its first line, whatever an earlier run has read',
  ),
  grace: GRACE,
  egress: EGRESS,
  output: OUTPUT,
}

/** Of `batch`. */
export interface BatchOptions extends SendingOptions {
  readonly writeKey: string
  readonly endpoint: string
  readonly flushAt: number
  readonly flushAfter: number
  readonly timeout: number
  readonly concurrency: number
}

export const batchFlags: FlagsOf<BatchOptions> = {
  writeKey: required(
    '--write-key-env <name>',
    'the variable of the environment that holds the write key',
    'name the variable of the environment that holds the write key',
    (name, given, env) => readVariable(name, given, env, 'the write key'),
  ),
  endpoint: withDefault('--endpoint <url>', 'where to', 'http://127.0.0.1:7410/v1/batch', text),
  headers: HEADERS,
  flushAt: withDefault('--flush-at <n>', 'events in a batch', '20', count(1, 1_000_000)),
  flushAfter: withDefault('--flush-after <duration>', 'from the last batch on', '5s', duration),
  timeout: withDefault('--timeout <duration>', 'for one request', '10s', duration),
  retryFor: RETRY_FOR,
  concurrency: withDefault(
    '--concurrency <n>',
    'requests at a time; above 1 no order is kept',
    '1',
    count(1, 1_000),
  ),
  maxWaiting: withDefault(
    '--max-waiting <n>',
    'events that wait in memory; reading waits for them',
    '10000',
    count(1, 1_000_000),
  ),
  dead: DEAD,
  grace: GRACE,
  egress: EGRESS,
  output: OUTPUT,
}

/** Of `collect`. */
export interface CollectOptions extends RunOptions {
  readonly config: string
  readonly host: string
}

export const collectFlags: FlagsOf<CollectOptions> = {
  config: required(
    '--config <file>',
    'sources and destinations, as JSON',
    "give a file of sources and destinations, see 'headrace help collect'",
    text,
  ),
  host: withDefault('--host <address>', 'the address to listen at', '127.0.0.1', (name, given) =>
    given === '' ? wrong(`${name} must be an address`) : right(given),
  ),
  grace: GRACE,
  egress: EGRESS,
  output: OUTPUT,
}

/** Of `listen`. */
export interface ListenOptions extends OutputOptions {
  readonly secret: Secret | undefined
  readonly respond: number
  readonly fail: number
  readonly delay: number
  readonly out: string | undefined
  readonly once: number | undefined
}

export const listenFlags: FlagsOf<ListenOptions> = {
  secret: optional('--secret-env <name>', `${SECRET}; signatures are then verified`, readSecret),
  respond: withDefault('--respond <code>', 'the status of the answers', '200', count(200, 599)),
  fail: withDefault(
    '--fail <rate>',
    'answer 503 to this share of the requests, such as 0.3 or 30%',
    '0',
    parseRate,
  ),
  delay: withDefault('--delay <duration>', 'before each answer', '0s', durationOrZero),
  out: optional('--out <file>', 'append the bodies that were answered 2xx, one a line', parseFile),
  once: optional('--once <n>', 'end after this many requests', count(1, 1_000_000_000)),
  output: OUTPUT,
}

const KINDS: ReadonlyArray<Event['type']> = [
  'page',
  'screen',
  'identify',
  'track',
  'alias',
  'group',
  'delete',
]

/** Of `dead`. */
export interface DeadOptions extends OutputOptions {
  readonly outbox: string
  readonly reason: string | undefined
  readonly status: number | undefined
  readonly kind: Event['type'] | undefined
  /** Milliseconds since 1970. */
  readonly since: number | undefined
}

export const deadFlags: FlagsOf<DeadOptions> = {
  outbox: required(
    '--outbox <folder>',
    'the folder in which events wait',
    'give the folder in which events wait',
    text,
  ),
  reason: optional(
    '--reason <word>',
    'rejected, expired, corrupt, or the reason of a cause, such as status or certificate',
    text,
  ),
  status: optional('--status <code>', 'a status that a receiver answered', count(100, 599)),
  kind: optional('--kind <kind>', 'page, screen, identify, track, alias, group or delete', (name, given) =>
    parseChoice(name, given, KINDS),
  ),
  since: optional('--since <time>', 'ended since then: a time, or how long ago, such as 2h', parseMoment),
  output: OUTPUT,
}

/** Of `redrive`. */
export interface RedriveOptions extends DeadOptions {
  readonly yes: boolean
}

export const redriveFlags: FlagsOf<RedriveOptions> = {
  ...deadFlags,
  yes: isSet('--yes', 'do it; without it they are only counted'),
}

/** Of `purge`. */
export interface PurgeOptions extends RedriveOptions {
  readonly unreadable: boolean
}

export const purgeFlags: FlagsOf<PurgeOptions> = {
  ...redriveFlags,
  unreadable: isSet('--unreadable', 'the same as --reason corrupt'),
}

/** Of `sign`. */
export interface SignOptions {
  readonly secret: Secret
}

export const signFlags: FlagsOf<SignOptions> = {
  secret: required(
    '--secret-env <name>',
    SECRET,
    'name the variable of the environment that holds the secret',
    readSecret,
  ),
}

/** Of `verify`. */
export interface VerifyOptions extends SignOptions {
  readonly signature: string
}

export const verifyFlags: FlagsOf<VerifyOptions> = {
  ...signFlags,
  signature: required(
    '--signature <hex>',
    'the value of the X-Signature header',
    'give the value of the X-Signature header',
    text,
  ),
}
