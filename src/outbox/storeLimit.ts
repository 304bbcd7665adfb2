import { systemClock } from '../core/clock.ts'

/** Milliseconds that a store has for one call, on the machine's clock. */
const STORE_TIMEOUT = 30_000

const ignore = (): void => undefined

export type StoreLimit = ReturnType<typeof storeLimit>

/** The limit of time for the calls of one store, so that a store that hangs stops nothing for ever. */
export const storeLimit = (limit = STORE_TIMEOUT) => {
  /** Fails each open call. */
  const open = new Set<(error: Error) => void>()
  let given: Error | undefined

  return {
    /**
     * Settles as the answer does, or rejects when the time is over, after `slow`. `late` gets an answer
     * that comes afterwards.
     */
    inTime: <T>(
      answer: PromiseLike<T>,
      late: (value: T) => void = ignore,
      slow: (error: Error) => void = ignore,
    ): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        const end = (): boolean => {
          cancel()
          return open.delete(fail)
        }
        const fail = (error: Error): void => {
          if (end()) reject(error)
        }
        const cancel = systemClock.schedule(limit, () => {
          const error = new Error(`the store did not answer within ${String(limit)} ms`)
          slow(error)
          fail(error)
        })
        open.add(fail)
        if (given !== undefined) fail(given)
        Promise.resolve(answer).then((value) => (end() ? resolve(value) : late(value)), fail)
      }),
    /** Fails every open call, and each later one that is not answered at once. */
    giveUp: (error: Error): void => {
      given = error
      for (const fail of open) fail(error)
    },
  }
}
