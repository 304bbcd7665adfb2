import diagnostics from 'node:diagnostics_channel'
import type { Channel } from 'node:diagnostics_channel'
import type { Defect, Happening, Tell } from './Happening.ts'
import { isolate } from './isolate.ts'

/** The channel of each kind of happening. */
export const CHANNEL_NAMES: Readonly<Record<Happening['_tag'], string>> = {
  RefusedAtDoor: 'headrace:refusedAtDoor',
  KeysDropped: 'headrace:keysDropped',
  Accepted: 'headrace:accepted',
  Attempted: 'headrace:attempted',
  PassedOver: 'headrace:passedOver',
  Waiting: 'headrace:waiting',
  Ended: 'headrace:ended',
  Defect: 'headrace:defect',
}

/** `unknown` as its result, because an async function may subscribe, and its promise may reject. */
type Listener = (message: unknown, name: string | symbol) => unknown

interface Subscribable {
  readonly subscribe: (listener: Listener) => void
  readonly unsubscribe: (listener: Listener) => boolean
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
  const guardOf = new WeakMap<Listener, Listener>()
  const guards = new WeakSet<Listener>()

  const guard = (listener: Listener): Listener => {
    // Node's first `subscribe` calls itself once more, with our guard. And what is no function is for Node to refuse.
    if (typeof listener !== 'function' || guards.has(listener)) return listener
    const known = guardOf.get(listener)
    if (known !== undefined) return known
    const guarded: Listener = (message, channelName) => {
      isolate(
        (sent) => listener(sent, channelName),
        message,
        (error) => {
          // Only `channel` below publishes here, and it publishes happenings.
          report(error, (message as Happening).at)
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

const guarded = (tag: Exclude<Happening['_tag'], 'Defect'>): Channel =>
  guardedChannel(CHANNEL_NAMES[tag], reportFrom(CHANNEL_NAMES[tag]))

const channels: Readonly<Record<Happening['_tag'], Channel>> = {
  RefusedAtDoor: guarded('RefusedAtDoor'),
  KeysDropped: guarded('KeysDropped'),
  Accepted: guarded('Accepted'),
  Attempted: guarded('Attempted'),
  PassedOver: guarded('PassedOver'),
  Waiting: guarded('Waiting'),
  Ended: guarded('Ended'),
  Defect: defects,
}

/**
 * Publishes what happens on `node:diagnostics_channel`, one channel for each kind: `headrace:refusedAtDoor`, `headrace:keysDropped`, `headrace:accepted`,
 * `headrace:attempted`, `headrace:passedOver`, `headrace:waiting`, `headrace:ended`, `headrace:defect`. The message is the
 * `Happening` itself, items included: a subscriber decides what of it may be seen. It costs one look when nobody listens.
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
export const channel: Tell = (happening) => {
  const target = channels[happening._tag]
  if (target.hasSubscribers) target.publish(happening)
}
