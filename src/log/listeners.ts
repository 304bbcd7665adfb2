import diagnostics, { type Channel } from 'node:diagnostics_channel'
import { constVoid } from '../core/either.ts'
import { isPromiseLike } from '../core/awaitable.ts'
import type { Clock } from '../core/clock.ts'
import { kindOf } from '../core/json.ts'
import { closed } from '../core/refusal.ts'
import { channelName, debugListener, isDebugOn } from './debug.ts'
import type { Listener, LogEvent } from './logEvent.ts'
import { toLogger, type Logger } from './logger.ts'

/** Looked up once: a look-up for each message can be measured. */
const channels: Partial<Record<LogEvent['_tag'], Channel>> = {}

const channelOf = (of: LogEvent['_tag']): Channel => (channels[of] ??= diagnostics.channel(channelName(of)))

/** The name of `headrace:notAccepted` before it was renamed, until 1.0. */
const refused = diagnostics.channel('headrace:refused')

/**
 * Publishes log events on `node:diagnostics_channel`, one channel for each kind: `headrace:notAccepted`,
 * `headrace:unknownKeys`, `headrace:accepted`, `headrace:redriven`, `headrace:restored`,
 * `headrace:attempted`, `headrace:urlSkipped`, `headrace:held`, `headrace:waiting`, `headrace:ended`,
 * `headrace:corrupt`, `headrace:skipped`, `headrace:defect`. The message is the `LogEvent` itself, items
 * included. Without subscribers it costs one check.
 *
 * An error that a subscriber throws ends the process: Node raises it as an uncaught exception.
 *
 * @example
 * import { channel } from 'headrace/log'
 * import { subscribe, unsubscribe } from 'node:diagnostics_channel'
 *
 * const print = (event: unknown): void => console.log(event)
 * subscribe('headrace:accepted', print)
 * channel({ _tag: 'Accepted', at: 0, from: 'mine', item: 'a' })
 * // => { _tag: 'Accepted', at: 0, from: 'mine', item: 'a' }
 * unsubscribe('headrace:accepted', print)
 */
export const channel: Listener = (event) => {
  const target = channelOf(event._tag)
  if (target.hasSubscribers) target.publish(event)
  if (event._tag === 'NotAccepted' && refused.hasSubscribers) refused.publish(event)
}

/** Publishes the items of an unsubscribed operator as `Closed`. */
export const publishAsClosed =
  (from: string, { now }: Pick<Clock, 'now'>) =>
  (items: ReadonlyArray<unknown>): void => {
    for (const one of items) channel({ _tag: 'NotAccepted', at: now(), from, refusal: closed(one) })
  }

/** Calls a function of the host. Its error or rejection goes to `onError`, whose own errors are dropped. */
export const callSafely = <A>(
  call: (input: A) => unknown,
  input: A,
  onError: (error: unknown, input: A) => void,
): void => {
  // Runs several times for each event, so nothing is allocated unless it fails.
  try {
    const answer = call(input)
    if (isPromiseLike(answer))
      answer.then(constVoid, (error: unknown) => callSafely(() => onError(error, input), 0, constVoid))
  } catch (error) {
    callSafely(() => onError(error, input), 0, constVoid)
  }
}

/** The members of each list. In another list they stand one by one: all others hear of an error. */
const listOf = new WeakMap<Listener, ReadonlyArray<Listener>>()

/**
 * One listener made of several. Each receives every event. If one throws, or returns a promise that rejects,
 * the others receive that error as a `Defect`. Undefined ones are left out.
 *
 * @throws TypeError for a value that is no function.
 *
 * @example
 * import { allListeners } from 'headrace/log'
 *
 * const seen: string[] = []
 * const onEvent = allListeners((event) => seen.push(event._tag), undefined)
 * onEvent({ _tag: 'Accepted', at: 0, from: 'mine', item: 'a' })
 * console.log(seen) // => [ 'Accepted' ]
 */
export const allListeners = (...given: ReadonlyArray<Listener | undefined>): Listener => {
  const all = given.flatMap((listener) => (listener && listOf.get(listener)) ?? listener ?? [])
  for (const each of all as ReadonlyArray<unknown>)
    if (typeof each !== 'function')
      throw new TypeError(`allListeners: a listener is a function, got ${kindOf(each)}: give its onEvent`)
  // One for each listener and not for each event: there are three or more events for every item.
  const safe = all.map((listener) => ({
    listener,
    onError: (error: unknown, { _tag, at, from }: LogEvent): void => {
      // An error at a defect is dropped, or there could be no end of defects.
      if (_tag === 'Defect') return
      const defect: LogEvent = { _tag: 'Defect', at, from, where: 'onEvent', error }
      for (const other of all) if (other !== listener) callSafely(other, defect, constVoid)
    },
  }))
  const together: Listener = (event) => {
    for (const { listener, onError } of safe) callSafely(listener, event, onError)
  }
  listOf.set(together, all)
  return together
}

/** Writes warnings and errors to the console unless the host gives a logger; the rest is silent. */
const consoleLogger: Logger = {
  debug: constVoid,
  info: constVoid,
  warn: (message) => console.warn(message),
  error: (message) => console.error(message),
}

/** Where log events go. @inline */
export interface Listening {
  /** Default: warnings and errors go to the console. `false` for silence. */
  readonly logger?: Logger | false
  /** Receives every log event. */
  readonly onEvent?: Listener
}

/** All listeners of a part: its own, the diagnostics channels, the debug log, the host's and `onEvent`. */
export const listeners = ({ logger = consoleLogger, onEvent }: Listening, ...own: Listener[]): Listener =>
  allListeners(...own, channel, debugListener(), logger === false ? undefined : toLogger(logger), onEvent)

/**
 * Whether a listener gets events of a kind; if not, none need be made (measured). `constVoid` is none, of
 * telemetry without an SDK. `DEBUG` is read once.
 */
export const isListening = ({ onEvent }: Listening): ((tag: LogEvent['_tag']) => boolean) =>
  (onEvent !== undefined && onEvent !== constVoid) || isDebugOn()
    ? () => true
    : (tag) => channelOf(tag).hasSubscribers || (tag === 'NotAccepted' && refused.hasSubscribers)
