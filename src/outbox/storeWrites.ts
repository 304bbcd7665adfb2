import { constVoid } from '../core/either.ts'
import { isPromiseLike, whenAnswered, type Awaitable } from '../core/awaitable.ts'
import { isMachine, nextTurn, scheduleSafely, type Cancel, type Clock } from '../core/clock.ts'
import { onceSoon, type OwnContext } from '../core/ownContext.ts'
import { ShownError } from '../core/refusal.ts'
import { nothingToCancel } from '../sink/layer.ts'
import type { Ack, Entry, Outbox } from './outbox.ts'
import { STORE_RETRY_DELAY, type StoreLimit } from './storeLimit.ts'

/** A list that the store did not take. */
type Failed = Readonly<{ attempt: (stored: () => void) => void; giveUp: () => void }>

/** Results that must reach the store: each list is repeated until it is there, or is given up. */
export const storeWrites = <A>(
  outbox: Pick<Outbox<A>, 'ack' | 'takeRemaining'>,
  own: OwnContext,
  clock: Clock,
  limit: StoreLimit,
  failed: (error: unknown) => void,
  changed: () => void,
) => {
  let isSlow = false
  const toRepeat: Failed[] = []
  let cancelTimer: Cancel | undefined
  let mayRepeat = true

  const giveUp = (): void => toRepeat.splice(0).forEach((list) => list.giveUp())
  /** The first lists, not repeated in this round: a few of them find out whether the store is back. */
  let untried = 0
  const repeatSome = (count: number): void => {
    const some = toRepeat.splice(0, Math.min(count, untried))
    untried -= some.length
    for (const list of some) list.attempt(() => repeatSome(Infinity))
  }
  const repeat = (): void => {
    cancelTimer = undefined
    untried = toRepeat.length
    repeatSome(4)
  }
  const limited = <T>(answer: Awaitable<T>) => (isPromiseLike(answer) ? limit.inTime(answer) : answer)

  return {
    /**
     * Acks, or nacks. `settled` gets each list once: when the store has it, or with `isStored` false when it
     * is given up; then the store may or may not have it.
     */
    listsOf: <R>(
      put: (list: ReadonlyArray<R>) => Awaitable<void>,
      settled: (list: ReadonlyArray<R>, isStored: boolean) => void,
    ) => {
      /** Results of this turn for a store that does not answer at once: one list for all of them. */
      const turn: R[] = []

      const settle = (list: ReadonlyArray<R>, isStored: boolean): void => {
        lists.unsaved -= list.length
        settled(list, isStored)
        changed()
      }
      const attempt = (list: ReadonlyArray<R>, stored = constVoid): void => {
        const writeFailed = (error: unknown): void => {
          failed(error)
          // In halves: a result that the store never takes is alone after some repeats.
          const half = Math.ceil(list.length / 2)
          for (const part of [list.slice(0, half), list.slice(half)].filter(({ length }) => length > 0))
            toRepeat.push({ attempt: (done) => attempt(part, done), giveUp: () => settle(part, false) })
          if (!mayRepeat) giveUp()
          else cancelTimer ??= scheduleSafely(clock, STORE_RETRY_DELAY, repeat, failed)
        }
        const ask = (): Awaitable<void> => {
          const answer = limited(put(list))
          isSlow = isPromiseLike(answer)
          return answer
        }
        const written = (): void => {
          settle(list, true)
          stored()
        }
        whenAnswered(ask, written, writeFailed)
      }
      // Sockets answer in microtasks of their own, but in one turn. A virtual clock waits for no turn.
      const wait = isMachine(clock) ? nextTurn : undefined
      const attemptSoon = onceSoon(own, () => attempt(turn.splice(0)), wait)

      const lists = {
        /** Results that are not settled. */
        unsaved: 0,
        save: (list: ReadonlyArray<R>): void => {
          lists.unsaved += list.length
          if (isSlow) {
            for (const result of list) turn.push(result)
            attemptSoon()
          } else attempt(list)
          if (lists.unsaved > 0) changed()
        },
      }
      return lists
    },
    /** Gives up lists that fail from now on, and after `timeout` ms all open calls, unless cancelled. */
    stopRetrying: (timeout: number): Cancel => {
      mayRepeat = false
      cancelTimer?.()
      giveUp()
      const stop = (): void => limit.giveUp(new ShownError('it was closed before the store answered'))
      return timeout === Infinity ? nothingToCancel : scheduleSafely(clock, timeout, stop, failed)
    },
    /** Ends leased entries for good, and gives `use` the others, unless another relay goes on with them. */
    handBack: (
      mine: ReadonlyArray<Ack<A>>,
      isAnothers: boolean,
      use: (remaining: ReadonlyArray<Entry<A>>) => void,
    ): void => {
      if (mine.length > 0) whenAnswered(() => outbox.ack(mine), constVoid, failed)
      const notTaken = (error: unknown): void => {
        failed(error)
        use([])
      }
      if (isAnothers) use([])
      else whenAnswered(() => limited(outbox.takeRemaining()), use, notTaken)
    },
  }
}
