import { constVoid } from '../core/either.ts'
import type { Awaitable } from '../core/awaitable.ts'
import { scheduleSafely, systemClock, type Clock } from '../core/clock.ts'
import { linkedList, type Link } from '../core/linkedList.ts'
import { nothingToCancel } from '../sink/layer.ts'
import type { Outbox } from './outbox.ts'

/** The pause after an error of the store, in milliseconds. */
export const STORE_RETRY_DELAY = 1_000

interface OpenCall extends Link<OpenCall> {
  readonly fail: (error: Error) => void
}

export type StoreLimit = ReturnType<typeof storeLimit>

/** Limits the time of a store's calls, in ms of the machine's clock: one that hangs stops nothing. */
export const storeLimit = (limit = 30_000) => {
  // A linked list: a Set keeps answered calls, and their items, until a full garbage collection.
  const open = linkedList<OpenCall>()
  let given: Error | undefined

  return {
    /**
     * Settles as the answer does, or rejects when the time is over, after `slow`. `late` gets an answer
     * that comes afterwards.
     */
    inTime: <T>(
      answer: PromiseLike<T>,
      late: (value: T) => void = constVoid,
      slow: (error: Error) => void = constVoid,
    ): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        const end = (): boolean => {
          cancel()
          return open.remove(call)
        }
        const fail = (error: Error): void => {
          if (end()) reject(error)
        }
        const call: OpenCall = { fail, older: undefined, newer: undefined }
        const cancel = systemClock.schedule(limit, () => {
          const error = new Error(`the store did not answer within ${String(limit)} ms`)
          slow(error)
          fail(error)
        })
        open.push(call)
        if (given !== undefined) fail(given)
        Promise.resolve(answer).then((value) => (end() ? resolve(value) : late(value)), fail)
      }),
    /** Fails every open call, and each later one that is not answered at once. */
    giveUp: (error: Error): void => {
      given = error
      for (let call = open.oldest(); call !== undefined; call = open.oldest()) call.fail(error)
    },
  }
}

/**
 * Opens an outbox that opens later: asks it, and again a second after each failure. `opened` is called once;
 * not at all if it is open from the start.
 */
export const opening = (
  outbox: Pick<Outbox<unknown>, 'opened'>,
  clock: Clock,
  opened: () => void,
  failed: (error: unknown) => void,
) => {
  let state: 'opens' | 'open' | 'closed' = outbox.opened === undefined ? 'open' : 'opens'
  const limit = storeLimit()
  let cancel = nothingToCancel
  let resolve = constVoid
  const isOpen = new Promise<void>((done) => {
    resolve = done
  })

  const succeeded = (): void => {
    if (state !== 'opens') return
    state = 'open'
    cancel()
    resolve()
    opened()
  }
  const ask = (): void => {
    const answer = Promise.resolve().then(() => outbox.opened?.())
    // An answer that comes too late counts all the same.
    limit
      .inTime(answer, succeeded)
      .then(succeeded)
      .catch((error: unknown) => {
        if (state !== 'closed') failed(error)
        if (state === 'opens') cancel = scheduleSafely(clock, STORE_RETRY_DELAY, ask, failed)
      })
  }
  if (state === 'opens') ask()

  return {
    isOpen: (): boolean => state === 'open',
    /** Makes a call when it is open. Rejects if that takes too long, or it is closed, and does not call. */
    whenOpen: <T>(call: () => Awaitable<T>): Awaitable<T> =>
      state === 'open' ? call() : limit.inTime(isOpen, constVoid, failed).then(call),
    /** Fails the calls that wait. It opens no more. */
    stop: (): void => {
      if (state !== 'opens') return
      state = 'closed'
      cancel()
      const error = new Error('it was closed before the store was open')
      failed(error)
      limit.giveUp(error)
    },
  }
}
