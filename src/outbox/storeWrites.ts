import { constVoid } from '../core/either.ts'
import { isPromiseLike, whenAnswered, type Awaitable } from '../core/awaitable.ts'
import { isMachine, nextTurn, scheduleSafely, type Cancel, type Clock } from '../core/clock.ts'
import { onceSoon, type OwnContext } from '../core/ownContext.ts'
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
  own: OwnContext,
  clock: Clock,
  limit: StoreLimit,
  settled: (write: Write<A>, isStored: boolean) => void,
  failed: (error: unknown) => void,
) => {
  /** Results that are not settled, and those of nacks among them. */
  const unsaved = { items: 0, nacks: 0 }
  /** Results of this turn for a store that does not answer at once: one list of each kind for all of them. */
  const acks: Array<Ack<A>> = []
  const nacks: Array<Nack<A>> = []
  let isSlow = false
  const toRepeat: Array<Write<A>> = []
  let cancelTimer: Cancel | undefined
  let mayRepeat = true

  const settle = (write: Write<A>, isStored: boolean): void => {
    unsaved.items -= write.length
    if (!isAcks(write)) unsaved.nacks -= write.length
    settled(write, isStored)
  }
  const giveUp = (): void => toRepeat.splice(0).forEach((write) => settle(write, false))
  /** The first lists, not repeated in this round: a few of them find out whether the store is back. */
  let untried = 0
  const repeatSome = (count: number): void => {
    const some = toRepeat.splice(0, Math.min(count, untried))
    untried -= some.length
    for (const write of some) attempt(write, () => repeatSome(Infinity))
  }
  const repeat = (): void => {
    cancelTimer = undefined
    untried = toRepeat.length
    repeatSome(4)
  }

  const limited = <T>(answer: Awaitable<T>) => (isPromiseLike(answer) ? limit.inTime(answer) : answer)
  const attempt = (write: Write<A>, stored = constVoid): void => {
    const writeFailed = (error: unknown): void => {
      failed(error)
      // In halves: a result that the store never takes is alone after some repeats.
      const half = Math.ceil(write.length / 2)
      toRepeat.push(write.slice(0, half))
      if (half < write.length) toRepeat.push(write.slice(half))
      if (!mayRepeat) giveUp()
      else cancelTimer ??= scheduleSafely(clock, STORE_RETRY_DELAY, repeat, failed)
    }
    const ask = (): Awaitable<void> => {
      const answer = limited(isAcks(write) ? outbox.ack(write) : outbox.nack(write))
      isSlow = isPromiseLike(answer)
      return answer
    }
    const written = (): void => {
      settle(write, true)
      stored()
    }
    whenAnswered(ask, written, writeFailed)
  }
  const attemptAll = (): void => {
    if (acks.length > 0) attempt(acks.splice(0))
    if (nacks.length > 0) attempt(nacks.splice(0))
  }
  // Sockets answer in microtasks of their own, but in one turn. A virtual clock waits for no turn.
  const attemptSoon = onceSoon(own, attemptAll, isMachine(clock) ? nextTurn : undefined)

  return {
    unsaved,
    /** Writes results, and repeats that every second until the store confirms them. */
    save: (write: Write<A>): void => {
      unsaved.items += write.length
      if (!isAcks(write)) unsaved.nacks += write.length
      if (!isSlow) return attempt(write)
      if (isAcks(write)) for (const ack of write) acks.push(ack)
      else for (const nack of write) nacks.push(nack)
      attemptSoon()
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
    handBack: (mine: ReadonlyArray<Ack<A>>, use: (remaining: ReadonlyArray<Entry<A>>) => void): void => {
      if (mine.length > 0) whenAnswered(() => outbox.ack(mine), constVoid, failed)
      const notTaken = (error: unknown): void => {
        failed(error)
        use([])
      }
      whenAnswered(() => limited(outbox.takeRemaining()), use, notTaken)
    },
  }
}
