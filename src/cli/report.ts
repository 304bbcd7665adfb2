/**
 * What a command reports while it works: one union, written as NDJSON with `--output json` and as lines for people otherwise. The
 * JSON form is a contract: `v` changes when it does.
 *
 * @module
 */

import { messageOf } from '../core/awaitable.ts'
import type { Failure } from '../core/failure.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Fault } from '../core/refusal.ts'
import type { LogEvent } from '../log/logEvent.ts'
import type { Summary } from './summary.ts'
import type { Style, Terminal } from './terminal.ts'
import { showMillis } from './values.ts'
import type { Output } from './values.ts'

/** Which event it is. */
export interface Subject {
  /** Its line in the input, from 1; 0 for one that an earlier run accepted. */
  readonly line: number
  readonly id: string
  /** Its kind; `batch` for many that were sent as one. */
  readonly type: string
  /** How many events, of a batch. `line` is then that of the first. */
  readonly count?: number
}

/** Why one URL did not take an event. */
export interface Cause {
  /** The URL without its query. */
  readonly url?: string
  readonly reason: string
  readonly status?: number
  readonly detail?: string
}

/** A line that was turned away. */
export interface Refused {
  readonly t: 'refused'
  readonly line: number
  readonly reason: 'notJson' | 'notUtf8' | 'tooLong' | 'invalid' | 'tooLarge' | 'notTaken'
  readonly faults: ReadonlyArray<Fault>
}

/** Keys that no event has, at the line where each was seen first. */
export interface Dropped {
  readonly t: 'dropped'
  readonly line: number
  readonly keys: ReadonlyArray<string>
}

/** One request to one URL has its verdict. */
export interface Attempt extends Subject, Partial<Cause> {
  readonly t: 'attempt'
  readonly url: string
  /** From 1. */
  readonly n: number
  readonly ok: boolean
  readonly ms: number
}

/** All URLs failed, and it will be tried again. */
export interface Waiting extends Subject {
  readonly t: 'waiting'
  /** Attempts so far. */
  readonly n: number
  /** Until the next attempt. */
  readonly ms: number
  readonly because: string
  readonly causes: ReadonlyArray<Cause>
}

/** How it ended. */
export interface Ending {
  readonly t: 'outcome'
  readonly outcome: 'delivered' | 'rejected' | 'expired' | 'dropped' | 'abandoned'
  /** Attempts in all. */
  readonly n: number
  /** Who took it. */
  readonly url?: string
  readonly status?: number
  readonly causes: ReadonlyArray<Cause>
}

/** An event has ended. */
export interface OutcomeReport extends Subject, Ending {}

/** How one URL did, at the end. */
export interface UrlTotals {
  readonly t: 'url'
  readonly url: string
  readonly delivered: number
  readonly failed: number
  readonly passedOver: number
}

/** The last of a run's reports. */
export interface Closing extends Summary {
  readonly t: 'summary'
}

/** What a run of `send` or `demo` reports. */
export type Report = Refused | Dropped | Attempt | Waiting | OutcomeReport | UrlTotals | Closing

/** One line of NDJSON, of any command. */
export const toJson = (report: object): string => JSON.stringify({ v: 1, ...report })

/**
 * A text that came from outside as it may stand in a line for people: control characters could fake lines or steer the terminal.
 *
 * @param most characters of it that are shown
 */
export const plain = (text: string, most = 80): string => {
  const shown = text.length > most ? `${text.slice(0, most)}…` : text
  return shown.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '?')
}

/** Members of a batch mostly fail for the same cause, and one is enough to say. */
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

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'it is not allowed',
  EPERM: 'it is not allowed',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of its path is no folder',
  EROFS: 'the disk is read-only',
  ENOSPC: 'the disk is full',
  EMFILE: 'too many files are open',
  EADDRINUSE: 'something else listens on that port',
  EADDRNOTAVAIL: 'this machine has no such address',
  EIO: 'the device failed',
}

/** Why the system did not do something, in words. */
export const whyNot = (error: unknown): string => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return REASONS[code] ?? (code === '' ? messageOf(error) : `the system says ${code}`)
}

/** How a line is written. */
export interface LineStyle {
  readonly paint: (style: Style, text: string) => string
  /** What a URL is called. Default: itself. */
  readonly nameOf?: (url: string) => string
}

const COLOURS: Readonly<Record<Ending['outcome'] | 'waiting' | 'refused' | 'left out', Style>> = {
  delivered: 'green',
  waiting: 'yellow',
  rejected: 'red',
  expired: 'red',
  dropped: 'red',
  refused: 'red',
  abandoned: 'yellow',
  'left out': 'yellow',
}

/** The first word of a line, in its colour: it says what became of the event. */
export const wordOf = (text: keyof typeof COLOURS, { paint }: LineStyle): string =>
  paint(COLOURS[text], text.padEnd(10))

const eventIn = ({ line, type, id, count }: Subject): string => {
  const where = line === 0 ? 'earlier  ' : `line ${String(line).padEnd(4)}`
  return count === undefined
    ? `${where} ${plain(type).padEnd(8)} ${plain(id)}`
    : `${where} ${plain(type)} of ${String(count)}`
}

/**
 * The line that a person reads: its first word says what became of the event. Undefined for what only a program wants to know, such as
 * each single request.
 */
export const lineOf = (report: Report, style: LineStyle): string | undefined => {
  const { nameOf = (url: string) => url } = style
  switch (report.t) {
    case 'refused': {
      const faults = report.faults.map(({ path, message }) => (path === '' ? message : `${path} ${message}`))
      return `${wordOf('refused', style)} line ${String(report.line).padEnd(4)} ${plain(faults.join('; '), 2_000)}`
    }
    case 'dropped':
      return `${wordOf('left out', style)} line ${String(report.line).padEnd(4)} ${plain(report.keys.join(', '), 2_000)}: not a field of this kind of event (told once)`
    case 'waiting': {
      const { n, ms, causes } = report
      return `${wordOf('waiting', style)} ${eventIn(report)}  attempt ${String(n)} failed: ${showCauses(causes, { nameOf, short: true })}; again in ${showMillis(ms)}`
    }
    case 'outcome':
      return endingLine(report, eventIn(report), style)
    case 'attempt':
    case 'url':
    case 'summary':
      return undefined
  }
}

const times = (count: number): string => (count === 1 ? '1 attempt' : `${String(count)} attempts`)

/** The line for something that has ended; `what` says what it is. */
export const endingLine = (ending: Ending, what: string, style: LineStyle): string => {
  const { outcome, n, url, status, causes } = ending
  const { nameOf = (each: string) => each } = style
  const tries = n <= 1 ? '' : `, after ${times(n)}`
  if (url !== undefined)
    return `${wordOf(outcome, style)} ${what}  ${nameOf(url)} ${String(status ?? '')}`.trimEnd() + tries
  const why = causes.length === 0 ? 'never attempted' : showCauses(causes, { nameOf })
  return `${wordOf(outcome, style)} ${what}  ${why}${tries}`
}

/** What is known about an item that a happening speaks of; undefined for one that is not ours. */
export type SubjectOf = (item: unknown) => Subject | undefined

/** What of a happening is reported: attempts, waits and ends. A refusal is reported where the line is known. */
export const reportOf = (happening: LogEvent, subjectOf: SubjectOf): Report | undefined => {
  switch (happening._tag) {
    case 'Attempted': {
      const { item, sink: url, number: n, duration, result } = happening
      const subject = subjectOf(item)
      if (subject === undefined) return undefined
      const ok = result._tag === 'Right'
      const [cause] = result._tag === 'Left' ? causesOf(result.left, url) : []
      const status = ok ? result.right.status : undefined
      return {
        t: 'attempt',
        ...subject,
        url,
        n,
        ok,
        ms: Math.round(duration),
        ...cause,
        ...(status === undefined ? {} : { status }),
      }
    }
    case 'UrlSkipped': {
      const { item, sink: url, number: n } = happening
      const subject = subjectOf(item)
      return subject && { t: 'attempt', ...subject, url, n, ok: false, ms: 0, reason: 'laneFull' }
    }
    case 'Waiting': {
      const { item, attempts: n, delay: ms, because, failure } = happening
      const subject = subjectOf(item)
      return subject && { t: 'waiting', ...subject, n, ms, because, causes: causesOf(failure) }
    }
    case 'Ended': {
      const subject = subjectOf(happening.outcome.item)
      if (subject === undefined) return undefined
      const { t, ...how } = endingOf(happening.outcome)
      return { t, ...subject, ...how }
    }
    case 'Refused':
    case 'UnknownKeys':
    case 'Accepted':
    case 'Defect':
      return undefined
  }
}

/**
 * Writes reports as they come: data to stdout, as lines or as NDJSON; what was refused to stderr as well, for a person must see it
 * wherever the data goes.
 */
export const reporter =
  (
    { out, err }: Pick<Terminal, 'out' | 'err'>,
    output: Output,
    nameOf: (url: string) => string = (url) => url,
  ): ((report: Report) => void) =>
  (report) => {
    if (output === 'json') out.line(toJson(report))
    if (report.t === 'refused' || report.t === 'dropped') err.line(lineOf(report, err) ?? '')
    else if (output === 'lines') {
      const line = lineOf(report, { paint: out.paint, nameOf })
      if (line !== undefined) out.line(line)
    }
  }

/** How causes are shown. */
export interface ShowCausesOptions {
  /** What a URL is called. Default: itself. */
  readonly nameOf?: (url: string) => string
  /** In a word or two: what happened, and not what to do about it. Default false. */
  readonly short?: boolean
}

/** The words of a detail before it explains itself: `connection refused: nothing listens there` is a refused connection. */
const gist = (detail: string): string => detail.split(/[:;] /)[0] ?? detail

const showCause = ({ reason, status, detail }: Cause, short: boolean): string => {
  const what = status === undefined ? reason : String(status)
  if (detail === undefined) return what
  if (short) return status === undefined ? gist(detail) : what
  return `${what} (${detail})`
}

/** Causes in one line: `http://a.example/hook 503; http://b.example/hook timeout (no verdict within 5000 ms)`. */
export const showCauses = (causes: ReadonlyArray<Cause>, options: ShowCausesOptions = {}): string => {
  const { nameOf = (url: string) => url, short = false } = options
  return causes
    .map((cause) => {
      const what = showCause(cause, short)
      return cause.url === undefined ? what : `${nameOf(cause.url)} ${what}`
    })
    .join('; ')
}
