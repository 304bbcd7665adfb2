import { isPromiseLike } from '../../core/awaitable.ts'
import type { Awaitable } from '../../core/awaitable.ts'
import { systemClock } from '../../core/clock.ts'
import type { VirtualClock } from '../virtualClock.ts'

/** Lets the promise jobs run, and moves to the next timer if there is one. */
export const nextTimer = async (clock: VirtualClock): Promise<void> => {
  await clock.settle()
  const [next] = clock.timers()
  if (next !== undefined) await clock.advance(Math.max(0, next.due - clock.monotonic()))
}

/** Real milliseconds for one answer. */
const PATIENCE = 10_000

/** Waits for an answer of a store: it may need timers of the clock, or real input and output. */
export const settled = async <T>(clock: VirtualClock, asked: Awaitable<T>): Promise<T> => {
  if (!isPromiseLike(asked)) return asked
  const given = Promise.resolve(asked)
  const state = { isDone: false }
  const note = (): void => {
    state.isDone = true
  }
  given.then(note, note)
  const start = systemClock.monotonic()
  await Promise.resolve()
  while (!state.isDone) {
    await nextTimer(clock)
    if (systemClock.monotonic() - start > PATIENCE) throw new Error('a call was not answered within 10 s')
  }
  return given
}
