/**
 * The log for people. The message says everything; the fields repeat it for machines (pino drops any text
 * after a message without a placeholder). Neither holds a payload, a secret or a header's value.
 */
import { constVoid, isLeft } from '../core/either.ts'
import { partsOf, show, type Failure } from '../core/failure.ts'
import { anyOf, checkOptions, methods, oneOf, strict, wholeNumber, withDefault } from '../core/options.ts'
import { counted, logLine, oneLine } from './debug.ts'
import { errorKind, type Attempted, type Listener, type LogEvent, type UrlSkipped } from './logEvent.ts'

/** The facts of a message, for machines. */
export type LogFields = Readonly<Record<string, string | number>>

/** Takes a line for people, and the same for machines. */
export type Log = (message: string, fields?: LogFields) => void

/** Four levels. They are called as methods, so a logger that needs its `this` has it. */
export interface Logger {
  readonly debug: Log
  readonly info: Log
  readonly warn: Log
  readonly error: Log
}

const aLogger = methods<Logger>('a Logger', 'debug', 'info', 'warn', 'error')

const LOGGER_NEEDED = 'must be a Logger, an object with debug, info, warn, error, or false'
export const loggerOption = anyOf<Logger | false>(LOGGER_NEEDED, oneOf(false), aLogger)

/** Causes of one sink that are logged until it works again. */
const MAX_CAUSES = 20

/** The causes inside a failure: the same texts whatever the details. */
const loggedCauses = (failure: Failure): ReadonlyArray<string> => {
  if (failure._tag === 'Expired') return loggedCauses(failure.lastFailure)
  if ('reason' in failure) return [`${failure.reason} ${String(failure.status ?? '')}`]
  return partsOf(failure).flatMap((part) => (isLeft(part) ? loggedCauses(part.left) : []))
}

/** Failures that a person must act on. They are logged as errors. */
const SERIOUS = /^(timeout|certificate|blockedAddress) /

type Failing = Record<'failures' | 'lastLine' | 'lastFailure', number> & { readonly logged: Set<string> }

/** Sinks, and places of defects, that are remembered: the URLs of a part may come and go for ever. */
const MAX_FAILING = 1_000

type Level = 'info' | 'warn' | 'error'

const loggerOptions = strict({ quiet: withDefault(wholeNumber('ms', 0), 60_000) })

/**
 * Writes to a logger for people: a sink that fails, once for each cause until it works again, then that it
 * does and after how many failures; never a line for each message. Timeouts, certificates and forbidden
 * addresses are errors, other failures warnings. Refused and dead events, and defects, get a line for each
 * reason at most every `quiet` milliseconds (default 60,000), with their count; events that a close abandons
 * and keys that no event has get one. A sink that fails on and off works again after that time without a
 * line. Each single message is in the runtime log, `debugListener`.
 *
 * No line holds a payload, and of an error of a host's own code only its kind and place; a store's own words
 * on why it stored nothing are told as they are.
 *
 * @example
 * import { toLogger } from 'headrace/log'
 *
 * const onEvent = toLogger(console) // or a pino logger
 * onEvent({ _tag: 'Defect', at: Date.now(), from: 'mine', where: 'my sink', error: new TypeError('oops') })
 */
export const toLogger = (logger: Logger, options: { readonly quiet?: number } = {}): Listener => {
  const { quiet } = checkOptions('options of toLogger', loggerOptions, options)
  checkOptions('argument of toLogger', aLogger, logger)
  const failing = new Map<string, Failing>()
  const withheld = new Map<string, { count: number; lastLine: number }>()
  let hasUnknownKeys = false

  // The wall clock may step back, so only the distance counts.
  const isQuietSince = (lastLine: number, now: number): boolean => Math.abs(now - lastLine) >= quiet

  const write = (level: Level, message: string, fields: LogFields): void => {
    // A method may return a promise in spite of its type, and its rejection must not end the process.
    const call = (): unknown => logger[level](oneLine(`headrace: ${message}`), fields)
    void Promise.resolve(call()).catch(constVoid)
  }

  /** Writes a line now and then, with the count of those that were withheld. */
  const writeSometimes = (level: Level, key: string, event: LogEvent, fields: LogFields, count = 1): void => {
    const before = withheld.get(key)
    if (before !== undefined && !isQuietSince(before.lastLine, event.at)) {
      before.count += count
      return
    }
    const more = (before?.count ?? 0) + count - 1
    if (before === undefined && withheld.size >= MAX_FAILING) withheld.clear()
    withheld.set(key, { count: 0, lastLine: event.at })
    const since = before === undefined ? '' : ' since the last line like this'
    const suffix = more === 0 ? '' : ` (and ${String(more)} more${since})`
    write(level, logLine(event) + suffix, { ...fields, more })
  }

  let abandoned = 0
  /** A close abandons its items together, and is the last of its part: one line has their count. */
  const abandon = (event: LogEvent): void => {
    if (abandoned++ > 0) return
    const writeAll = (): void => {
      const count = abandoned
      abandoned = 0
      writeSometimes('warn', `Abandoned ${event.from}`, event, { outcome: 'Abandoned' }, count)
    }
    void Promise.resolve().then(writeAll).catch(constVoid)
  }

  /** Counts a failure of the sink, and writes a line unless that cause was logged of it already. */
  const failed = (event: Attempted | UrlSkipped, causes: ReadonlyArray<string>, text: string, count = 0) => {
    const { sink, at, number } = event
    const cause = causes.toSorted().join(';')
    const [oldest] = failing
    if (oldest !== undefined && failing.size >= MAX_FAILING && !failing.has(sink)) {
      if (!isQuietSince(oldest[1].lastFailure, at)) {
        writeSometimes('warn', `failing ${cause}`, event, { sink })
        return
      }
      failing.delete(oldest[0])
    }
    const state = failing.get(sink) ?? { failures: 0, lastLine: at, lastFailure: at, logged: new Set() }
    // The one whose last failure is the oldest comes first.
    failing.delete(sink)
    failing.set(sink, state)
    state.lastFailure = at
    state.failures += count
    if (state.logged.has(cause) || state.logged.size >= MAX_CAUSES) return
    state.logged.add(cause)
    state.lastLine = at
    const level = causes.some((each) => SERIOUS.test(each)) ? 'error' : 'warn'
    write(level, `${sink}: ${text}`, { sink, attempt: number })
  }

  const attempted = (event: Attempted): void => {
    const { sink, at, result, late } = event
    if (late !== undefined)
      failed(event, ['deadline'], `an attempt ended ${String(late)} ms past the deadline of its item`)
    if (isLeft(result)) return failed(event, [...new Set(loggedCauses(result.left))], show(result.left), 1)
    const state = failing.get(sink)
    if (state === undefined || !isQuietSince(state.lastLine, at)) return
    failing.delete(sink)
    const { failures } = state
    if (failures === 0) return
    write('info', `${sink} answers again after ${counted(failures, 'failure')}`, { sink, failures })
  }

  return (event) => {
    switch (event._tag) {
      case 'Attempted':
        return attempted(event)
      case 'UrlSkipped':
        return failed(event, ['queueFull'], 'its queue is full, so it skips some attempts')
      case 'Ended': {
        const outcome = event.outcome._tag
        if (outcome === 'Abandoned') abandon(event)
        else if (outcome !== 'Delivered') writeSometimes('warn', outcome, event, { outcome })
        return
      }
      case 'Corrupt':
        return writeSometimes('error', 'corrupt', event, { id: event.id })
      case 'UnknownKeys':
        // Once: libraries send keys of their own with each event.
        if (!hasUnknownKeys) write('warn', logLine(event), { keys: event.keys.length })
        hasUnknownKeys = true
        return
      case 'Defect': {
        const { where, error } = event
        return writeSometimes('error', `defect ${where}`, event, { where, kind: errorKind(error) })
      }
      case 'NotAccepted': {
        const reason = event.refusal._tag
        return writeSometimes('warn', `not accepted ${reason}`, event, { reason })
      }
      default:
    }
  }
}
