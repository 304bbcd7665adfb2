/**
 * What a command reports while it works: NDJSON with `--output json`, lines for people otherwise. The JSON form is a contract: `v`
 * changes when a field changes.
 *
 * @module
 */

import { messageOf } from '../core/awaitable.ts'
import type { Failure } from '../core/failure.ts'
import type { Outcome } from '../core/outcome.ts'
import { show } from '../core/refusal.ts'
import type { Fault, Refusal } from '../core/refusal.ts'
import type { LogEvent } from '../log/logEvent.ts'
import type { BadLine } from '../sources/ndjson.ts'
import type { Output } from './options.ts'
import type { Summary } from './summary.ts'
import type { Style, Terminal } from './terminal.ts'

/** Which event a report is about. */
export interface Subject {
  /** Its line in the input, from 1; 0 if an earlier run accepted it. */
  readonly line: number
  readonly id: string
  /** Its kind; `batch` for several events in one request. */
  readonly type: string
  /** Events in the batch; `line` and `id` are then those of the first event. */
  readonly count?: number
}

/** Why one URL did not take an event. */
export interface Cause {
  /** Without the query. */
  readonly url?: string
  readonly reason: string
  readonly status?: number
  readonly detail?: string
}

/** A line that was not accepted. */
export interface Refused {
  readonly t: 'refused'
  readonly line: number
  readonly reason: 'notJson' | 'notUtf8' | 'tooLong' | 'invalid' | 'tooLarge' | 'notTaken'
  readonly faults: ReadonlyArray<Fault>
}

/** Keys that no event has, at the first line that has them. */
export interface Dropped {
  readonly t: 'dropped'
  readonly line: number
  readonly keys: ReadonlyArray<string>
}

/** One request to one URL has ended. */
export interface Attempt extends Subject, Partial<Cause> {
  readonly t: 'attempt'
  readonly url: string
  /** From 1. */
  readonly n: number
  readonly ok: boolean
  readonly ms: number
}

/** All URLs failed; there will be another attempt. */
export interface Waiting extends Subject {
  readonly t: 'waiting'
  /** Attempts so far. */
  readonly n: number
  /** Milliseconds until the next attempt. */
  readonly ms: number
  readonly because: string
  readonly causes: ReadonlyArray<Cause>
}

export interface Ending {
  readonly t: 'outcome'
  readonly outcome: 'delivered' | 'rejected' | 'expired' | 'dropped' | 'abandoned'
  /** Attempts in all. */
  readonly n: number
  /** The URL that took it. */
  readonly url?: string
  readonly status?: number
  readonly causes: ReadonlyArray<Cause>
}

/** Totals of one URL at the end of a run. */
export interface UrlTotals {
  readonly t: 'url'
  readonly url: string
  readonly delivered: number
  readonly failed: number
  readonly passedOver: number
}

export interface Closing extends Summary {
  readonly t: 'summary'
}

/** What `send`, `batch` and `demo` report. */
export type Report = Refused | Dropped | Attempt | Waiting | (Subject & Ending) | UrlTotals | Closing

/** One line of NDJSON, of any command. */
export const toJson = (report: object): string => JSON.stringify({ v: 1, ...report })

/** Text from outside, for a line on the screen: control characters could fake lines or steer the terminal. */
export const plain = (text: string, maxLength = 80): string => {
  const shown = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
  return shown.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '?')
}

/** Events of a batch mostly fail for the same cause; it is told once. */
const distinct = (causes: ReadonlyArray<Cause>): ReadonlyArray<Cause> => [
  ...new Map(causes.map((cause) => [JSON.stringify(cause), cause])).values(),
]

/** The causes of a failure, URL by URL. */
export const causesOf = (failure: Failure, url?: string): ReadonlyArray<Cause> => {
  switch (failure._tag) {
    case 'Refused':
    case 'Retryable': {
      const { reason, status, detail } = failure
      return [
        {
          ...(url === undefined ? {} : { url }),
          reason,
          ...(status === undefined ? {} : { status }),
          ...(detail === undefined ? {} : { detail }),
        },
      ]
    }
    case 'AllFailed':
      return failure.causes.flatMap((cause) => causesOf(cause.failure, cause.sink))
    case 'PartlyFailed':
      return distinct(
        failure.members.flatMap((member) => (member._tag === 'Left' ? causesOf(member.left, url) : [])),
      )
    case 'Expired':
      return causesOf(failure.lastFailure, url)
  }
}

/** How an item ended, as it is reported. */
export const endingOf = (outcome: Outcome<unknown>): Ending => {
  const { attempts: n } = outcome
  switch (outcome._tag) {
    case 'Delivered': {
      const { sink: url, status } = outcome.receipt
      const taken = status === undefined ? { url } : { url, status }
      return { t: 'outcome', outcome: 'delivered', n, ...taken, causes: [] }
    }
    case 'Rejected':
      return { t: 'outcome', outcome: 'rejected', n, causes: causesOf(outcome.failure) }
    case 'Expired':
      return { t: 'outcome', outcome: 'expired', n, causes: causesOf(outcome.failure) }
    case 'Dropped':
      return { t: 'outcome', outcome: 'dropped', n, causes: [{ reason: outcome.reason }] }
    case 'Abandoned': {
      const causes = outcome.lastFailure === undefined ? [] : causesOf(outcome.lastFailure)
      return { t: 'outcome', outcome: 'abandoned', n, causes }
    }
  }
}

/** Reports attempts, waits and ends. Undefined for other log events, and where `subjectOf` does not know the item. */
export const reportOf = (
  event: LogEvent,
  subjectOf: (item: unknown) => Subject | undefined,
): Report | undefined => {
  switch (event._tag) {
    case 'Attempted': {
      const { item, sink: url, number: n, duration, result } = event
      const subject = subjectOf(item)
      if (subject === undefined) return undefined
      const request = {
        t: 'attempt',
        ...subject,
        url,
        n,
        ok: result._tag === 'Right',
        ms: Math.round(duration),
      } as const
      if (result._tag === 'Left') return { ...request, ...causesOf(result.left, url)[0] }
      const { status } = result.right
      return status === undefined ? request : { ...request, status }
    }
    case 'UrlSkipped': {
      const { item, sink: url, number: n } = event
      const subject = subjectOf(item)
      return subject && { t: 'attempt', ...subject, url, n, ok: false, ms: 0, reason: 'laneFull' }
    }
    case 'Waiting': {
      const { item, attempts: n, delay: ms, because, failure } = event
      const subject = subjectOf(item)
      return subject && { t: 'waiting', ...subject, n, ms, because, causes: causesOf(failure) }
    }
    case 'Ended': {
      const subject = subjectOf(event.outcome.item)
      if (subject === undefined) return undefined
      const { t, ...how } = endingOf(event.outcome)
      return { t, ...subject, ...how }
    }
    default:
      return undefined
  }
}

/** The report of a line that was not accepted. It holds no value of the line. */
export const refusalReport = (line: number, refusal: BadLine | Refusal): Refused => {
  const refused = (reason: Refused['reason'], faults: Refused['faults']): Refused => ({
    t: 'refused',
    line,
    reason,
    faults,
  })
  const whole = (message: string): Refused['faults'] => [{ path: '', message }]
  switch (refusal._tag) {
    case 'BadLine':
      return refused(refusal.reason, whole(refusal.detail))
    case 'Invalid':
      return refused('invalid', refusal.faults)
    case 'TooLarge':
      return refused('tooLarge', whole(show(refusal)))
    default:
      return refused('notTaken', whole(show(refusal)))
  }
}

const SYSTEM_ERRORS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is not a folder',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
  EMFILE: 'too many files are open',
  EADDRINUSE: 'another process listens on that port',
  EADDRNOTAVAIL: 'this machine does not have that address',
  EIO: 'the device failed',
}

/** A system error in words. */
export const whyNot = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return SYSTEM_ERRORS[code] ?? (code === '' ? messageOf(error) : `the system says ${code}`)
}

/** A time for people: `12ms`, `1.2s`, `3m 20s`, `3h 59m`. */
export const showMillis = (millis: number): string => {
  if (millis < 999.5) return `${String(Math.round(millis))}ms`
  const tenths = Math.round(millis / 100)
  if (tenths < 600) return `${String(tenths / 10)}s`
  const seconds = Math.round(millis / 1_000)
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${String(minutes)}m ${String(seconds % 60)}s`
  return `${String(Math.floor(minutes / 60))}h ${String(minutes % 60)}m`
}

/** How a line for people is written. */
export interface LineStyle {
  readonly paint: (style: Style, text: string) => string
  /** Names a URL; default the URL itself. */
  readonly nameOf?: NameOf
}

type NameOf = (url: string) => string
const same: NameOf = (url) => url

const showCause = ({ reason, status, detail }: Cause, short: boolean): string => {
  const what = status === undefined ? reason : String(status)
  if (detail === undefined) return what
  // `connection refused: nothing listens there` is `connection refused` in short.
  if (short) return status === undefined ? (detail.split(/[:;] /)[0] ?? detail) : what
  return `${what} (${detail})`
}

/** Causes in one line: `http://a.example/hook 503; http://b.example/hook timeout (no verdict within 5000 ms)`. */
export const showCauses = (causes: ReadonlyArray<Cause>, nameOf: NameOf = same, short = false): string =>
  causes
    .map((cause) => {
      const what = showCause(cause, short)
      return cause.url === undefined ? what : `${nameOf(cause.url)} ${what}`
    })
    .join('; ')

const COLOURS = {
  delivered: 'green',
  waiting: 'yellow',
  rejected: 'red',
  expired: 'red',
  dropped: 'red',
  refused: 'red',
  abandoned: 'yellow',
  'left out': 'yellow',
} as const

const wordOf = (word: keyof typeof COLOURS, { paint }: LineStyle): string =>
  paint(COLOURS[word], word.padEnd(10))

const eventIn = ({ line, type, id, count }: Subject): string => {
  const where = line === 0 ? 'earlier  ' : `line ${String(line).padEnd(4)}`
  return count === undefined
    ? `${where} ${plain(type).padEnd(8)} ${plain(id)}`
    : `${where} ${plain(type)} of ${String(count)}`
}

/** The line of something that has ended; `what` names it. */
export const endingLine = (ending: Ending, what: string, style: LineStyle): string => {
  const { outcome, n, url, status, causes } = ending
  const { nameOf = same } = style
  const tries = n <= 1 ? '' : `, after ${String(n)} attempts`
  if (url !== undefined)
    return `${wordOf(outcome, style)} ${what}  ${nameOf(url)} ${String(status ?? '')}`.trimEnd() + tries
  const why = causes.length === 0 ? 'never attempted' : showCauses(causes, nameOf)
  return `${wordOf(outcome, style)} ${what}  ${why}${tries}`
}

/** A line for people; its first word is the state of the event. Undefined for reports that are only for programs. */
export const lineOf = (report: Report, style: LineStyle): string | undefined => {
  switch (report.t) {
    case 'refused': {
      const faults = report.faults.map(({ path, message }) => (path === '' ? message : `${path} ${message}`))
      return `${wordOf('refused', style)} line ${String(report.line).padEnd(4)} ${plain(faults.join('; '), 2_000)}`
    }
    case 'dropped': {
      const keys = plain(report.keys.join(', '), 2_000)
      return `${wordOf('left out', style)} line ${String(report.line).padEnd(4)} ${keys}: not a field of this kind of event (reported once)`
    }
    case 'waiting': {
      const why = showCauses(report.causes, style.nameOf, true)
      return `${wordOf('waiting', style)} ${eventIn(report)}  attempt ${String(report.n)} failed: ${why}; again in ${showMillis(report.ms)}`
    }
    case 'outcome':
      return endingLine(report, eventIn(report), style)
    default:
      return undefined
  }
}

/** Writes reports: data to stdout, as lines or NDJSON; refused lines also to stderr, so that people see them when stdout is a file. */
export const reporter =
  (
    { out, err }: Pick<Terminal, 'out' | 'err'>,
    output: Output,
    nameOf: NameOf = same,
  ): ((report: Report) => void) =>
  (report) => {
    if (output === 'json') out.line(toJson(report))
    if (report.t === 'refused' || report.t === 'dropped') err.line(lineOf(report, err) ?? '')
    else if (output === 'lines') {
      const line = lineOf(report, { paint: out.paint, nameOf })
      if (line !== undefined) out.line(line)
    }
  }
