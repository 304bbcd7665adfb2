import { peak } from './peak.js'

/** How often it looks, milliseconds. */
const EVERY = 10

/**
 * Does each task that the parent process sends, `{ do, ... }`, and answers with what came of it, the most memory that this process took so
 * far, and the longest time that its event loop stood still. After `close` it listens no more.
 */
export const telling = (tasks) => {
  let stall = 0
  let before = performance.now()
  setInterval(() => {
    const now = performance.now()
    stall = Math.max(stall, now - before - EVERY)
    before = now
  }, EVERY).unref()

  process.on('message', async (task) => {
    try {
      const answer = await tasks[task.do](task)
      process.send({ answer, peak: peak(), stall })
      if (task.do === 'close') process.disconnect()
    } catch (error) {
      process.send({ failed: String(error?.stack ?? error) })
    }
  })
}
