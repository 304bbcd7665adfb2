import { isPromiseLike } from '../core/awaitable.ts'
import type { Awaitable } from '../core/awaitable.ts'
import type { Cancel, Clock } from '../core/clock.ts'
import { steady } from '../core/clock.ts'
import { nothingToCancel } from '../sink/layer.ts'
import type { Entry, LeaseLimits, Outbox } from './outbox.ts'
import { STORE_RETRY_DELAY } from './storeWrites.ts'

/** After this number of starts other work of the event loop gets its turn. */
const MAX_STARTS_PER_TURN = 1_000

/**
 * Leases due entries from an outbox and starts them while there is room in flight.
 *
 * @param room how much may start now
 * @param changed is called at the end of each poll
 */
export const poller = <A>(
  outbox: Outbox<A>,
  clock: Clock,
  room: () => LeaseLimits,
  isStopped: () => boolean,
  start: (entry: Entry<A>) => void,
  failed: (error: unknown) => void,
  changed: () => void,
) => {
  const now = steady(clock)
  let isPolling = false
  /** Whether `poll` was called, or entries were found, since the last `lease`. */
  let mayLease = false
  /** False if the last `lease` brought fewer entries than it might: to ask for new ones would be in vain. */
  let mayHaveNew = true
  let wasInVain = false
  let lastPoll = -Infinity
  let timerAt = Infinity
  let cancelTimer: Cancel = nothingToCancel

  const clearTimer = (): void => {
    cancelTimer()
    timerAt = Infinity
  }
  const wakeAt = (due: number): void => {
    if (due >= timerAt || isStopped()) return
    cancelTimer()
    timerAt = due
    cancelTimer = clock.schedule(due - now(), () => {
      timerAt = Infinity
      poll()
    })
  }

  const endPoll = (budget: number): void => {
    const due = outbox.nextDue()
    if (budget <= 0) wakeAt(now())
    else if (due === undefined) clearTimer()
    else if (due > lastPoll) wakeAt(due)
    else if (wasInVain) wakeAt(now() + STORE_RETRY_DELAY)
    isPolling = false
    changed()
  }

  const leaseFailed = (error: unknown): void => {
    failed(error)
    wakeAt(now() + STORE_RETRY_DELAY)
    isPolling = false
    changed()
  }

  const startAll = (entries: ReadonlyArray<Entry<A>>, asked: number): void => {
    wasInVain = entries.length === 0
    if (!wasInVain) mayLease = true
    if (entries.length >= asked) mayHaveNew = true
    for (const entry of entries) start(entry)
  }

  /** A loop, not a recursion: a sink may answer at once, for thousands of entries in a row. */
  const startDue = (maxStarts: number): void => {
    let budget = maxStarts
    while (mayLease) {
      mayLease = false
      lastPoll = now()
      const { count: free, retries } = room()
      const count = Math.min(free, budget)
      if (isStopped() || count <= 0 || (retries === 0 && !mayHaveNew)) break
      if ((outbox.nextDue() ?? Infinity) > lastPoll) break
      mayHaveNew = false
      let answer: Awaitable<ReadonlyArray<Entry<A>>>
      try {
        answer = outbox.lease(lastPoll, { count, retries })
      } catch (error) {
        leaseFailed(error)
        return
      }
      if (isPromiseLike(answer)) {
        const rest = budget
        answer.then((entries) => {
          startAll(entries, count)
          startDue(rest - entries.length)
        }, leaseFailed)
        return
      }
      startAll(answer, count)
      budget -= answer.length
    }
    endPoll(budget)
  }

  const poll = (): void => {
    mayLease = true
    if (isPolling) return
    isPolling = true
    wasInVain = false
    startDue(MAX_STARTS_PER_TURN)
  }

  return {
    poll,
    /** As `poll`, when there may be new entries: one was enqueued, or the entry before them in their order has ended. */
    pollNew: (): void => {
      mayHaveNew = true
      poll()
    },
    /** Whether a `lease` is not answered yet, or its entries are being started. */
    isPolling: (): boolean => isPolling,
    clearTimer,
  }
}
