import { isPromiseLike } from '../../internal/Awaitable.ts'
import type { Awaitable } from '../../internal/Awaitable.ts'
import type { OutboxStats } from '../../sink/Outbox.ts'

/** What was offered to an outbox that has not answered yet. It wants its room, so it counts as if it waited already. */
export interface Arrivals {
  /** Counts an offer of so many bytes until it is answered; hands the answer on. */
  readonly counted: <T>(bytes: number, answer: Awaitable<T>) => Awaitable<T>
  /** What waits, with what is on its way. */
  readonly within: (stats: OutboxStats) => OutboxStats
}

/** Counts what is on its way into an outbox. `answered` is told each time that it is less. */
export const arrivals = (answered: () => void): Arrivals => {
  let count = 0
  let bytes = 0
  return {
    counted: (size, answer) => {
      // A store in memory answers at once, and then counts the item itself.
      if (!isPromiseLike(answer)) return answer
      count++
      bytes += size
      const over = (): void => {
        count--
        bytes -= size
        answered()
      }
      answer.then(over, over)
      return answer
    },
    within: (stats) =>
      count === 0 ? stats : { ...stats, waiting: stats.waiting + count, bytes: stats.bytes + bytes },
  }
}
