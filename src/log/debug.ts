import type createDebug from 'debug'
import { createRequire } from 'node:module'
import { show as showFailure } from '../core/failure.ts'
import type { Outcome } from '../core/outcome.ts'
import { show as showRefusal } from '../core/refusal.ts'
import { kindOf } from './logEvent.ts'
import type { LogEvent, Listener } from './logEvent.ts'
import { oneLine } from './logger.ts'

const LONGEST_ID = 100

/** Only a payload's id is an id of ours; any other item may be somebody's data in whole. */
const nameOf = (item: unknown): string =>
  typeof item === 'object' &&
  item !== null &&
  'byteLength' in item &&
  'id' in item &&
  typeof item.id === 'string'
    ? item.id.slice(0, LONGEST_ID)
    : 'an item'

const attempts = (count: number): string => (count === 1 ? '1 attempt' : `${String(count)} attempts`)

const endOf = (outcome: Outcome<unknown>): string => {
  switch (outcome._tag) {
    case 'Delivered':
      return `delivered to ${outcome.receipt.sink} after ${attempts(outcome.attempts)}`
    case 'Rejected':
      return `rejected after ${attempts(outcome.attempts)}: ${showFailure(outcome.failure)}`
    case 'Expired':
      return showFailure(outcome.failure)
    case 'Dropped':
      return `dropped (${outcome.reason})`
    case 'Abandoned': {
      const last = outcome.lastFailure === undefined ? '' : `, last: ${showFailure(outcome.lastFailure)}`
      return `abandoned after ${attempts(outcome.attempts)}${last}`
    }
  }
}

const textOf = (event: LogEvent): string => {
  switch (event._tag) {
    case 'Refused':
      return `refused: ${showRefusal(event.refusal)}`
    case 'UnknownKeys':
      return `left out, for no field of this kind of event: ${event.keys.map((key) => key.slice(0, LONGEST_ID)).join(', ')}`
    case 'Accepted':
      return `${nameOf(event.item)}: accepted`
    case 'Attempted': {
      const { item, sink, number, result, duration } = event
      const verdict =
        result._tag === 'Left' ? showFailure(result.left) : `delivered ${String(result.right.status ?? '')}`
      return `${nameOf(item)}: attempt ${String(number)} at ${sink}: ${verdict.trim()} in ${String(Math.round(duration))} ms`
    }
    case 'UrlSkipped':
      return `${nameOf(event.item)}: attempt ${String(event.number)} at ${event.sink}: passed over, its lane is full`
    case 'Waiting': {
      const { item, attempts: count, failure, delay, because } = event
      return `${nameOf(item)}: waits ${String(delay)} ms (${because}) after ${attempts(count)}: ${showFailure(failure)}`
    }
    case 'Ended':
      return `${nameOf(event.outcome.item)}: ${endOf(event.outcome)}`
    case 'Defect':
      return `defect in ${event.where}: ${kindOf(event.error)}`
  }
}

/**
 * What happened, in one line for people: message ids, sinks, statuses, reasons; never a payload.
 */
export const logLine = (event: LogEvent): string => oneLine(textOf(event))

type CreateDebug = typeof createDebug
type Debugger = createDebug.Debugger

/** `debug` is a dependency, but a bundle may have been made without it, and a missing log must not stop a delivery. */
const load = (): CreateDebug | undefined => {
  try {
    // `require` has no types; this is the package that they describe.
    return createRequire(import.meta.url)('debug') as CreateDebug
  } catch {
    return undefined
  }
}

const lowerFirst = (tag: LogEvent['_tag']): string => tag.charAt(0).toLowerCase() + tag.slice(1)

/**
 * The runtime log of `DEBUG=analytics`, or `DEBUG=headrace:*` with one name for each kind of happening (`headrace:attempted`), on
 * stderr, one line for each (CL6). Undefined, and nothing is loaded, unless the variable `DEBUG` is set when it is called.
 *
 * @example
 * import { debugListener, allListeners } from 'headrace'
 *
 * const tell = allListeners(debugListener())
 * tell({ _tag: 'Accepted', at: 0, item: 'a' })
 */
export const debugListener = (): Listener | undefined => {
  if (process.env['DEBUG'] === undefined || process.env['DEBUG'] === '') return undefined
  const create = load()
  if (create === undefined) return undefined

  const analytics = create('analytics')
  const byTag = new Map<string, Debugger>()
  const debuggerFor = (tag: LogEvent['_tag']): Debugger => {
    const known = byTag.get(tag)
    if (known !== undefined) return known
    const made = create(`headrace:${lowerFirst(tag)}`)
    byTag.set(tag, made)
    return made
  }

  return (event) => {
    const own = debuggerFor(event._tag)
    const log = own.enabled ? own : analytics
    // As an argument, because a per cent sign in the first one is a placeholder.
    if (log.enabled) log('%s', logLine(event))
  }
}
