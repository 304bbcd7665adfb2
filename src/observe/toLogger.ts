import { whenSettled } from '../internal/Awaitable.ts'
import { show } from '../outcome/Failure.ts'
import { causeOf, isGrave } from './Cause.ts'
import type { Attempted, Happening, PassedOver, Tell } from './Happening.ts'
import { kindOf } from './kindOf.ts'
import { lineOf } from './lineOf.ts'
import type { Fields, Log, Logger } from './Logger.ts'
import { oneLine } from './oneLine.ts'

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
 * What happened to each single message is in the runtime log, `debugTell`.
 *
 * No line holds a payload, and of an error that a host's own code threw only its kind and place.
 *
 * @example
 * import { toLogger } from 'headrace'
 *
 * const tell = toLogger(console) // or a pino logger
 * tell({ _tag: 'Defect', at: Date.now(), where: 'my sink', error: new TypeError('oops') })
 */
export const toLogger = (logger: Logger, options: ToLoggerOptions = {}): Tell => {
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

  const passedOver = ({ sink, at, number }: PassedOver): void => {
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

  return (happening: Happening) => {
    switch (happening._tag) {
      case 'Attempted':
        attempted(happening)
        return
      case 'PassedOver':
        passedOver(happening)
        return
      case 'Ended':
        if (happening.outcome._tag === 'Delivered') return
        tellSometimes(happening.outcome._tag, happening.at, level(false), lineOf(happening), {
          outcome: happening.outcome._tag,
        })
        return
      case 'Defect': {
        const { where, error } = happening
        tellSometimes(`defect ${where}`, happening.at, level(true), lineOf(happening), {
          where,
          kind: kindOf(error),
        })
        return
      }
      case 'Accepted':
      case 'KeysDropped':
      case 'RefusedAtDoor':
      case 'Waiting':
    }
  }
}
