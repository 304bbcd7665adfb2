/**
 * Where headrace writes what a person should know: four methods, which `console` and pino's loggers have.
 *
 * The message says everything; the fields repeat it for machines (pino drops what follows a message without a placeholder). Neither
 * holds a payload, a secret or a header's value.
 *
 * @module
 */

import { show } from '../core/failure.ts'
import type { Failure } from '../core/failure.ts'
import { whenSettled } from '../core/awaitable.ts'
import { anyOf, methods, oneOf } from '../core/options.ts'
import type { Option } from '../core/options.ts'
import { logLine, oneLine } from './debug.ts'
import { kindOf } from './logEvent.ts'
import type { Attempted, Listener, LogEvent, UrlSkipped } from './logEvent.ts'

/** The facts of a message, for machines. */
export type Fields = Readonly<Record<string, string | number>>

/** Takes a line for people, and the same for machines. */
export type Log = (message: string, fields?: Fields) => void

/** Four levels. They are called as methods, so a logger that needs its `this` has it. */
export interface Logger {
  readonly debug: Log
  readonly info: Log
  readonly warn: Log
  readonly error: Log
}

/** An option that is a logger, or false for silence. */
export const loggerOption: Option<Logger | false> = anyOf<Logger | false>(
  'must be a Logger, an object with debug, info, warn, error, or false',
  oneOf(false),
  methods<Logger>('a Logger', 'debug', 'info', 'warn', 'error'),
)

/** Options of `toLogger`. */
export interface ToLoggerOptions {
  /**
   * Milliseconds between two lines: a sink that fails on and off is reported as working again only after so long without a line, and
   * defects and dead events get one line in that time. Default 60,000.
   */
  readonly quiet?: number
  /** The most sinks whose failures are remembered; beyond it the oldest is forgotten, and logged anew. Default 1,000. */
  readonly maxSinks?: number
}

const MAX_CAUSE = 200
/** Causes of one sink that are logged until it works again; more of them are only counted. */
const MAX_CAUSES = 20

/** The causes inside a failure, each with the sink that it belongs to: the same texts whatever the details. */
const causesOf = (failure: Failure, sink = ''): ReadonlyArray<string> => {
  switch (failure._tag) {
    case 'Refused':
    case 'Retryable':
      return [`${sink} ${failure.reason} ${String(failure.status ?? '')}`]
    case 'AllFailed':
      return failure.causes.flatMap((cause) => causesOf(cause.failure, cause.sink))
    case 'NotAll':
      return failure.verdicts.flatMap((each) =>
        each.verdict._tag === 'Left' ? causesOf(each.verdict.left, each.sink) : [],
      )
    case 'PartlyFailed':
      return failure.members.flatMap((member) => (member._tag === 'Left' ? causesOf(member.left, sink) : []))
    case 'Expired':
      return causesOf(failure.lastFailure, sink)
  }
}

/** Failures that a person must act on. They are logged as errors. */
const SERIOUS = / (timeout|certificate|blockedAddress) /

/** A sink that fails. */
interface FailingSink {
  failures: number
  lastLine: number
  readonly logged: Set<string>
}

const ignore = (): void => undefined

/** Sets a value, and deletes the oldest one if there are more than `max`. */
const remember = <V>(map: Map<string, V>, max: number, key: string, value: V): V => {
  map.delete(key)
  map.set(key, value)
  const oldest = map.size > max ? map.keys().next().value : undefined
  if (oldest !== undefined) map.delete(oldest)
  return value
}

/**
 * Writes what a person should know to a logger: a sink that fails, once for each cause until it works again, then that it
 * does and after how many failures; never a line for each message. Timeouts, certificates and forbidden addresses are
 * errors, other failures warnings. Events that were refused or died, and defects, get a line for each reason now and then, with their
 * count.
 * What happens to each single message is in the runtime log, `debugListener`.
 *
 * No line holds a payload, and of an error that a host's own code threw only its kind and place.
 *
 * @example
 * import { toLogger } from 'headrace'
 *
 * const onEvent = toLogger(console) // or a pino logger
 * onEvent({ _tag: 'Defect', at: Date.now(), where: 'my sink', error: new TypeError('oops') })
 */
export const toLogger = (logger: Logger, options: ToLoggerOptions = {}): Listener => {
  const { quiet = 60_000, maxSinks = 1_000 } = options
  const failing = new Map<string, FailingSink>()
  const withheld = new Map<string, { count: number; lastLine: number }>()

  // The wall clock may step back, so only the distance counts.
  const isQuietSince = (lastLine: number, now: number): boolean => Math.abs(now - lastLine) >= quiet

  const write = (level: 'info' | 'warn' | 'error', message: string, fields: Fields): void => {
    // A method may return a promise in spite of its type, and its rejection must not end the process.
    const call = (): unknown => logger[level](oneLine(`headrace: ${message}`), fields)
    whenSettled(call(), ignore, ignore)
  }

  const failingSink = (sink: string): FailingSink =>
    failing.get(sink) ?? remember(failing, maxSinks, sink, { failures: 0, lastLine: 0, logged: new Set() })

  /** Writes a line unless that cause was logged of this sink already. */
  const writeOnce = (
    level: 'warn' | 'error',
    event: Attempted | UrlSkipped,
    cause: string,
    text: string,
  ): void => {
    const { sink, at, number } = event
    const state = failingSink(sink)
    if (state.logged.has(cause) || state.logged.size >= MAX_CAUSES) return
    state.logged.add(cause)
    state.lastLine = at
    write(level, `${sink}: ${text}`, { sink, attempt: number })
  }

  const attempted = (event: Attempted): void => {
    const { sink, at, result } = event
    if (result._tag === 'Left') {
      failingSink(sink).failures++
      const causes = [...new Set(causesOf(result.left))].sort().join(';')
      writeOnce(SERIOUS.test(causes) ? 'error' : 'warn', event, causes.slice(0, MAX_CAUSE), show(result.left))
      return
    }
    const state = failing.get(sink)
    if (state === undefined || !isQuietSince(state.lastLine, at)) return
    failing.delete(sink)
    const { failures } = state
    const count = failures === 1 ? '1 failure' : `${String(failures)} failures`
    if (failures > 0) write('info', `${sink} answers again after ${count}`, { sink, failures })
  }

  /** Writes a line now and then, with the count of those that were withheld. */
  const writeSometimes = (level: 'warn' | 'error', key: string, event: LogEvent, fields: Fields): void => {
    const before = withheld.get(key)
    if (before !== undefined && !isQuietSince(before.lastLine, event.at)) {
      before.count++
      return
    }
    const more = before?.count ?? 0
    remember(withheld, maxSinks, key, { count: 0, lastLine: event.at })
    const suffix = more === 0 ? '' : ` (and ${String(more)} more since the last line like this)`
    write(level, logLine(event) + suffix, { ...fields, more })
  }

  return (event) => {
    switch (event._tag) {
      case 'Attempted':
        attempted(event)
        return
      case 'UrlSkipped':
        writeOnce('warn', event, 'queueFull', 'its queue is full, so it is left out of some attempts')
        return
      case 'Ended': {
        const outcome = event.outcome._tag
        if (outcome !== 'Delivered') writeSometimes('warn', outcome, event, { outcome })
        return
      }
      case 'Defect': {
        const { where, error } = event
        writeSometimes('error', `defect ${where}`, event, { where, kind: kindOf(error) })
        return
      }
      case 'Refused': {
        const reason = event.refusal._tag
        writeSometimes('warn', `refused ${reason}`, event, { reason })
        return
      }
      case 'Accepted':
      case 'UnknownKeys':
      case 'Waiting':
    }
  }
}
