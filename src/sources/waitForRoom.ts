import { nextTurn } from '../core/clock.ts'
import { queue } from '../core/queue.ts'

/** What waits, and how much may wait. */
export interface Occupancy {
  readonly waiting: number
  readonly bytes: number
  readonly maxCount: number
  readonly maxBytes: number
}

/** Callers that wait until a bounded store has room. */
export interface WaitForRoom {
  /** Resolves when there is room for one more item, in the order of the calls. The room is not reserved. */
  readonly ready: () => Promise<void>
  /** Call it when an item was added. */
  readonly used: () => void
  /** Call it when an item was refused as `Full`. */
  readonly refused: () => void
  /** Call it when an item left. */
  readonly freed: () => void
  /** Call it when there may be room although nothing left. */
  readonly recheck: () => void
  /** Lets every caller continue, now and later: the store is closing. */
  readonly open: () => void
}

/** How many items fit, if they are as large as those that wait. */
const roomIn = ({ waiting, bytes, maxCount, maxBytes }: Occupancy): number =>
  waiting === 0 ? maxCount : Math.min(maxCount - waiting, Math.ceil(((maxBytes - bytes) * waiting) / bytes))

/**
 * Lets no more callers continue in one turn of the event loop than there is room for. A caller may leave its room unused, so the
 * next turn checks again.
 */
export const waitForRoom = (occupancy: () => Occupancy): WaitForRoom => {
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
    ready: () =>
      new Promise((resolve) => {
        callers.push(resolve)
        admit()
      }),
    used: () => {
      if (admitted > 0) admitted--
    },
    refused: () => {
      wasRefused = true
      wasRefusedInThisTurn = true
      checkNextTurn()
    },
    freed: () => {
      wasRefused = false
      admit()
    },
    recheck: admit,
    open: () => {
      isOpen = true
      admit()
    },
  }
}
