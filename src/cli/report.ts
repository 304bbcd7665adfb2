/** Reports of a running command: NDJSON with `--output json` (`v` is its version), or lines for people. */
import { getSystemErrorMap } from 'node:util'
import { isLeft } from '../core/either.ts'
import { messageOf, type Failure } from '../core/failure.ts'
import type { Outcome, Totals } from '../core/outcome.ts'
import { isRecord } from '../core/json.ts'
import { show, type Fault, type Invalid, type Refusal } from '../core/refusal.ts'
import type { UrlStats } from '../destination/destination.ts'
import { counted } from '../log/debug.ts'
import type { LogEvent } from '../log/logEvent.ts'
import type { BadLine } from '../sources/ndjson.ts'
import type { Output } from './options.ts'
import { DEAD, FINE, NONE_DELIVERED, REFUSED, STOPPED, escapedJson, plain } from './terminal.ts'
import type { Paint, Styles, Terminal } from './terminal.ts'

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

/** Why one URL did not take an event. `url` has no query. */
export interface ReportedCause {
  readonly url?: string | undefined
  readonly reason: string
  readonly status?: number | undefined
  readonly detail?: string | undefined
}

/** A report of `send`, `batch` and `demo`. */
export type Report =
  | ReturnType<typeof refusalReport>
  /** Keys that no event has, at the first line that has them. */
  | { readonly t: 'dropped'; readonly line: number; readonly keys: ReadonlyArray<string> }
  | NonNullable<ReturnType<typeof newsOf>>
  /** Requests to one URL in the whole run. */
  | (Omit<UrlStats, 'skipped'> & { readonly t: 'url'; readonly url: string; readonly passedOver: number })

/** One line of NDJSON, of any command. */
export const toJson = (report: object): string => escapedJson({ v: 1, ...report })

/** The account of a run: read = refused + accepted, accepted = the sum of the rest. */
export interface Summary extends Totals {
  readonly read: number
  readonly refused: number
}

export const summaryOf = (refused: number, totals: Totals): Summary => {
  const { accepted, delivered, rejected, expired, dropped, abandoned, waiting } = totals
  const read = refused + accepted
  return { read, refused, accepted, delivered, rejected, expired, dropped, abandoned, waiting }
}

/** One line without zeros: `read 22 (2 refused) · delivered 20`. */
export const showSummary = (first: string, refused: number, totals: Totals): string => {
  const { delivered, rejected, expired, dropped, abandoned, waiting } = totals
  const ends = Object.entries({ delivered, rejected, expired, dropped, abandoned, waiting })
    .filter(([, count]) => count > 0)
    .map(([end, count]) => `${end} ${String(count)}`)
  return [refused === 0 ? first : `${first} (${String(refused)} refused)`, ...ends].join(' · ')
}

/** Says how many dead letters made room for newer ones, after what comes before it. */
export const madeRoom = (before: string, count = 0): string =>
  count === 0 ? '' : `${before}${counted(count, 'older dead letter')} removed to make room`

/** The exit code that the outcomes lead to. */
export const endCodeOf = ({ rejected, expired, dropped, abandoned, waiting }: Totals): number => {
  if (abandoned + waiting > 0) return STOPPED
  return rejected + expired + dropped > 0 ? DEAD : FINE
}

export const exitCodeOf = (summary: Summary, isAtEnd: boolean, corrupt = 0): number => {
  if (summary.accepted > 0 && summary.delivered === 0) return NONE_DELIVERED
  if (!isAtEnd) return STOPPED
  const code = endCodeOf(summary)
  if (code !== FINE) return code
  if (summary.refused > 0) return REFUSED
  return corrupt > 0 ? DEAD : FINE
}

const causesOf = (failure: Failure, url?: string): ReadonlyArray<ReportedCause> => {
  switch (failure._tag) {
    case 'Refused':
    case 'Retryable':
      return [{ url, reason: failure.reason, status: failure.status, detail: failure.detail }]
    case 'AllFailed':
      return failure.causes.flatMap((cause) => causesOf(cause.failure, cause.sink))
    case 'NotAll':
      return failure.verdicts.flatMap(({ sink, verdict: it }) => (isLeft(it) ? causesOf(it.left, sink) : []))
    case 'PartlyFailed': {
      const causes = failure.members.flatMap((each) => (isLeft(each) ? causesOf(each.left, url) : []))
      // Events of a batch mostly fail for the same cause; it is told once.
      return [...new Map(causes.map((cause) => [JSON.stringify(cause), cause])).values()]
    }
    case 'Expired':
      return causesOf(failure.lastFailure, url)
  }
}

const causesOfEnd = (outcome: Outcome<unknown>): ReadonlyArray<ReportedCause> => {
  if (outcome._tag === 'Delivered') return []
  if (outcome._tag === 'Dropped') return [{ reason: outcome.reason }]
  const failure = outcome._tag === 'Abandoned' ? outcome.lastFailure : outcome.failure
  return failure === undefined ? [] : causesOf(failure)
}

/** How an event ended after `n` attempts; `url` is the one that took it. */
export const endingOf = (outcome: Outcome<unknown>) => {
  // The type of `toLowerCase` is any text.
  const word = outcome._tag.toLowerCase() as Lowercase<Outcome<unknown>['_tag']>
  const receipt = outcome._tag === 'Delivered' ? outcome.receipt : undefined
  const causes = causesOfEnd(outcome)
  return { outcome: word, n: outcome.attempts, url: receipt?.sink, status: receipt?.status, causes }
}

/** Reports attempts, waits and ends; undefined for other log events. Milliseconds; `n` counts from 1. */
export const newsOf = (event: LogEvent, subjectOf: (item: unknown) => Subject) => {
  switch (event._tag) {
    case 'Attempted': {
      const { item, sink: url, number: n, duration, result } = event
      const ok = result._tag === 'Right'
      const how = ok ? { status: result.right.status } : { ...causesOf(result.left, url)[0], url }
      return { t: 'attempt', ...subjectOf(item), url, n, ok, ms: Math.round(duration), ...how } as const
    }
    case 'UrlSkipped': {
      const { item, sink: url, number: n } = event
      return { t: 'attempt', ...subjectOf(item), url, n, ok: false, ms: 0, reason: 'queueFull' } as const
    }
    case 'Waiting': {
      const { item, attempts: n, delay: ms, because, failure } = event
      return { t: 'waiting', ...subjectOf(item), n, ms, because, causes: causesOf(failure) } as const
    }
    case 'Ended':
      return { t: 'outcome', ...subjectOf(event.outcome.item), ...endingOf(event.outcome) } as const
    default:
      return undefined
  }
}

/** What a fault does not say: the keys of a call, or that FILE is a list of calls. */
const hintOf = (value: unknown, path: string): string => {
  if (Array.isArray(value)) return "; jq -c '.[]' FILE puts each on a line"
  const plainly = (key: string): string => key.replaceAll(/[_-]/g, '').toLowerCase()
  const keys = isRecord(value) ? Object.keys(value).filter((key) => key.length < 2 * path.length) : []
  const found = keys.find((key) => key !== path && plainly(key) === plainly(path))
  return found === undefined ? '' : `; ${found} is not a field`
}

/** The report of a line that was not accepted. It holds keys of the line, and no value. */
export const refusalReport = (line: number, refusal: BadLine | Refusal, value?: unknown) => {
  const say = (reason: string, faults: Invalid['faults']) => ({ t: 'refused', line, reason, faults }) as const
  const hinted = ({ path, message }: Fault) => ({ path, message: message + hintOf(value, path) })
  if (refusal._tag === 'Invalid') return say('invalid', refusal.faults.map(hinted))
  if (refusal._tag === 'BadLine') return say(refusal.reason, [{ path: '', message: refusal.detail }])
  const reason = refusal._tag === 'TooLarge' ? 'tooLarge' : 'notTaken'
  return say(reason, [{ path: '', message: show(refusal) }])
}

/** An error of the system in words: `no such file or directory`. */
export const whyNot = (error: unknown): string => {
  const errno = error instanceof Error && 'errno' in error ? Number(error.errno) : 0
  return plain(getSystemErrorMap().get(errno)?.[1] ?? messageOf(error), 2_000)
}

/** A time for people: `12ms`, `1.2s`, `3m`. */
export const showMillis = (millis: number): string => {
  if (millis < 999.5) return `${String(Math.round(millis))}ms`
  const seconds = millis / 1_000
  return seconds < 120 ? `${String(Math.round(seconds * 10) / 10)}s` : `${String(Math.round(seconds / 60))}m`
}

const showCause = ({ url = '', reason, status, detail }: ReportedCause): string => {
  const what = `${url} ${String(status ?? reason)}`.trimStart()
  return plain(detail === undefined ? what : `${what} (${detail})`, 2_000)
}

/** Causes in one line: `http://a.example/hook 503; http://b.example/hook timeout (no verdict within …)`. */
export const showCauses = (causes: ReadonlyArray<ReportedCause>): string => causes.map(showCause).join('; ')

const COLOURS: Styles = { delivered: 'green', waiting: 'yellow', abandoned: 'yellow', 'left out': 'yellow' }

const wordOf = (word: string, paint: Paint): string => paint(COLOURS[word] ?? 'red', word.padEnd(10))

/** The line of an outcome; `what` names its item. */
export const endingLine = (ending: ReturnType<typeof endingOf>, what: string, paint: Paint): string => {
  const { outcome, n, url, status, causes } = ending
  const why = causes.length === 0 ? 'never attempted' : showCauses(causes)
  const how = url === undefined ? why : `${url} ${String(status ?? '')}`.trimEnd()
  return `${wordOf(outcome, paint)} ${what}  ${how}${n <= 1 ? '' : `, after ${String(n)} attempts`}`
}

const lineText = (line: number): string => `line ${String(line).padEnd(4)}`

const eventText = ({ line, type, id, count }: Subject): string => {
  const what = count === undefined ? `${plain(type).padEnd(8)} ${plain(id)}` : `batch of ${String(count)}`
  return `${line === 0 ? 'earlier  ' : lineText(line)} ${what}`
}

/** A line for people; its first word is the event's state. Undefined for reports only for programs. */
export const lineOf = (report: Report, paint: Paint): string | undefined => {
  switch (report.t) {
    case 'refused': {
      const faults = report.faults.map(({ path, message }) => `${path} ${message}`.trimStart()).join('; ')
      return `${wordOf('refused', paint)} ${lineText(report.line)} ${plain(faults, 2_000)}`
    }
    case 'dropped': {
      const why = `${plain(report.keys.join(', '), 2_000)}: not a field of this kind of event (reported once)`
      return `${wordOf('left out', paint)} ${lineText(report.line)} ${why}`
    }
    case 'waiting': {
      const why = `attempt ${String(report.n)} failed: ${showCauses(report.causes)}`
      return `${wordOf('waiting', paint)} ${eventText(report)}  ${why}; again in ${showMillis(report.ms)}`
    }
    case 'outcome':
      return endingLine(report, eventText(report), paint)
    default:
      return undefined
  }
}

/** Outcomes with a line above a live view; the view counts the others. */
export const DEAD_ENDS: ReadonlySet<string> = new Set(['rejected', 'expired', 'dropped'])

/** Writes a report to stdout, as a line or NDJSON; a refused line to stderr too: stdout may be a file. */
export const writeReport = ({ out, err }: Terminal, output: Output, report: Report): void => {
  if (output === 'json') out.line(toJson(report))
  const outlet = report.t === 'refused' || report.t === 'dropped' ? err : out
  const isDead = report.t === 'outcome' && DEAD_ENDS.has(report.outcome)
  if (outlet === out && output !== 'lines' && (output !== 'live' || !isDead)) return
  const line = lineOf(report, outlet.paint)
  if (line !== undefined) outlet.line(line)
}
