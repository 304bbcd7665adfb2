/** Work that may cause itself again while it runs. */
export interface DrainLoop {
  /** Runs the work, or repeats it if it runs already. */
  readonly run: () => void
  readonly isRunning: () => boolean
}

/**
 * Runs `work` in a loop and never inside itself: a sink may answer at once, for thousands of items in a row,
 * and a recursion would overflow the stack. If `work` throws, the loop ends and the next `run` starts anew.
 */
export const drainLoop = (work: () => void): DrainLoop => {
  let isRunning = false
  let isAsked = false
  return {
    run: () => {
      isAsked = true
      if (isRunning) return
      isRunning = true
      try {
        while (isAsked) {
          isAsked = false
          work()
        }
      } finally {
        isRunning = false
      }
    },
    isRunning: () => isRunning,
  }
}
