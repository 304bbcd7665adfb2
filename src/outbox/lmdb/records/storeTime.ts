import type { Entry } from '../../oldOutbox.ts'

/**
 * The time in which a store keeps due times and first attempts. It never goes back (HD49): where the clock of the machine was set back between two
 * lives of a store, it goes on from where it was. So what was parked while the clock was ahead waits no longer than it would have, and its
 * deadline is as far away as it was.
 */
export interface StoreTime {
  /** A moment by the clock, in the time of the store. */
  readonly inStore: (moment: number) => number
  /** A moment in the time of the store, by the clock. */
  readonly byClock: (moment: number) => number
  /** An entry as it is stored. */
  readonly stored: <A>(entry: Entry<A>) => Entry<A>
  /** Now, in the time of the store. */
  readonly now: () => number
}

/** `latest`: the latest moment that is known to have been, in the time of the store. `now`: the clock, milliseconds since 1970. */
export const storeTime = (latest: number, now: () => number): StoreTime => {
  const ahead = Math.max(0, latest - now())
  const inStore = (moment: number): number => moment + ahead
  return {
    inStore,
    byClock: (moment) => moment - ahead,
    stored: (entry) =>
      ahead === 0 || entry.firstAttemptAt === undefined
        ? entry
        : { ...entry, firstAttemptAt: inStore(entry.firstAttemptAt) },
    now: () => inStore(now()),
  }
}
