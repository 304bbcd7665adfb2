import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import type { LogEvent, Listener } from '../log/logEvent.ts'
import { closed, disabled, full } from '../core/refusal.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Accepted } from './Client.ts'
import type { Encode } from './encoderOf.ts'
import type { CallType, Message } from './Message.ts'
import type { Accounts, Bound } from './queue/accounts.ts'
import type { Endings } from './queue/endings.ts'
import type { Flushing } from './queue/flushing.ts'
import type { ClientSettings } from './settingsOf.ts'

/** What an entrance works with. */
export interface EntranceOptions {
  readonly settings: Pick<ClientSettings, 'enabled' | 'overflow'>
  readonly books: Accounts
  readonly flushes: Pick<Flushing, 'current'>
  readonly ends: Pick<Endings, 'dropNewcomer' | 'tellsOfDrop'>
  /** Whether a closed batch is in memory that will make room there. */
  readonly isAnyLeaving: () => boolean
  readonly encode: Encode
  readonly isClosed: () => boolean
  /** Drops the oldest; false if there is nothing to drop. */
  readonly dropOldest: () => boolean
  /** Puts a message into its batch; it must not call back. */
  readonly put: (message: Message, key: string | undefined) => void
  /** Closes the batches that are being filled; it must not call back. */
  readonly closeOpen: () => void
  /** A message was accepted, and lies in its batch. */
  readonly accepted: () => void
  /** Hands over what that has closed. */
  readonly go: () => void
  /** Something waits. */
  readonly busy: () => void
  /** Room was used, or somebody was turned away for want of it. */
  readonly door: { readonly used: () => void; readonly refused: () => void }
  readonly onEvent: Listener
  readonly hears: (tag: LogEvent['_tag']) => boolean
  readonly now: () => number
}

/** The one way in: checks, writes, bounds, and takes into keeping. It answers at once and never throws (CL1). */
export const entrance = (
  options: EntranceOptions,
): ((call: unknown, kind: CallType | undefined) => Either<Refusal, Accepted>) => {
  const {
    settings,
    books,
    flushes,
    ends,
    encode,
    dropOldest,
    put,
    closeOpen,
    go,
    door,
    onEvent,
    hears,
    now,
  } = options
  const { enabled, overflow } = settings

  const refuse = (refusal: Refusal): Either<Refusal, never> => {
    if (refusal._tag === 'Full') door.refused()
    onEvent({ _tag: 'Refused', at: now(), refusal })
    return left(refusal)
  }

  const accept = (message: Message): void => {
    door.used()
    books.accept(message)
  }

  const tellAccepted = (message: Message): void => {
    options.busy()
    if (hears('Accepted')) onEvent({ _tag: 'Accepted', at: now(), item: message })
  }

  /** With no room and nothing on its way, all would wait for the clock: a queue may be smaller than a batch (clients/35). */
  const closeIfStuck = (): boolean => {
    const stuck = !options.isAnyLeaving()
    if (stuck) closeOpen()
    return stuck
  }

  /** The bound that is in the way, after everything was done that may be done about it. */
  const boundFor = ({ byteLength }: Message): Bound | undefined => {
    let bound = books.boundFor(byteLength)
    if (bound === undefined) return undefined
    if (closeIfStuck()) {
      go()
      bound = books.boundFor(byteLength)
    }
    if (overflow !== 'dropOldest' || ends.tellsOfDrop()) return bound
    while (bound !== undefined && books.reserving(byteLength, dropOldest)) bound = books.boundFor(byteLength)
    return bound
  }

  return (call, kind) => {
    if (options.isClosed()) return refuse(closed(call))
    const encoded = encode(call, kind)
    if (isLeft(encoded)) return refuse(encoded.left)
    if (!enabled) return refuse(disabled(call))
    const { message, key } = encoded.right
    const bound = boundFor(message)
    if (bound !== undefined && (overflow === 'error' || ends.tellsOfDrop()))
      return refuse(full(call, bound.bound, bound.limit))
    accept(message)
    if (bound === undefined) {
      flushes.current().live++
      // First into its batch, then told: whoever hears of it may send another, which comes behind it.
      put(message, key)
      options.accepted()
      if (books.isFull()) closeIfStuck()
      tellAccepted(message)
      go()
    } else {
      tellAccepted(message)
      ends.dropNewcomer(message)
    }
    return right({ id: message.id })
  }
}
