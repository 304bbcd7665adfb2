import { isPromiseLike, whenAnswered, type Awaitable } from '../core/awaitable.ts'
import { scheduleSafely, type Cancel, type Clock } from '../core/clock.ts'
import { nothingToCancel } from '../sink/layer.ts'
import type { Ack, Entry, Nack, Outbox } from './outbox.ts'
import { STORE_RETRY_DELAY, type StoreLimit } from './storeLimit.ts'

/** Results of one kind, which the store gets as one list. */
export type Write<A> = ReadonlyArray<Ack<A>> | ReadonlyArray<Nack<A>>

export const isAcks = <A>(write: Write<A>): write is ReadonlyArray<Ack<A>> =>
  write[0] !== undefined && 'outcome' in write[0]

/**
 * Results that must reach the store. `settled` gets each list once: when the store has it, or with
 * `isStored` false when it is given up; then the store may or may not have it.
 */
export const storeWrites = <A>(
  outbox: Outbox<A>,
  clock: Clock,
  limit: StoreLimit,
  settled: (write: Write<A>, isStored: boolean) => void,
  failed: (error: unknown) => void,
) => {
  /** Results that are not settled, and those of nacks among them. */
  const unsaved = { items: 0, nacks: 0 }
  const toRepeat: Array<Write<A>> = []
  let cancelTimer: Cancel | undefined
  let mayRepeat = true

  const settle = (write: Write<A>, isStored: boolean): void => {
    unsaved.items -= write.length
    if (!isAcks(write)) unsaved.nacks -= write.length
    settled(write, isStored)
  }
  const giveUp = (): void => {
    for (const write of toRepeat.splice(0)) settle(write, false)
  }
  const repeat = (): void => {
    cancelTimer = undefined
    toRepeat.splice(0).forEach(attempt)
  }

  const attempt = (write: Write<A>): void => {
    const writeFailed = (error: unknown): void => {
      failed(error)
      toRepeat.push(write)
      if (!mayRepeat) giveUp()
      else cancelTimer ??= scheduleSafely(clock, STORE_RETRY_DELAY, repeat, failed)
    }
    let answer: Awaitable<void>
    try {
      answer = isAcks(write) ? outbox.ack(write) : outbox.nack(write)
    } catch (error) {
      writeFailed(error)
      return
    }
    // Most stores answer at once.
    if (!isPromiseLike(answer)) settle(write, true)
    else limit.inTime(answer).then(() => settle(write, true), writeFailed)
  }

  return {
    unsaved,
    /** Writes results, and repeats that every second until the store confirms them. */
    save: (write: Write<A>): void => {
      unsaved.items += write.length
      if (!isAcks(write)) unsaved.nacks += write.length
      attempt(write)
    },
    /** Gives up lists that fail from now on, and after `timeout` ms all open calls, unless cancelled. */
    stopRetrying: (timeout: number): Cancel => {
      mayRepeat = false
      cancelTimer?.()
      giveUp()
      const stop = (): void => limit.giveUp(new Error('it was closed before the store answered'))
      return timeout === Infinity ? nothingToCancel : scheduleSafely(clock, timeout, stop, failed)
    },
    /** Ends leased entries for good, and takes out the others: `use` gets those. */
    handBack: (acks: ReadonlyArray<Ack<A>>, use: (remaining: ReadonlyArray<Entry<A>>) => void): void => {
      const ack = (): Awaitable<void> => (acks.length > 0 ? outbox.ack(acks) : undefined)
      const takeRemaining = (): Awaitable<ReadonlyArray<Entry<A>>> => {
        const remaining = outbox.takeRemaining()
        return isPromiseLike(remaining) ? limit.inTime(remaining) : remaining
      }
      whenAnswered(ack, () => undefined, failed)
      whenAnswered(takeRemaining, use, (error) => {
        failed(error)
        use([])
      })
    },
  }
}
