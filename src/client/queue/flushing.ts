import type { Clock } from '../../core/clock.ts'
import { queue } from '../../core/queue.ts'
import type { Totals } from '../../core/totals.ts'

/** Messages that were accepted between two flushes. */
export interface Stretch {
  /** How many of them have not ended. */
  live: number
}

/** Somebody waits for a stretch, and for all before it. */
interface Drain {
  readonly stretch: Stretch
  readonly ended: Promise<Totals>
  readonly resolve: (totals: Totals) => void
}

/** Who waits for outcomes. */
export interface Flushing {
  /** The stretch in which messages are accepted now. */
  readonly current: () => Stretch
  /** Messages of a stretch have ended, and were told. */
  readonly left: (stretch: Stretch, count: number) => void
  /** Resolves when everything accepted so far has ended, or after `timeout` milliseconds. */
  readonly flush: (timeout: number | undefined) => Promise<Totals>
  /** Lets everybody go: nothing that was accepted so far will end any more. */
  readonly rest: () => void
  /** The same for ever. */
  readonly over: () => void
}

/**
 * Flushes that share their drains (CL3). All messages that are accepted between two flushes are one stretch, so a flush costs nothing for
 * each message but a count, and a thousand flushes in a row wait for the same promise.
 */
export const flushing = (clock: Clock, totals: () => Totals): Flushing => {
  const drains = queue<Drain>()
  let newest: Drain | undefined
  let current: Stretch = { live: 0 }
  let isOver = false

  const release = (isFinished: (stretch: Stretch) => boolean): void => {
    for (
      let oldest = drains.peek();
      oldest !== undefined && isFinished(oldest.stretch);
      oldest = drains.peek()
    ) {
      drains.shift()
      if (drains.size() === 0) newest = undefined
      oldest.resolve(totals())
    }
  }

  const rest = (): void => {
    current = { live: 0 }
    release(() => true)
  }

  const wait = (stretch: Stretch): Drain => {
    let resolve: Drain['resolve'] = () => undefined
    const ended = new Promise<Totals>((settle) => {
      resolve = settle
    })
    const drain = { stretch, ended, resolve }
    drains.push(drain)
    return drain
  }

  const within = (ended: Promise<Totals>, timeout: number): Promise<Totals> =>
    new Promise((resolve) => {
      const cancel = clock.schedule(timeout, () => {
        resolve(totals())
      })
      void ended.then((last) => {
        cancel()
        resolve(last)
      })
    })

  return {
    current: () => current,
    left: (stretch, count) => {
      stretch.live -= count
      if (stretch.live === 0) release(({ live }) => live === 0)
    },
    flush: (timeout) => {
      if (current.live > 0 && !isOver) {
        newest = wait(current)
        current = { live: 0 }
      }
      if (newest === undefined) return Promise.resolve(totals())
      return timeout === undefined || timeout === Infinity ? newest.ended : within(newest.ended, timeout)
    },
    rest,
    over: () => {
      isOver = true
      rest()
    },
  }
}
