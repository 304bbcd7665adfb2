import type { Held } from './heldBatches.ts'

/** What assurances are about. */
export interface AssurancesOptions {
  /** The number of the oldest closed batch that is in memory; infinity if there is none. */
  readonly oldest: () => number
  /** The lanes whose open batch has messages that are not on the disk. */
  readonly lanesBehind: () => ReadonlySet<number>
  /** The number of the batch that closed last. */
  readonly newest: () => number
}

/** Those who wait until all that was accepted before is on the disk, or has ended. */
export interface Assurances {
  /** Resolves with true when that is so, and with false when it never will be. */
  readonly whenKept: () => Promise<boolean>
  /** The batch of a lane was closed, and is in memory. */
  readonly closed: (lane: number, held: Held) => void
  /** A transaction takes all that there is. */
  readonly taking: () => void
  /** It was synced, or it was not. */
  readonly taken: (isWritten: boolean) => void
  /** Something is no longer in memory. */
  readonly look: () => void
  /** Nothing more will be written. */
  readonly over: () => void
}

/** Somebody waits. */
interface Waiter {
  /** For what is in the open batches of these lanes, */
  readonly lanes: Set<number>
  /** for these, which were open then, */
  readonly batches: Set<Held>
  /** and for all that had closed before. */
  readonly upTo: number
  /** The transaction under way takes all of it. */
  isTaken: boolean
  readonly onEvent: (isKept: boolean) => void
}

/** Nobody waits yet. */
export const assurances = ({ oldest, newest, lanesBehind }: AssurancesOptions): Assurances => {
  let waiters: Waiter[] = []
  let isOver = false

  const isKept = ({ lanes, batches, upTo }: Waiter): boolean =>
    lanes.size === 0 && oldest() > upTo && [...batches].every(({ isHere }) => !isHere)

  const look = (): void => {
    if (waiters.length === 0) return
    const behind = lanesBehind()
    const still: Waiter[] = []
    const kept: Waiter[] = []
    for (const waiter of waiters) {
      for (const lane of waiter.lanes) if (!behind.has(lane)) waiter.lanes.delete(lane)
      ;(isKept(waiter) ? kept : still).push(waiter)
    }
    waiters = still
    for (const { onEvent } of kept) onEvent(true)
  }

  return {
    whenKept: () =>
      new Promise((onEvent) => {
        const lanes = new Set(lanesBehind())
        const waiter = { lanes, batches: new Set<Held>(), upTo: newest(), isTaken: false, onEvent }
        if (isKept(waiter)) onEvent(true)
        else if (isOver) onEvent(false)
        else waiters.push(waiter)
      }),
    closed: (lane, held) => {
      for (const { lanes, batches } of waiters) if (lanes.delete(lane)) batches.add(held)
    },
    taking: () => {
      for (const waiter of waiters) waiter.isTaken = true
    },
    taken: (isWritten) => {
      for (const waiter of waiters) {
        if (isWritten && waiter.isTaken) {
          waiter.lanes.clear()
          // Those that closed meanwhile: what was waited for is on the disk, in parts.
          waiter.batches.clear()
        }
        waiter.isTaken = false
      }
      if (isWritten) look()
    },
    look,
    over: () => {
      isOver = true
      const left = waiters
      waiters = []
      for (const { onEvent } of left) onEvent(false)
    },
  }
}
