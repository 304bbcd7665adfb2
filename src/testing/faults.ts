import { isLeft, left, right, valueOr } from '../core/either.ts'
import type { Clock } from '../core/clock.ts'
import { isRecord } from '../core/json.ts'
import { decodeOptions, guarded, list, oneOf, option, optional, strict, text } from '../core/options.ts'
import { wholeNumber, type Option, type OptionShape } from '../core/options.ts'

/** The fault of a receiver's certificate. @inline */
export type TlsMisbehaviour = 'selfSigned' | 'unknownCa' | 'wrongName' | 'expired'

/** @inline */
type Headers = Readonly<Record<string, string>>

/** A fault of a receiver or of the way to it, as plain data. Times are milliseconds, codes are statuses. */
export type Misbehaviour =
  /** An answer; 200 at once is a healthy receiver. */
  | { readonly do: 'status'; readonly code: number; readonly after?: number; readonly headers?: Headers }
  /** Interim answers at once (default: one 103), the answer after `after` ms, or never without a `code`. */
  | {
      readonly do: 'interim'
      readonly codes?: ReadonlyArray<100 | 102 | 103>
      readonly code?: number
      readonly after?: number
    }
  /** Takes the request and never answers. */
  | { readonly do: 'silence' }
  /** A TCP reset, in place of an answer. */
  | { readonly do: 'reset'; readonly after?: number }
  /** Closes the connection without an answer. */
  | { readonly do: 'hangUp' }
  /** Refuses connections for `lasting` ms (default 50). The rest of the script is for later connections. */
  | { readonly do: 'refuse'; readonly lasting?: number }
  /** The host name does not exist: only in memory. */
  | { readonly do: 'dns' }
  /** A certificate that a client must not accept; no request is sent. */
  | { readonly do: 'tls'; readonly kind: TlsMisbehaviour }
  /** The status and the headers, and then nothing of the body. */
  | { readonly do: 'headersOnly'; readonly code: number }
  /** The body comes one byte at a time and does not end. */
  | { readonly do: 'slowBody'; readonly code: number; readonly bytesPerSecond: number }
  /** Promises 1,000 bytes of body, sends `at` of them, and resets. */
  | { readonly do: 'truncate'; readonly code: number; readonly at: number }
  /** A body of `bytes` bytes (default 1 GB), made as fast as it is read. In memory the body is empty. */
  | { readonly do: 'hugeBody'; readonly code: number; readonly bytes?: number }
  /** Some kilobytes that inflate to 50 MB. In memory the body is empty. */
  | { readonly do: 'gzipBomb'; readonly code: number }
  /** One header of `bytes` bytes (default 100,000). */
  | { readonly do: 'hugeHeader'; readonly bytes?: number }
  /** An answer that is not HTTP. */
  | { readonly do: 'garbage' }
  /** Redirects to the receiver itself, or elsewhere. */
  | { readonly do: 'redirect'; readonly to: 'self' | 'other'; readonly code?: number }

/** One fault for each request, in the order of arrival. Afterwards the answer is 200 at once. */
export type FaultScript = ReadonlyArray<Misbehaviour>

/** The behaviour of a healthy receiver. */
export const healthy: Misbehaviour = { do: 'status', code: 200 }

const code = wholeNumber('', 100, 999)
const bytes = optional(wholeNumber('bytes', 0))
const isTime = (value: unknown): value is number => typeof value === 'number' && value >= 0
const isRate = (value: unknown): value is number => isTime(value) && value < Infinity
const isHeaders = (value: unknown): value is Headers =>
  isRecord(value) && valueOr(false, () => new Response(null, { headers: value as Headers }).ok)
const after = optional(guarded('a number of milliseconds from 0', isTime))

const shapes: Readonly<Record<Misbehaviour['do'], OptionShape>> = {
  status: { code, after, headers: optional(guarded('names and texts of headers', isHeaders)) },
  interim: { codes: optional(list('codes', 0, Infinity, oneOf(100, 102, 103))), code: optional(code), after },
  silence: {},
  reset: { after },
  hangUp: {},
  refuse: { lasting: after },
  dns: {},
  tls: { kind: oneOf<TlsMisbehaviour>('selfSigned', 'unknownCa', 'wrongName', 'expired') },
  headersOnly: { code },
  slowBody: { code, bytesPerSecond: guarded('a finite number', isRate) },
  truncate: { code, at: wholeNumber('bytes', 0) },
  hugeBody: { code, bytes },
  gzipBomb: { code },
  hugeHeader: { bytes },
  garbage: {},
  redirect: { to: oneOf('self', 'other'), code: optional(code) },
}

export const faultOption: Option<Misbehaviour> = option('a fault', (value) => {
  const kind = isRecord(value) ? String(value['do']) : ''
  if (!Object.hasOwn(shapes, kind))
    return left([{ path: 'do', message: `must be one of ${Object.keys(shapes).join(', ')}` }])
  // Each kind has its own shape.
  const decoded = decodeOptions(strict({ do: text, ...shapes[kind as Misbehaviour['do']] }), value)
  return isLeft(decoded) ? decoded : right(value as Misbehaviour)
})

/** Checks a script. A function is asked later. */
export const scriptOption = <S>(): Option<S> =>
  option('a script', (it) => {
    const checked = typeof it === 'function' || decodeOptions(list('faults', 0, Infinity, faultOption), it)
    // A function's type is the caller's word.
    return checked === true || !isLeft(checked) ? right(it as S) : checked
  })

export const REFUSAL_MS = 50
export const HUGE_HEADER = 100_000

/**
 * Gives the fault of each request of a script in memory. A `refuse` of a list lasts from the first request
 * that meets it, for all requests of its time.
 */
export const faultPlayer = <R>(
  clock: Clock,
  script: FaultScript | ((request: R, index: number) => Misbehaviour),
): ((request: R) => Misbehaviour) => {
  let requests = 0
  let step = 0
  let refusedUntil: number | undefined

  return (request) => {
    const index = requests++
    if (typeof script === 'function') return script(request, index)
    if (refusedUntil !== undefined && clock.monotonic() >= refusedUntil) {
      refusedUntil = undefined
      step++
    }
    const fault = script[step] ?? healthy
    if (fault.do === 'refuse') refusedUntil ??= clock.monotonic() + (fault.lasting ?? REFUSAL_MS)
    else step++
    return fault
  }
}

/** It comes whole; null: it never ends; an error: it breaks off. */
type Body = '' | null | Error

/** The effect of a fault on a client, and after how many milliseconds. */
export type Effect =
  | {
      readonly what: 'answer'
      readonly after: number
      readonly status: number
      /** By lower-case name. */
      readonly headers: Headers
      readonly body: Body
    }
  /** With the error of Node or undici. `isSent`: the receiver may have got the request. */
  | { readonly what: 'error'; readonly after: number; readonly error: Error; readonly isSent: boolean }
  | { readonly what: 'nothing' }

/** The errors of Node and undici: their code, message and name. */
const ERRORS = {
  reset: ['ECONNRESET', 'read ECONNRESET', 'Error'],
  hangUp: ['UND_ERR_SOCKET', 'other side closed', 'SocketError'],
  refuse: ['ECONNREFUSED', 'connect ECONNREFUSED', 'Error'],
  dns: ['ENOTFOUND', 'getaddrinfo ENOTFOUND', 'Error'],
  hugeHeader: ['UND_ERR_HEADERS_OVERFLOW', 'Headers Overflow Error', 'HeadersOverflowError'],
  garbage: [undefined, 'Expected HTTP/', 'HTTPParserError'],
  selfSigned: ['DEPTH_ZERO_SELF_SIGNED_CERT', 'self-signed certificate', 'Error'],
  unknownCa: ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'unable to verify the first certificate', 'Error'],
  wrongName: ['ERR_TLS_CERT_ALTNAME_INVALID', "the certificate's names do not include the host", 'Error'],
  expired: ['CERT_HAS_EXPIRED', 'certificate has expired', 'Error'],
} as const

const networkErrorOf = (kind: keyof typeof ERRORS): Error => {
  const [code, message, name] = ERRORS[kind]
  return Object.assign(new Error(message), { name, code })
}

export const effectOf = (fault: Misbehaviour, url: string): Effect => {
  const answer = (status: number, body: Body = '', headers: Headers = {}, after = 0): Effect => {
    return { what: 'answer', after, status, headers, body }
  }
  const fails = (kind: keyof typeof ERRORS, isSent = true, after = 0): Effect => {
    return { what: 'error', after, error: networkErrorOf(kind), isSent }
  }

  switch (fault.do) {
    case 'status': {
      const { code, headers = {}, after } = fault
      const named = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value] as const)
      return answer(code, '', Object.fromEntries(named), after)
    }
    case 'interim':
      return fault.code === undefined ? { what: 'nothing' } : answer(fault.code, '', {}, fault.after)
    case 'silence':
      return { what: 'nothing' }
    case 'reset':
      return fails('reset', true, fault.after)
    case 'hangUp':
    case 'garbage':
      return fails(fault.do)
    case 'refuse':
    case 'dns':
      return fails(fault.do, false)
    case 'tls':
      return fails(fault.kind, false)
    case 'headersOnly':
    case 'slowBody':
      return answer(fault.code, null)
    case 'truncate':
      return answer(fault.code, networkErrorOf('hangUp'))
    case 'hugeBody':
    case 'gzipBomb':
      return answer(fault.code)
    case 'hugeHeader': {
      const { bytes = HUGE_HEADER } = fault
      // An undici client refuses more bytes of headers by default.
      return bytes < 16_384 ? answer(200, '', { 'x-huge': 'x'.repeat(bytes) }) : fails('hugeHeader')
    }
    case 'redirect': {
      // The URL may be the name of a queue.
      const base = fault.to === 'self' && URL.canParse('/', url) ? url : 'http://127.0.0.1:9/'
      return answer(fault.code ?? 307, '', { location: new URL('/redirected', base).href })
    }
  }
}
