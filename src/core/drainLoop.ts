/**
 * A function that runs `work`, or repeats it if it runs already: in a loop and never inside itself. A sink
 * may answer at once, for thousands of items in a row, and a recursion would overflow the stack. If `work`
 * throws, the loop ends and the next call starts anew.
 */
export const drainLoop = (work: () => void): (() => void) => {
  let isRunning = false
  let isAsked = false
  return () => {
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
  }
}
