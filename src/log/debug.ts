import type createDebug from 'debug'
import { valueOr } from '../core/either.ts'
import { show as showFailure } from '../core/failure.ts'
import { isRecord } from '../core/json.ts'
import { loadPackage } from '../core/package.ts'
import type { Outcome } from '../core/outcome.ts'
import { show as showRefusal } from '../core/refusal.ts'
import { errorKind, type LogEvent, type Listener, type UrlSkipped } from './logEvent.ts'

const MAX_NAME = 100

/** The name of a log event on `node:diagnostics_channel` and in `DEBUG`: `headrace:attempted`. */
export const channelName = (tag: LogEvent['_tag']) => `headrace:${tag.charAt(0).toLowerCase()}${tag.slice(1)}`

/** A text for logs: each control character, which could fake lines or steer a terminal, becomes `?`. */
export const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]/gu, '?')

/** Of a payload only its id is shown, of a call its `messageId`: any other item may be data as a whole. */
const idPrefix = (item: unknown): string => {
  const id = isRecord(item) ? item['byteLength' in item ? 'id' : 'messageId'] : undefined
  return typeof id === 'string' ? `${id.slice(0, MAX_NAME)}: ` : ''
}

const attemptPrefix = ({ item, number, sink }: Omit<UrlSkipped, '_tag'>): string =>
  `${idPrefix(item)}attempt ${String(number)} at ${sink}: `

/** A count with its word: `1 attempt`, `2 attempts`. */
export const counted = (count: number, word: string) => `${String(count)} ${word}${count === 1 ? '' : 's'}`

const endText = (outcome: Outcome<unknown>): string => {
  const attempts = counted(outcome.attempts, 'attempt')
  switch (outcome._tag) {
    case 'Delivered':
      return `delivered to ${outcome.receipt.sink} after ${attempts}`
    case 'Rejected':
      return `rejected after ${attempts}: ${showFailure(outcome.failure)}`
    case 'Expired':
      return showFailure(outcome.failure)
    case 'Dropped':
      return `dropped (${outcome.reason})`
    case 'Abandoned': {
      const last = outcome.lastFailure === undefined ? '' : `, last: ${showFailure(outcome.lastFailure)}`
      return `abandoned after ${attempts}${last}`
    }
  }
}

const eventLine = (event: LogEvent): string => {
  switch (event._tag) {
    case 'NotAccepted':
      return `${idPrefix(event.refusal.input)}not accepted: ${showRefusal(event.refusal)}`
    case 'UnknownKeys':
      return `unknown keys left out: ${event.keys.map((key) => key.slice(0, MAX_NAME)).join(', ')}`
    case 'Accepted':
      return `${idPrefix(event.item)}accepted`
    case 'Redriven':
      return `redriven: ${counted(event.ids.length, 'dead letter')}`
    case 'Restored':
      return `restored: ${counted(event.count, 'item')} of an earlier run`
    case 'Corrupt':
      return `the stored record ${event.id.slice(0, MAX_NAME)} cannot be read; it is a dead letter now`
    case 'Skipped':
      return `${idPrefix(event.item)}skipped`
    case 'Held':
      return `${attemptPrefix(event)}held for ${String(event.until - event.at)} ms (${event.because})`
    case 'Attempted': {
      const { result } = event
      const duration = String(Math.round(event.duration))
      const verdict =
        result._tag === 'Left' ? showFailure(result.left) : `delivered ${String(result.right.status ?? '')}`
      return `${attemptPrefix(event)}${verdict.trim()} in ${duration} ms`
    }
    case 'UrlSkipped':
      return `${attemptPrefix(event)}skipped, its queue is full`
    case 'Waiting': {
      const { item, attempts, failure, delay, because } = event
      const after = `after ${counted(attempts, 'attempt')}: ${showFailure(failure)}`
      return `${idPrefix(item)}waits ${String(delay)} ms (${because}) ${after}`
    }
    case 'Ended':
      return idPrefix(event.outcome.item) + endText(event.outcome)
    case 'Defect':
      return `defect in ${event.where}: ${errorKind(event.error)}`
  }
}

/** A log event in one line for people: message ids, sinks, statuses, reasons; never a payload. */
export const logLine = (event: LogEvent): string => oneLine(eventLine(event))

export const isDebugOn = (): boolean => (process.env['DEBUG'] ?? '') !== ''

/** A bundle may lack `debug`, and a missing log must not stop a delivery. It loads in 60 ms. */
const loadDebug = (): typeof createDebug | undefined =>
  // `require` has no types; this is the package that they describe.
  valueOr(undefined, () => loadPackage('debug') as typeof createDebug)

/**
 * The runtime log of `DEBUG=analytics`, or of `DEBUG=headrace:*` with one name for each kind of log event
 * (`headrace:attempted`): one line for each, on stderr. Undefined, with nothing loaded, unless the variable
 * `DEBUG` is set at the call.
 *
 * @example
 * import { debugListener, allListeners } from 'headrace/log'
 *
 * const onEvent = allListeners(debugListener())
 * onEvent({ _tag: 'Accepted', at: 0, from: 'mine', item: 'a' })
 */
export const debugListener = (): Listener | undefined => {
  const create = isDebugOn() ? loadDebug() : undefined
  if (create === undefined) return undefined

  const analytics = create('analytics')
  const byTag: Partial<Record<LogEvent['_tag'], createDebug.Debugger>> = {}

  return (event) => {
    const own = (byTag[event._tag] ??= create(channelName(event._tag)))
    const log = own.enabled ? own : analytics
    // As an argument, because a per cent sign in the first one is a placeholder.
    if (log.enabled) log('%s', logLine(event))
  }
}
