import { isPromiseLike } from '../core/awaitable.ts'
import type { Awaitable } from '../core/awaitable.ts'
import { channel } from './channel.ts'
import { debugListener } from './debug.ts'
import type { Listener, Defect, LogEvent } from './logEvent.ts'
import { toLogger } from './logger.ts'
import type { Logger } from './logger.ts'

const ignore = (): void => undefined

const failing =
  <A>(fail: (error: unknown, input: A) => void, input: A) =>
  (error: unknown): void => {
    try {
      fail(error, input)
    } catch {
      // Whoever is told of failures failed: nobody is left to tell.
    }
  }

/**
 * Calls somebody else's function with `input`, so that nothing it does wrong harms us: what it throws, and what a promise it answers
 * rejects with, goes to `fail`, with the input, and if `fail` throws too, that was the last of it (CL5).
 */
export const isolate = <A>(
  call: (input: A) => unknown,
  input: A,
  fail: (error: unknown, input: A) => void,
): void => {
  // Called several times for each event: nothing is made that is not needed.
  try {
    const answer: Awaitable<unknown> = call(input)
    if (isPromiseLike(answer)) answer.then(ignore, failing(fail, input))
  } catch (error) {
    failing(fail, input)(error)
  }
}

const nothing = (): void => undefined

/** What a person must know goes to the console unless the host has a better place; the rest is silent. */
const toConsole: Logger = {
  debug: nothing,
  info: nothing,
  warn: (message) => {
    console.warn(message)
  },
  error: (message) => {
    console.error(message)
  },
}

/** Who wants to know, beside the host's diagnostics. */
export interface Listening {
  /** Default: warnings and errors go to the console. `false` for silence. */
  readonly logger?: Logger | false
  /** Is told everything that happens. */
  readonly onEvent?: Listener
}

/** Everybody who is told what happens in a façade: the host's diagnostics, its logger, and the façade itself. */
export const listeners = (
  { logger = toConsole, onEvent }: Listening,
  ...own: ReadonlyArray<Listener>
): Listener =>
  allListeners(...own, channel, debugListener(), logger === false ? undefined : toLogger(logger), onEvent)

const ignoreError = (): void => undefined

/**
 * One `Tell` out of several. Each is told everything, whatever the others do: one that throws, or answers a promise that
 * rejects, harms neither the pipeline nor the others, who are told of it as a defect (CL5). Undefined ones are left out.
 *
 * @example
 * import { allListeners } from 'headrace'
 *
 * const seen: string[] = []
 * const tell = allListeners((happening) => seen.push(happening._tag), undefined)
 * tell({ _tag: 'Accepted', at: 0, item: 'a' })
 * console.log(seen) // => [ 'Accepted' ]
 */
export const allListeners = (...tells: ReadonlyArray<Listener | undefined>): Listener => {
  const all = tells.filter((onEvent) => onEvent !== undefined)

  const tellOthers = (thrower: Listener, defect: Defect): void => {
    for (const onEvent of all) {
      if (onEvent !== thrower) isolate(onEvent, defect, ignoreError)
    }
  }

  // Made once for each, and not once for each happening: there are three or more of them for every event.
  const guarded = all.map((onEvent) => ({
    onEvent,
    fail: (error: unknown, event: LogEvent): void => {
      // A Tell that fails at a defect must not start a chain of defects.
      if (event._tag === 'Defect') return
      tellOthers(onEvent, { _tag: 'Defect', at: event.at, where: 'tell', error })
    },
  }))

  return (event) => {
    for (const { onEvent, fail } of guarded) isolate(onEvent, event, fail)
  }
}
