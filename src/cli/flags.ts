/** The flags of all commands. Times in the options that they give are milliseconds. */
import { readFileSync } from 'node:fs'
import { left, right } from '../core/either.ts'
import * as as from './options.ts'
import { optional, repeated, required, toggle, withDefault, type ValuesOf } from './options.ts'
import { whyNot } from './report.ts'

const outputs = {
  output: withDefault('--output <form>', 'lines, json or quiet', 'lines', as.choice(...as.OUTPUTS)),
}

const live = { output: withDefault('--output <form>', as.FORMS.join(', '), 'auto', as.choice(...as.FORMS)) }

const inspect = optional('--inspect [port]', 'print a link to a page over what runs', as.count(0, 65_535))
inspect.option.flags = '--inspect[=PORT]'

const link = required('--inspect-env <name>', 'the variable with the link of --inspect', as.linkVariable)

const place = {
  outbox: optional('--outbox <place>', 'where events wait: a folder, or postgres://user@host/db', as.place),
  outboxEnv: optional('--outbox-env <name>', 'the variable that holds that URL', as.placeVariable),
  queue: optional('--queue <name>', 'in PostgreSQL; processes with the same name share it', as.text),
  schema: withDefault('--schema <name>', 'in PostgreSQL', 'headrace', as.text),
}

const server = optional('--outbox <url>', 'postgres://user@host/db', as.place)

/** Where events wait: a folder, or a queue of a server. */
export interface Place {
  /** For people. */
  readonly name: string
  /** The flags that lead there. */
  readonly flags: string
  readonly server?: { readonly url: string; readonly queue: string; readonly schema: string }
}

/** The place that the flags name. @throws UsageError */
export const placeOf = (given: ValuesOf<typeof place>): Place | undefined => {
  const { outbox, outboxEnv, queue, schema } = given
  const url = outboxEnv ?? outbox ?? ''
  const isQueue = queue !== undefined
  if (as.isPostgres(url) && !isQueue) throw new as.UsageError('--outbox postgres://… needs --queue NAME')
  if (isQueue !== as.isPostgres(url) || (schema !== 'headrace' && !isQueue))
    throw new as.UsageError('--queue and --schema need --outbox postgres://user@host/db')
  if (url === '') return undefined
  const at = outboxEnv === undefined ? `--outbox ${url}` : '--outbox-env NAME'
  if (queue === undefined) return { name: url, flags: at }
  const flags = `${at} --queue ${queue}${schema === 'headrace' ? '' : ` --schema ${schema}`}`
  return { name: `the queue ${queue}`, flags, server: { url, queue, schema } }
}

/** Of commands that run until they are stopped. */
const running = {
  grace: withDefault('--grace <duration>', 'for retries to start after Ctrl-C', '10s', as.duration(0)),
  egress: withDefault('--egress <where>', 'network or public', 'network', as.choice('network', 'public')),
  inspect,
  ...live,
}

const SECRET = 'the variable that holds the shared secret'

const pemFile = (path: string) => {
  try {
    const pem = readFileSync(path, 'utf8')
    return pem.includes('-----BEGIN ') ? right(pem) : left('names a file without PEM')
  } catch (error) {
    return left(`'${path}' cannot be read: ${whyNot(error)}`)
  }
}
const tlsCa = optional('--tls-ca <file>', 'PEM of the authorities to trust, not the public ones', pemFile)

const sending = {
  headers: repeated('--header <header>', "'Name: value' for every request; may be repeated", as.headers),
  headersEnv: repeated('--header-env <name=variable>', 'a header, value in a variable', as.headerVariables),
  tlsCa,
  retryFor: withDefault('--retry-for <duration>', 'from the first attempt; 0s: once', '4h', as.duration(0)),
  maxWaiting: withDefault('--max-waiting <n>', 'events; reading waits for them', '2000', as.count(1, 1e6)),
  dead: optional('--dead <file>', 'append what is not delivered, to be sent again', as.text),
  ...running,
}

export const KINDS = ['page', 'screen', 'identify', 'track', 'alias', 'group', 'delete'] as const

const dead = {
  ...place,
  reason: optional('--reason <word>', 'rejected, expired, corrupt, or a cause such as status', right),
  status: optional('--status <code>', 'a status that a receiver answered', as.count(100, 599)),
  kind: optional('--kind <kind>', KINDS.join(', '), as.choice(...KINDS)),
  since: optional('--since <time>', 'ended since then: a time, or how long ago, such as 2h', as.moment),
  ...outputs,
}

const redrive = { yes: toggle('--yes', 'do it; without it they are only counted'), ...dead }

const unreadableFlag = toggle('--unreadable', 'the same as --reason corrupt')
unreadableFlag.option.conflicts('reason')

const signingFlags = { secret: required('--secret-env <name>', SECRET, as.secret) }

export const flags = {
  send: {
    urls: repeated('--to <url>', 'where to; give it one to five times', (urls) => {
      const isCount = urls.length > 0 && urls.length <= 5
      if (isCount) return urls.includes('') ? left('is empty: give a URL') : right(urls)
      return left('must be given one to five times, such as --to http://127.0.0.1:7412/hook')
    }),
    secret: optional('--secret-env <name>', `${SECRET}; requests are then signed`, as.secret),
    timeout: withDefault('--timeout <duration>', 'for one attempt', '5s', as.duration(1)),
    concurrency: withDefault('--concurrency <n>', 'requests at a time to one URL', '16', as.count(1, 1_000)),
    ...place,
    fromStart: toggle('--from-start', 'with --outbox: read FILE from its first line again'),
    ...sending,
  },
  batch: {
    writeKey: required('--write-key-env <name>', 'the variable that holds the write key', as.variable),
    endpoint: withDefault('--endpoint <url>', 'where to', 'http://127.0.0.1:7410/v1/batch', as.text),
    flushAt: withDefault('--flush-at <n>', 'events in a batch', '20', as.count(1, 1e6)),
    flushAfter: withDefault('--flush-after <duration>', 'after the last batch', '5s', as.duration(1)),
    timeout: withDefault('--timeout <duration>', 'for one request', '10s', as.duration(1)),
    concurrency: withDefault('--concurrency <n>', 'requests; above 1 no order', '1', as.count(1, 1_000)),
    ...sending,
  },
  collect: {
    config: required('--config <file>', 'sources and destinations, as JSON', as.text),
    host: withDefault('--host <address>', 'to listen at', '127.0.0.1', as.text),
    ...{ ...place, outbox: server },
    ...running,
  },
  check: outputs,
  'check-receiver': {
    tlsCa,
    output: withDefault('--output <form>', 'text or json', 'text', as.choice('text', 'json')),
    ...signingFlags,
  },
  listen: {
    secret: optional('--secret-env <name>', `${SECRET}; signatures are then verified`, as.secret),
    respond: withDefault('--respond <code>', 'the status of the answers', '200', as.count(200, 599)),
    fail: withDefault('--fail <rate>', 'answer 503 to this share, such as 0.3 or 30%', '0', as.rate),
    delay: withDefault('--delay <duration>', 'before each answer', '0s', as.duration(0)),
    out: optional('--out <file>', 'append the bodies that were answered 2xx, one a line', as.text),
    once: optional('--once <n>', 'end after this many requests', as.count(1, 1e9)),
    bodies: toggle('--bodies', 'print the body of each request too'),
    forwardTo: optional('--forward-to <url>', 'post each there too, and answer as it does', as.httpUrl),
    ...live,
  },
  ls: dead,
  show: dead,
  redrive,
  purge: {
    unreadable: unreadableFlag,
    all: toggle('--all', 'delete every dead letter, where nothing else says which'),
    ...redrive,
  },
  sql: { schema: place.schema },
  migrate: { outbox: server, outboxEnv: place.outboxEnv, schema: place.schema },
  sign: signingFlags,
  verify: {
    signature: required('--signature <hex>', 'the value of the X-Signature header', right),
    ...signingFlags,
  },
  demo: {
    seed: withDefault('--seed <n>', 'the same seed fails the same requests', '20', as.count(0, 2 ** 31)),
    inspect,
    ...live,
  },
  top: { link },
  explain: { link },
  schema: {
    title: withDefault('--title <text>', 'of the document', 'Webhooks', as.text),
    version: withDefault('--api-version <version>', 'of your interface', '1.0.0', as.text),
  },
  gen: {
    count: withDefault('-n, --count <n>', 'how many lines', '100', as.count(1, 1e9)),
    seed: withDefault('--seed <n>', 'the same seed gives the same lines', '1', as.count(0, 2 ** 31)),
    invalid: withDefault('--invalid <rate>', 'the share to be refused, such as 0.05 or 5%', '0', as.rate),
  },
}

/** The values of a command's flags. */
export type OptionsOf<Name extends keyof typeof flags> = ValuesOf<(typeof flags)[Name]>
