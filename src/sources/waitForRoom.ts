import { nextTurn } from '../core/clock.ts'
import { queue } from '../core/queue.ts'

/** What waits, and how much may wait. */
export interface Occupancy {
  readonly waiting: number
  readonly bytes: number
  readonly maxCount: number
  readonly maxBytes: number
}

/** How many items fit, if they are as large as those that wait. */
const roomIn = ({ waiting, bytes, maxCount, maxBytes }: Occupancy): number =>
  waiting === 0 ? maxCount : Math.min(maxCount - waiting, Math.ceil(((maxBytes - bytes) * waiting) / bytes))

/**
 * Callers that wait until a bounded store has room. Lets no more of them continue in one turn of the event loop than there is room for. A caller may leave its room unused, so the
 * next turn checks again.
 */
export const waitForRoom = (occupancy: () => Occupancy) => {
  const callers = queue<() => void>()
  /** Callers that continued in this turn and have not added an item yet. */
  let admitted = 0
  let isOpen = false
  let isScheduled = false
  let wasRefused = false
  let wasRefusedInThisTurn = false

  const hasRoom = (): boolean => {
    if (isOpen) return true
    const state = occupancy()
    // An item that was too large for the rest of the bytes is so until another one leaves.
    if (wasRefusedInThisTurn || (wasRefused && state.waiting > 0)) return false
    return state.bytes < state.maxBytes && admitted < roomIn(state)
  }

  const admit = (): void => {
    while (callers.size() > 0 && hasRoom()) {
      admitted++
      callers.shift()?.()
    }
    if (admitted > 0) checkNextTurn()
  }

  const checkNextTurn = (): void => {
    if (isScheduled || isOpen) return
    isScheduled = true
    nextTurn(() => {
      isScheduled = false
      admitted = 0
      wasRefusedInThisTurn = false
      admit()
    })
  }

  return {
    /** Resolves when there is room for one more item, in the order of the calls. The room is not reserved. */
    ready: (): Promise<void> =>
      new Promise((resolve) => {
        callers.push(resolve)
        admit()
      }),
    /** An item was added. */
    used: (): void => {
      if (admitted > 0) admitted--
    },
    /** An item was refused as `Full`. */
    refused: (): void => {
      wasRefused = true
      wasRefusedInThisTurn = true
      checkNextTurn()
    },
    /** An item left. */
    freed: (): void => {
      wasRefused = false
      admit()
    },
    /** There may be room although nothing left. */
    recheck: admit,
    /** Lets every caller continue, now and later: the store is closing. */
    open: (): void => {
      isOpen = true
      admit()
    },
  }
}
