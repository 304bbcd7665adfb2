import { systemClock } from '../core/clock.ts'
import { linkedList, type Link } from '../core/linkedList.ts'
import { nothingToCancel } from '../sink/layer.ts'

/** Milliseconds that a store has for one call, on the machine's clock. */
const STORE_TIMEOUT = 30_000

const ignore = (): void => undefined

interface Call extends Link<Call> {
  fail: (error: Error) => void
}

export type StoreLimit = ReturnType<typeof storeLimit>

/** The limit of time for the calls of one store, so that a store that hangs stops nothing for ever. */
export const storeLimit = (limit = STORE_TIMEOUT) => {
  const open = linkedList<Call>()
  let given: Error | undefined

  return {
    /** Settles as the answer does, or rejects when the time is over, after `slow`. `late` gets an answer that comes afterwards. */
    inTime: <T>(
      answer: PromiseLike<T>,
      late: (value: T) => void = ignore,
      slow: (error: Error) => void = ignore,
    ): Promise<T> => {
      let cancel = nothingToCancel
      let isOver = false
      const call: Call = { older: undefined, newer: undefined, fail: () => undefined }
      const promise = new Promise<T>((resolve, reject) => {
        call.fail = (error) => {
          isOver = true
          reject(error)
        }
        const tooSlow = (): void => {
          const error = new Error(`the store did not answer within ${String(limit)} ms`)
          slow(error)
          call.fail(error)
        }
        if (given === undefined) cancel = systemClock.schedule(limit, tooSlow)
        else call.fail(given)
        open.push(call)
        answer.then((value) => (isOver ? late(value) : resolve(value)), reject)
      })
      const end = (): void => {
        open.remove(call)
        cancel()
      }
      promise.then(end, end)
      return promise
    },
    /** Fails every open call, and each later one that is not answered at once. */
    giveUp: (error: Error): void => {
      given = error
      for (const { fail } of open.drain()) fail(error)
    },
  }
}
