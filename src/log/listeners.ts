import { isPromiseLike } from '../core/awaitable.ts'
import { channel, hasSubscribers } from './channel.ts'
import { debugListener, isDebugOn } from './debug.ts'
import type { Listener, LogEvent } from './logEvent.ts'
import { toLogger } from './logger.ts'
import type { Logger } from './logger.ts'

const ignore = (): void => undefined

const failing =
  <A>(onError: (error: unknown, input: A) => void, input: A) =>
  (error: unknown): void => {
    try {
      onError(error, input)
    } catch {
      // There is nothing left to report it to.
    }
  }

/**
 * Calls a function of the host so that its errors stay here: what it throws, and what a promise that it returns rejects with, goes to
 * `onError` with the input. If `onError` throws too, that error is dropped.
 */
export const callSafely = <A>(
  call: (input: A) => unknown,
  input: A,
  onError: (error: unknown, input: A) => void,
): void => {
  // Called several times for each event, so nothing is allocated unless it fails.
  try {
    const answer = call(input)
    if (isPromiseLike(answer)) answer.then(ignore, failing(onError, input))
  } catch (error) {
    failing(onError, input)(error)
  }
}

/**
 * One listener made of several. Each is given every event. If one throws, or returns a promise that rejects, the others are given that
 * error as a `Defect`. Undefined ones are left out.
 *
 * @example
 * import { allListeners } from 'headrace'
 *
 * const seen: string[] = []
 * const onEvent = allListeners((event) => seen.push(event._tag), undefined)
 * onEvent({ _tag: 'Accepted', at: 0, item: 'a' })
 * console.log(seen) // => [ 'Accepted' ]
 */
export const allListeners = (...given: ReadonlyArray<Listener | undefined>): Listener => {
  const all = given.flatMap((listener) => listener ?? [])

  // One for each listener and not for each event: there are three or more events for every item.
  const safe = all.map((listener) => ({
    listener,
    onError: (error: unknown, event: LogEvent): void => {
      // An error at a defect is dropped, or there could be no end of defects.
      if (event._tag === 'Defect') return
      for (const other of all) {
        if (other !== listener)
          callSafely(other, { _tag: 'Defect', at: event.at, where: 'onEvent', error }, ignore)
      }
    },
  }))

  return (event) => {
    for (const { listener, onError } of safe) callSafely(listener, event, onError)
  }
}

/** What a person must know goes to the console unless the host gives a logger; the rest is silent. */
const consoleLogger: Logger = {
  debug: ignore,
  info: ignore,
  warn: (message) => console.warn(message),
  error: (message) => console.error(message),
}

/** Where log events go. */
export interface Listening {
  /** Default: warnings and errors go to the console. `false` for silence. */
  readonly logger?: Logger | false
  /** Is given every log event. */
  readonly onEvent?: Listener
}

/** All listeners of a destination, client or collector: its own, the diagnostics channels, the debug log, the host's logger and `onEvent`. */
export const listeners = (
  { logger = consoleLogger, onEvent }: Listening,
  ...own: ReadonlyArray<Listener>
): Listener =>
  allListeners(...own, channel, debugListener(), logger === false ? undefined : toLogger(logger), onEvent)

/**
 * Whether `onEvent`, the debug log or a channel gets events of a kind. If not, the event need not be made, which can be measured where there
 * is one for each message. `DEBUG` is read once.
 */
export const isListening = ({ onEvent }: Listening): ((tag: LogEvent['_tag']) => boolean) =>
  onEvent !== undefined || isDebugOn() ? () => true : hasSubscribers
