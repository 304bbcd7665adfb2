import diagnostics from 'node:diagnostics_channel'
import type { Channel } from 'node:diagnostics_channel'
import type { Listener, LogEvent } from './logEvent.ts'

/** The name of a log event on `node:diagnostics_channel` and in `DEBUG`: `headrace:attempted`. */
export const channelName = (tag: LogEvent['_tag']): string =>
  `headrace:${tag.charAt(0).toLowerCase()}${tag.slice(1)}`

const channelOf = (tag: LogEvent['_tag']): Channel => diagnostics.channel(channelName(tag))

/** Looked up once: a look-up for each message can be measured. */
const channels: Readonly<Record<LogEvent['_tag'], Channel>> = {
  Refused: channelOf('Refused'),
  UnknownKeys: channelOf('UnknownKeys'),
  Accepted: channelOf('Accepted'),
  Attempted: channelOf('Attempted'),
  UrlSkipped: channelOf('UrlSkipped'),
  Waiting: channelOf('Waiting'),
  Ended: channelOf('Ended'),
  Defect: channelOf('Defect'),
}

/** Whether the channel of such events has a subscriber. */
export const hasSubscribers = (tag: LogEvent['_tag']): boolean => channels[tag].hasSubscribers

/**
 * Publishes log events on `node:diagnostics_channel`, one channel for each kind: `headrace:refused`, `headrace:unknownKeys`,
 * `headrace:accepted`, `headrace:attempted`, `headrace:urlSkipped`, `headrace:waiting`, `headrace:ended`, `headrace:defect`. The
 * message is the `LogEvent` itself, items included. Without subscribers it costs one check.
 *
 * An error that a subscriber throws ends the process: Node raises it as an uncaught exception.
 *
 * @example
 * import { channel } from 'headrace'
 * import { subscribe, unsubscribe } from 'node:diagnostics_channel'
 *
 * const print = (event: unknown): void => console.log(event)
 * subscribe('headrace:accepted', print)
 * channel({ _tag: 'Accepted', at: 0, item: 'a' }) // => { _tag: 'Accepted', at: 0, item: 'a' }
 * unsubscribe('headrace:accepted', print)
 */
export const channel: Listener = (event) => {
  const target = channels[event._tag]
  if (target.hasSubscribers) target.publish(event)
}
