import diagnostics from 'node:diagnostics_channel'
import type { Channel } from 'node:diagnostics_channel'
import { isolate } from './listeners.ts'
import type { Defect, LogEvent, Listener } from './logEvent.ts'

/** The channel of each kind of happening. */
export const CHANNEL_NAMES: Readonly<Record<LogEvent['_tag'], string>> = {
  Refused: 'headrace:refusedAtDoor',
  UnknownKeys: 'headrace:keysDropped',
  Accepted: 'headrace:accepted',
  Attempted: 'headrace:attempted',
  UrlSkipped: 'headrace:passedOver',
  Waiting: 'headrace:waiting',
  Ended: 'headrace:ended',
  Defect: 'headrace:defect',
}

/** `unknown` as its result, because an async function may subscribe, and its promise may reject. */
type ChannelListener = (message: unknown, name: string | symbol) => unknown

interface Subscribable {
  readonly subscribe: (listener: ChannelListener) => void
  readonly unsubscribe: (listener: ChannelListener) => boolean
}

/** How Node itself subscribes on this channel. Read anew each time: it changes when the first subscriber comes. */
const own = (channel: Channel): Subscribable =>
  // A channel always inherits from Channel or from its active form, and both have these methods.
  Object.getPrototypeOf(channel) as Subscribable

/**
 * A named channel on which a subscriber that throws is contained. Node raises `uncaughtException` for what a subscriber throws,
 * which ends the process: one broken metric would lose every event (CL5). So `subscribe` of our own channels wraps what it
 * is given. Whoever subscribed before headrace was loaded is not wrapped.
 */
const guardedChannel = (name: string, report: (error: unknown, at: number) => void): Channel => {
  const channel = diagnostics.channel(name)
  const guardOf = new WeakMap<ChannelListener, ChannelListener>()
  const guards = new WeakSet<ChannelListener>()

  const guard = (listener: ChannelListener): ChannelListener => {
    // Node's first `subscribe` calls itself once more, with our guard. And what is no function is for Node to refuse.
    if (typeof listener !== 'function' || guards.has(listener)) return listener
    const known = guardOf.get(listener)
    if (known !== undefined) return known
    const guarded: ChannelListener = (message, channelName) => {
      isolate(
        (sent) => listener(sent, channelName),
        message,
        (error) => {
          // Only `channel` below publishes here, and it publishes happenings.
          report(error, (message as LogEvent).at)
        },
      )
    }
    guardOf.set(listener, guarded)
    guards.add(guarded)
    return guarded
  }

  const subscribe: Subscribable['subscribe'] = (listener) => {
    own(channel).subscribe.call(channel, guard(listener))
  }
  const unsubscribe: Subscribable['unsubscribe'] = (listener) =>
    own(channel).unsubscribe.call(channel, guardOf.get(listener) ?? listener)
  return Object.assign(channel, { subscribe, unsubscribe })
}

const defects: Channel = guardedChannel(CHANNEL_NAMES.Defect, () => undefined)

const reportFrom =
  (name: string) =>
  (error: unknown, at: number): void => {
    const defect: Defect = { _tag: 'Defect', at, where: `subscriber of ${name}`, error }
    if (defects.hasSubscribers) defects.publish(defect)
  }

const guarded = (tag: Exclude<LogEvent['_tag'], 'Defect'>): Channel =>
  guardedChannel(CHANNEL_NAMES[tag], reportFrom(CHANNEL_NAMES[tag]))

const channels: Readonly<Record<LogEvent['_tag'], Channel>> = {
  Refused: guarded('Refused'),
  UnknownKeys: guarded('UnknownKeys'),
  Accepted: guarded('Accepted'),
  Attempted: guarded('Attempted'),
  UrlSkipped: guarded('UrlSkipped'),
  Waiting: guarded('Waiting'),
  Ended: guarded('Ended'),
  Defect: defects,
}

/**
 * Publishes what happens on `node:diagnostics_channel`, one channel for each kind: `headrace:refusedAtDoor`, `headrace:keysDropped`, `headrace:accepted`,
 * `headrace:attempted`, `headrace:passedOver`, `headrace:waiting`, `headrace:ended`, `headrace:defect`. The message is the
 * `LogEvent` itself, items included: a subscriber decides what of it may be seen. It costs one look when nobody listens.
 *
 * A subscriber that throws harms nobody; what it threw comes out as a `Defect` (CL5).
 *
 * @example
 * import { channel } from 'headrace'
 * import { subscribe } from 'node:diagnostics_channel'
 *
 * subscribe('headrace:accepted', (happening) => console.log(happening))
 * channel({ _tag: 'Accepted', at: 0, item: 'a' })
 */
export const channel: Listener = (event) => {
  const target = channels[event._tag]
  if (target.hasSubscribers) target.publish(event)
}
