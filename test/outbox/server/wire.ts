/** What lies between a process and its server: time, and what can go wrong. */
import type { Clock } from '../../../src/core/clock.ts'

export interface Wire {
  /** Has the server do something, and answers what it says. May fail before or after it was done. */
  readonly ask: <T>(task: () => T) => Promise<T>
  /** The server says something. Nobody hears it while the connection is down. */
  readonly say: (hear: () => void) => void
  /** Is called when the connection is there again. */
  onUp: () => void
  readonly down: () => void
  readonly up: () => void
  /** The process is gone: it asks nothing more and hears nothing more. */
  readonly die: () => void
}

export interface WireOptions {
  readonly clock: Clock
  /** Milliseconds each way; 0 is at once. */
  readonly latency: number
  /** Whether this answer is lost. */
  readonly loses?: () => boolean
}

export const wire = ({ clock, latency, loses = () => false }: WireOptions): Wire => {
  let isUp = true
  let isAlive = true
  const pass = (task: () => void): void => {
    const arrive = (): void => {
      if (isAlive) task()
    }
    if (latency === 0) arrive()
    else clock.schedule(latency, arrive)
  }
  const self: Wire = {
    ask: (task) =>
      new Promise((resolve, reject) => {
        if (!isAlive) return
        pass(() => {
          if (!isUp) {
            reject(new Error('the connection is down'))
            return
          }
          const answer = task()
          const isLost = loses()
          pass(() => {
            if (isUp && !isLost) resolve(answer)
            else reject(new Error('the answer was lost'))
          })
        })
      }),
    say: (hear) => {
      pass(() => {
        if (isUp) hear()
      })
    },
    onUp: () => undefined,
    down: () => {
      isUp = false
    },
    up: () => {
      isUp = true
      self.onUp()
    },
    die: () => {
      isAlive = false
    },
  }
  return self
}
