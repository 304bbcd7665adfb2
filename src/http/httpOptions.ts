/** Options of HTTP sinks, checked before anything runs. No fault holds a URL, secret or header value. */
import type { Dispatcher } from 'undici'
import { nodeCrypto } from '../core/package.ts'
import { isLeft, left, mapLeft, right, valueOr } from '../core/either.ts'
import { isRecord, type Fields } from '../core/json.ts'
import { checked, decodeOptions, methods, option, optional, optionalKey } from '../core/options.ts'
import { strict, wholeNumber, type Option, type OptionShape } from '../core/options.ts'
import type { Fault } from '../core/refusal.ts'
import { secretFrom, signerFrom, type Secret, type SecretSource } from '../signing/secret.ts'
import { standardSecretFrom, type StandardSecrets, type StandardSecretSource } from '../signing/standard.ts'
import { withConcurrency } from '../sink/concurrency.ts'
import type { Sink } from '../sink/sink.ts'
import { statusesOption, type StatusTable } from '../sink/status.ts'
import { egressOption, guardOf, type Egress } from './egress.ts'
import { tlsOption, type TlsOptions } from './tls.ts'

/** How requests to a URL are made. Every option may be left out. */
export interface RequestOptions {
  /** Static headers of every request: visible ASCII, and none of those that belong to the request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Authorities to trust, and our own certificate. Verification cannot be turned off. */
  readonly tls?: TlsOptions
  /** Which addresses are dialled. Default: all but link-local and cloud metadata addresses. */
  readonly egress?: Egress
  /**
   * Rules for statuses, before those of `statusTable`: 2xx is success; 408, 425, 429, 5xx are retried; else
   * final. Default: none.
   */
  readonly statuses?: StatusTable
  /** Requests at a time, each on its own connection; 10,000 more may wait, then `queueFull`. Default 16. */
  readonly connections?: number
  /**
   * A Dispatcher of undici 7 or later, such as a ProxyAgent, in place of connections of headrace's own. It
   * connects by itself, so `egress` is checked for the text of the URL only, and not for the addresses that
   * its name has; `tls` and `connectWithin` cannot be given beside it; its own limits of time apply too. It
   * is of the host, who bounds its connections and closes it.
   */
  readonly dispatcher?: Dispatcher
}

/** Deliveries of a public sink that may wait for a connection. */
const MAX_QUEUED = 10_000

/** A sink with a queue for its connections, outside of its time limit: the time counts from the request. */
export const queued = <A>(sink: Sink<A>, { connections = 16 }: RequestOptions): Sink<A> =>
  withConcurrency({ concurrency: connections, queue: MAX_QUEUED })(sink)

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/

/** Visible ASCII, with spaces and tabs inside. Node would cut or refuse anything else at every attempt. */
const HEADER_VALUE = /^([\x21-\x7e]([\t\x20-\x7e]*[\x21-\x7e])?)?$/

/** These belong to the request itself. */
const RESERVED = new Set(
  `connection content-encoding content-length content-type expect host keep-alive
  transfer-encoding upgrade user-agent x-signature`.split(/\s+/),
)

/** The fault of a header name. Names in `taken` cannot be set either. */
export const nameFault = (name: string, taken: ReadonlyArray<string> = []): string | undefined => {
  if (!HEADER_NAME.test(name)) return "is not a header name: use a-z, 0-9 and !#$%&'*+-.^_`|~"
  const folded = name.toLowerCase()
  const isFolded = (each: string): boolean => each.length === name.length && each.toLowerCase() === folded
  return RESERVED.has(folded) || taken.some(isFolded) ? 'belongs to the request and cannot be set' : undefined
}

const valueFault = (value: unknown): string | undefined => {
  if (typeof value !== 'string') return 'must be text'
  if (HEADER_VALUE.test(value)) return undefined
  return 'must be visible ASCII, with no line break, and with no space at its beginning or end'
}

export const faultsAt = (path: string, ...said: ReadonlyArray<string | undefined>): ReadonlyArray<Fault> =>
  said.flatMap((message) => (message === undefined ? [] : [{ path, message }]))

/** The name of a header that a sink sets. `taken`: other names of the sink. */
export const headerNameOption = (taken: ReadonlyArray<string> = []): Option<string> =>
  checked((it) => faultsAt('', typeof it === 'string' ? nameFault(it, taken) : "must be a header's name"))
export const userAgentOption: Option<string> = checked((value) =>
  faultsAt('', value === '' ? 'must not be empty' : valueFault(value)),
)

/** An instance of a class, such as `Headers`, would count as no headers. */
const isPlain = (it: unknown): it is Fields =>
  isRecord(it) && Object.getPrototypeOf(Object.getPrototypeOf(it) ?? Object.prototype) === null

const NOT_PLAIN = 'must be a plain object of names and values, such as Object.fromEntries(headers)'

/** Static headers. `taken`: the sink's own names. A wrong name may hold anything: its index is named. */
export const headersOption = (taken: ReadonlyArray<string> = []): Option<Readonly<Record<string, string>>> =>
  checked<Readonly<Record<string, string>>>((headers) => {
    if (!isPlain(headers)) return [{ path: '', message: NOT_PLAIN }]
    const seen = new Set<string>()
    return Object.entries(headers).flatMap(([name, value], index) => {
      const folded = name.toLowerCase()
      const twice = seen.has(folded) ? 'is given twice: case makes no difference in a header name' : undefined
      seen.add(folded)
      const path = HEADER_NAME.test(name) ? name : `[${String(index)}]`
      return faultsAt(path, nameFault(name, taken), valueFault(value), twice)
    })
  })

/** The headers of a layer that the request does not have yet. `leftOut` gets the fault of each other one. */
export const addedHeaders = (
  added: Readonly<Record<string, unknown>>,
  present: ReadonlyArray<string>,
  leftOut: (fault: string) => void,
): ReadonlyArray<string> => {
  const taken = present.filter((_, at) => at % 2 === 0)
  const headers: string[] = []
  // Loops: this runs for each request of a traced event (0.9 µs with lists of lists).
  for (const name of Object.keys(added)) {
    const value = added[name]
    const fault = nameFault(name, taken) ?? valueFault(value)
    if (fault === undefined && typeof value === 'string') {
      taken.push(name)
      headers.push(name, value)
      continue
    }
    const shown = HEADER_NAME.test(name) ? name : `[${String(Object.keys(added).indexOf(name))}]`
    leftOut(`the header ${shown} of a layer was left out: it ${String(fault)}`)
  }
  return headers
}

/** A URL parser drops or changes these, so the text would not show which address is dialled. */
const DROPPED_OR_CHANGED = /[\s\\\p{Cc}]/u

const MAX_URL = 8_000
/** The longest name that DNS has. */
const MAX_HOST = 253

const CREDENTIALS = 'must not have a user name or a password, which logs show: leave them out or use a header'

const urlFaults = (url: unknown, egress: unknown): ReadonlyArray<string | undefined> => {
  if (typeof url !== 'string' || url === '') return ['must be text: an http or https URL']
  if (url.length > MAX_URL) return [`must have at most ${String(MAX_URL)} characters`]
  if (DROPPED_OR_CHANGED.test(url))
    return ['must not have a backslash, a control character or white space: encode it with %']
  // Not `URL.canParse`: in Node 20 it refuses accents when it is compiled, after some thousand calls.
  const parsed = valueOr(undefined, () => new URL(url))
  if (parsed === undefined) return ['is not a URL: it must look like https://receiver.example/hook']
  const { username, password, hostname, port } = parsed
  if (!/^https?:\/\/[^/?#]/i.test(url)) return ['must begin with http:// or https://']
  if (hostname.length > MAX_HOST) return [`must have a host of at most ${String(MAX_HOST)} characters`]
  const rules = decodeOptions(egressOption, egress)
  const reason = guardOf(isLeft(rules) ? 'network' : rules.right).host(hostname)
  return [
    username === '' && password === '' ? undefined : CREDENTIALS,
    port === '0' ? 'must not have the port 0' : undefined,
    reason === undefined ? undefined : `points to an address that is not allowed: ${reason}`,
  ]
}

/**
 * The URL of a receiver, as text. A literal address is checked by the egress rules after parsing, so every
 * spelling of it is found. Wrong rules count as the default.
 */
export const urlOption = (egress?: unknown): Option<string> =>
  checked((url) => faultsAt('', ...urlFaults(url, egress)))

type Credentials = Pick<RequestOptions, 'headers' | 'tls'> & { readonly url: string }

const HIDDEN = '[hidden]'

/** 64 bits of SHA-256: tell two queries apart in a name and show neither. */
const fingerprint = (text: string): string => nodeCrypto().hash('sha256', text, 'hex').slice(0, 16)

/** The name of a sink for a URL: the URL up to the query, with a hash of the query if there is one. */
export const urlName = ({ origin, pathname, search }: URL): string =>
  search === '' ? origin + pathname : `${origin}${pathname}?${fingerprint(search)}`

/** The same settings; `util.inspect` and JSON show no header values, no `tls` and no query of the URL. */
export const withoutCredentials = <A extends Credentials>(settings: A): A => {
  const { url, headers, tls } = settings
  const shown = {
    ...settings,
    url: urlName(new URL(url)),
    ...(headers && { headers: Object.fromEntries(Object.keys(headers).map((name) => [name, HIDDEN])) }),
    ...(tls && { tls: HIDDEN }),
  }
  const show = { value: () => shown }
  const inspected = Symbol.for('nodejs.util.inspect.custom')
  return Object.defineProperties({ ...settings }, { toJSON: show, [inspected]: show })
}

export const secretOption: Option<Secret> = option('a secret', (it) => {
  if (typeof it !== 'object' || it === null) return mapLeft(({ message }: Fault) => message)(secretFrom(it))
  // Only a real secret has a signer.
  return isLeft(signerFrom(it)) ? left('must be text, or a Secret made in code') : right(it as Secret)
})

/** The same, or a function that is asked for it at each attempt. Its answer is checked then. */
export const secretSourceOption = option<SecretSource>('a secret', (value) =>
  typeof value === 'function' ? right(value as () => Secret | string) : decodeOptions(secretOption, value),
)

/** Secrets of Standard Webhooks, or a function that is asked for them at each attempt, and checked then. */
export const standardSecretOption = option<StandardSecretSource>('a standard secret', (value) =>
  typeof value === 'function'
    ? right(value as () => StandardSecrets)
    : mapLeft((fault: Fault) => [fault])(standardSecretFrom(value)),
)

export const dispatcherOption = methods<Dispatcher>('an undici Dispatcher', 'dispatch')

const requestShape = {
  tls: optionalKey(tlsOption),
  egress: optionalKey(egressOption),
  statuses: optional(statusesOption),
  connections: optional(wholeNumber('connections', 1)),
  dispatcher: optionalKey(dispatcherOption),
}

const CONNECTS = 'connects by itself: leave out tls and connectWithin'

/** The shared options and one sink's own, which may depend on the input: egress rules check a URL. */
export const sinkSettings = <A extends RequestOptions>(
  ownOf: (given: Fields) => Readonly<Record<Exclude<keyof A, keyof typeof requestShape>, Option<unknown>>>,
): Option<A> =>
  option('request options', (input) => {
    const shape: OptionShape = { ...requestShape, ...ownOf(isRecord(input) ? input : {}) }
    const rule = ({ dispatcher, tls, connectWithin }: Fields): ReadonlyArray<Fault> =>
      faultsAt('dispatcher', dispatcher && (tls ?? connectWithin) !== undefined ? CONNECTS : undefined)
    // `A` is the type of its own options; `RequestOptions` lists the others.
    return decodeOptions(strict(shape, rule) as Option<unknown> as Option<A>, input)
  })
