import { isPromiseLike, type Awaitable } from '../core/awaitable.ts'
import { scheduleSafely, type Cancel, type Clock } from '../core/clock.ts'
import type { Ack, Nack, Outbox } from './outbox.ts'
import type { StoreLimit } from './storeLimit.ts'

/** The pause after an error of the store, in milliseconds. */
export const STORE_RETRY_DELAY = 1_000

/** As `nextDue` of the outbox. If that throws, it is asked again after the pause. */
export const nextDueOf = (
  outbox: Pick<Outbox<never>, 'nextDue'>,
  retriesOnly: boolean,
  now: () => number,
  failed: (error: unknown) => void,
): number | undefined => {
  try {
    return outbox.nextDue(retriesOnly)
  } catch (error) {
    failed(error)
    return now() + STORE_RETRY_DELAY
  }
}

/** Results of one kind, which the store gets as one list. */
export type Write<A> = ReadonlyArray<Ack<A>> | ReadonlyArray<Nack<A>>

export const isAcks = <A>(write: Write<A>): write is ReadonlyArray<Ack<A>> =>
  write[0] !== undefined && 'outcome' in write[0]

/** Results that must reach the store. `gaveUp` gets those that the store has not confirmed: it may or may not have them. */
export const storeWrites = <A>(
  outbox: Outbox<A>,
  clock: Clock,
  saved: (write: Write<A>) => void,
  failed: (error: unknown) => void,
  gaveUp: (write: Write<A>) => void,
  { inTime }: StoreLimit,
) => {
  const toRepeat: Array<Write<A>> = []
  let cancelTimer: Cancel | undefined
  let unsaved = 0
  let unsavedNacks = 0
  let mayRepeat = true

  const count = (write: Write<A>, change: 1 | -1): void => {
    unsaved += change
    if (!isAcks(write)) unsavedNacks += change
  }

  const giveUp = (): void => {
    for (const write of toRepeat.splice(0)) {
      count(write, -1)
      gaveUp(write)
    }
  }

  const repeat = (): void => {
    cancelTimer = undefined
    toRepeat.splice(0).forEach(attempt)
  }

  const writeFailed = (write: Write<A>, error: unknown): void => {
    failed(error)
    toRepeat.push(write)
    if (!mayRepeat) giveUp()
    else cancelTimer ??= scheduleSafely(clock, STORE_RETRY_DELAY, repeat, failed)
  }

  const confirmed = (write: Write<A>): void => {
    count(write, -1)
    saved(write)
  }

  const attempt = (write: Write<A>): void => {
    let answer: Awaitable<void>
    try {
      answer = isAcks(write) ? outbox.ack(write) : outbox.nack(write)
    } catch (error) {
      writeFailed(write, error)
      return
    }
    // A store in memory answers at once: no functions are made for a later answer.
    if (!isPromiseLike(answer)) confirmed(write)
    else
      inTime(answer).then(
        () => confirmed(write),
        (error: unknown) => writeFailed(write, error),
      )
  }

  return {
    /** Writes results, and repeats that every second until the store confirms them. */
    save: (write: Write<A>): void => {
      count(write, 1)
      attempt(write)
    },
    /** Gives up the lists that wait for their repetition, and from now on those that fail. */
    stopRetrying: (): void => {
      mayRepeat = false
      cancelTimer?.()
      giveUp()
    },
    /** Lists that the store has not confirmed, and those of nacks among them. */
    unsaved: (): number => unsaved,
    unsavedNacks: (): number => unsavedNacks,
  }
}
