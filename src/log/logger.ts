/**
 * Where headrace writes what a person should know: a slot of four methods, which `console` and pino's loggers fit as they are.
 *
 * The message says everything by itself; the fields repeat it for machines. (pino drops what follows a message without a
 * placeholder, and then nothing is lost.) Neither ever holds a payload, a secret or a header's value.
 *
 * @module
 */

import { whenSettled } from '../core/awaitable.ts'
import { show } from '../core/failure.ts'
import type { Failure } from '../core/failure.ts'
import { logLine } from './debug.ts'
import { kindOf } from './logEvent.ts'
import type { Attempted, LogEvent, UrlSkipped, Listener } from './logEvent.ts'

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

/**
 * A text as it may stand in a log: what comes from outside may hold control characters, which could fake lines or steer a
 * terminal, so they are replaced.
 */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]/gu, '?')

const LONGEST = 200

/** What a person must act on: DE2 and DE3 call these errors. */
const GRAVE: ReadonlySet<string> = new Set(['timeout', 'certificate', 'blockedAddress'])

/** Whether some part of it is a timeout, a certificate that does not verify, or a forbidden address. */
export const isGrave = (failure: Failure): boolean => {
  switch (failure._tag) {
    case 'Refused':
    case 'Retryable':
      return GRAVE.has(failure.reason)
    case 'AllFailed':
      return failure.causes.some((cause) => isGrave(cause.failure))
    case 'PartlyFailed':
      return failure.members.some((member) => member._tag === 'Left' && isGrave(member.left))
    case 'Expired':
      return isGrave(failure.lastFailure)
  }
}

const whole = (failure: Failure): string => {
  switch (failure._tag) {
    case 'Refused':
    case 'Retryable':
      return `${failure.reason} ${String(failure.status ?? '')}`
    case 'AllFailed':
      return failure.causes.map((cause) => `${cause.sink} ${whole(cause.failure)}`).join(';')
    case 'PartlyFailed': {
      const causes = failure.members.flatMap((member) => (member._tag === 'Left' ? [whole(member.left)] : []))
      return [...new Set(causes)].sort().join(';')
    }
    case 'Expired':
      return 'expired'
  }
}

/** A short text that is the same for failures of the same cause. Details are not in it: they may differ with every message. */
export const causeOf = (failure: Failure): string => whole(failure).slice(0, LONGEST)

const shapeOf = (value: unknown): string => {
  if (value === null) return 'null'
  return typeof value === 'number' ? String(value) : `a value of type ${typeof value}`
}

/**
 * The one reader of the time that a host gives to a flush or a close: milliseconds, a number of at least 0, `Infinity` included. What
 * is none of these is no wish to give everything up at once, or to wait for ever: it is told, and the default is taken. Never throws.
 *
 * @param options whatever the host gave; with nothing in it the default is taken and nothing is told
 * @param usual the default
 * @param wrong is told what is wrong, without the value of a text
 */
export const timeoutOf = <U extends number | undefined>(
  options: unknown,
  usual: U,
  wrong: (error: unknown) => void,
): number | U => {
  if (options === undefined || options === null) return usual
  try {
    if (typeof options !== 'object')
      throw new TypeError(`the options must be an object such as { timeout: 5000 }, got ${shapeOf(options)}`)
    const given: unknown = 'timeout' in options ? options.timeout : undefined
    if (given === undefined) return usual
    if (typeof given === 'number' && given >= 0) return given
    throw new TypeError(
      `timeout must be a number of milliseconds of at least 0, or Infinity, got ${shapeOf(given)}`,
    )
  } catch (error) {
    wrong(error)
    return usual
  }
}

/** How much a log may say. */
export interface ToLoggerOptions {
  /**
   * Milliseconds. A sink that comes and goes is not called well before so much time has passed since its last line, and what has
   * no sink (defects, dead events) gets one line in that time. Default 60,000.
   */
  readonly quiet?: number
  /** Sinks whose troubles are remembered; beyond it the oldest trouble is forgotten, and told anew. Default 1,000. */
  readonly most?: number
}

/** Causes of one sink that are told apart before it is well again; more of them are only counted. */
const CAUSES_OF_A_SINK = 20

/** A sink that fails. */
interface Trouble {
  failures: number
  lastLine: number
  readonly told: Set<string>
}

/** Lines that were held back. */
interface Held {
  count: number
  lastLine: number
}

const ignore = (): void => undefined

/** A log may be an async function in spite of its type, and what it rejects with must not end the process (CL5). */
const unheard = (log: () => unknown): void => {
  whenSettled(log(), ignore, ignore)
}

/** Remembers at most so many, the newest. */
const put = <V>(map: Map<string, V>, most: number, key: string, value: V): V => {
  map.set(key, value)
  const oldest = map.size > most ? map.keys().next().value : undefined
  if (oldest !== undefined) map.delete(oldest)
  return value
}

/**
 * Writes what a person should know to a logger: a sink that fails, once for each cause until it answers again, then that it
 * does and after how many failures; never a line for each message (CL6). Timeouts, certificates and forbidden addresses are
 * errors (DE2, DE3), other failures warnings. Events that died, and defects, get a line now and then, with their count.
 * What happened to each single message is in the runtime log, `debugListener`.
 *
 * No line holds a payload, and of an error that a host's own code threw only its kind and place.
 *
 * @example
 * import { toLogger } from 'headrace'
 *
 * const tell = toLogger(console) // or a pino logger
 * tell({ _tag: 'Defect', at: Date.now(), where: 'my sink', error: new TypeError('oops') })
 */
export const toLogger = (logger: Logger, options: ToLoggerOptions = {}): Listener => {
  const { quiet = 60_000, most = 1_000 } = options
  const troubles = new Map<string, Trouble>()
  const held = new Map<string, Held>()

  // The wall clock may step, so it is how far apart two moments are that counts.
  const isQuietSince = (lastLine: number, now: number): boolean => Math.abs(now - lastLine) >= quiet

  const level = (grave: boolean): Log =>
    grave
      ? (message, fields) => {
          unheard(() => logger.error(message, fields))
        }
      : (message, fields) => {
          unheard(() => logger.warn(message, fields))
        }

  const troubleOf = (sink: string): Trouble =>
    troubles.get(sink) ?? put(troubles, most, sink, { failures: 0, lastLine: 0, told: new Set() })

  /** Says it unless that cause was told of this sink already. */
  const tellCause = (
    sink: string,
    at: number,
    cause: string,
    log: Log,
    text: string,
    fields: Fields,
  ): void => {
    const trouble = troubleOf(sink)
    if (trouble.told.has(cause) || trouble.told.size >= CAUSES_OF_A_SINK) return
    trouble.told.add(cause)
    trouble.lastLine = at
    log(oneLine(`${sink}: ${text}`), { sink, ...fields })
  }

  const attempted = ({ sink, at, number, result }: Attempted): void => {
    if (result._tag === 'Left') {
      const failure = result.left
      troubleOf(sink).failures++
      tellCause(sink, at, causeOf(failure), level(isGrave(failure)), show(failure), { attempt: number })
      return
    }
    const trouble = troubles.get(sink)
    if (trouble === undefined || !isQuietSince(trouble.lastLine, at)) return
    troubles.delete(sink)
    const { failures } = trouble
    if (failures === 0) return
    const count = failures === 1 ? '1 failure' : `${String(failures)} failures`
    unheard(() => logger.info(`${sink} answers again after ${count}`, { sink, failures }))
  }

  const passedOver = ({ sink, at, number }: UrlSkipped): void => {
    tellCause(sink, at, 'laneFull', level(false), 'its lane is full, so it is left out of some rounds', {
      attempt: number,
    })
  }

  /** Says it now and then, with the count of those that were not said. */
  const tellSometimes = (key: string, at: number, log: Log, text: string, fields: Fields): void => {
    const before = held.get(key)
    if (before !== undefined && !isQuietSince(before.lastLine, at)) {
      before.count++
      return
    }
    const count = before?.count ?? 0
    held.delete(key)
    put(held, most, key, { count: 0, lastLine: at })
    log(count === 0 ? text : `${text} (and ${String(count)} more since the last line like this)`, {
      ...fields,
      more: count,
    })
  }

  return (event: LogEvent) => {
    switch (event._tag) {
      case 'Attempted':
        attempted(event)
        return
      case 'UrlSkipped':
        passedOver(event)
        return
      case 'Ended':
        if (event.outcome._tag === 'Delivered') return
        tellSometimes(event.outcome._tag, event.at, level(false), logLine(event), {
          outcome: event.outcome._tag,
        })
        return
      case 'Defect': {
        const { where, error } = event
        tellSometimes(`defect ${where}`, event.at, level(true), logLine(event), {
          where,
          kind: kindOf(error),
        })
        return
      }
      case 'Accepted':
      case 'UnknownKeys':
      case 'Refused':
      case 'Waiting':
    }
  }
}
