import { isPromiseLike } from '../core/awaitable.ts'
import type { Awaitable } from '../core/awaitable.ts'
import type { Cancel, Clock } from '../core/clock.ts'
import { nothingToCancel } from '../sink/layer.ts'
import type { Entry, Outbox } from './outbox.ts'
import { STORE_RETRY_DELAY } from './storeCalls.ts'

export interface PollerOptions<A> {
  readonly outbox: Pick<Outbox<A>, 'lease' | 'nextDue'>
  readonly clock: Clock
  readonly now: () => number
  /** How many entries may start now, and how many retries among them. */
  readonly free: () => number
  readonly freeRetries: () => number
  readonly isStopped: () => boolean
  readonly start: (entry: Entry<A>) => void
  readonly failed: (error: unknown) => void
  /** Called at the end of each poll. */
  readonly changed: () => void
}

/** Leases due entries from an outbox and starts them while there is room in flight. */
export interface Poller {
  readonly poll: () => void
  /** As `poll`, when there may be new entries: one was enqueued, or the entry before them in their order has ended. */
  readonly pollNew: () => void
  /** Whether a `lease` is not answered yet, or its entries are being started. */
  readonly isPolling: () => boolean
  readonly clearTimer: () => void
}

/** After this number of starts other work of the event loop gets its turn. */
const MAX_STARTS_PER_TURN = 1_000

export const poller = <A>(options: PollerOptions<A>): Poller => {
  const { outbox, clock, now, free, freeRetries, isStopped, start, changed } = options
  let isPolling = false
  /** Whether `poll` was called, or entries were found, since the last `lease`. */
  let again = false
  /** False if the last `lease` brought fewer entries than it might: to ask for new ones would be in vain. */
  let mayHaveNew = true
  let lastPoll = -Infinity
  let result: 'started' | 'nothing' | 'failed' = 'started'
  let timerAt = Infinity
  let cancelTimer: Cancel = nothingToCancel

  const clearTimer = (): void => {
    cancelTimer()
    timerAt = Infinity
  }

  const wakeAt = (due: number): void => {
    if (due >= timerAt) return
    cancelTimer()
    timerAt = due
    cancelTimer = clock.schedule(due - now(), () => {
      timerAt = Infinity
      poll()
    })
  }

  const failed = (error: unknown): void => {
    result = 'failed'
    options.failed(error)
  }

  /** Asks for due entries. Undefined if there is no reason to, or if the store failed. */
  const lease = (count: number, retries: number): Awaitable<ReadonlyArray<Entry<A>>> | undefined => {
    lastPoll = now()
    if (isStopped() || count <= 0 || (retries <= 0 && !mayHaveNew)) return undefined
    if ((outbox.nextDue() ?? Infinity) > lastPoll) return undefined
    mayHaveNew = false
    try {
      return outbox.lease(lastPoll, { count, retries: Math.max(0, retries) })
    } catch (error) {
      failed(error)
      return undefined
    }
  }

  const setTimer = (): void => {
    const due = outbox.nextDue()
    // Something is due, but was not handed out. If retries take all their room, the next delivery that ends polls again.
    const isInVain = result === 'nothing' && due !== undefined && due <= lastPoll && freeRetries() > 0
    if (result === 'failed' || isInVain) wakeAt(now() + STORE_RETRY_DELAY)
    else if (due === undefined) clearTimer()
    else if (due > lastPoll) wakeAt(due)
  }

  const endPoll = (budget: number): void => {
    isPolling = false
    if (!isStopped()) {
      if (budget <= 0) wakeAt(now())
      else setTimer()
    }
    changed()
  }

  /** A loop, not a recursion: a sink may answer at once, for thousands of entries in a row. */
  const leaseAll = (): void => {
    let budget = MAX_STARTS_PER_TURN
    result = 'started'
    while (again) {
      again = false
      const count = Math.min(free(), budget)
      const startAll = (entries: ReadonlyArray<Entry<A>>): void => {
        result = entries.length > 0 ? 'started' : 'nothing'
        if (entries.length >= count) mayHaveNew = true
        if (entries.length > 0) again = true
        budget -= entries.length
        for (const entry of entries) start(entry)
      }
      const answer = lease(count, freeRetries())
      if (answer === undefined) continue
      if (!isPromiseLike(answer)) {
        startAll(answer)
        continue
      }
      const proceed = (): void => {
        if (again) leaseAll()
        else endPoll(budget)
      }
      answer.then(
        (entries) => {
          startAll(entries)
          proceed()
        },
        (error: unknown) => {
          failed(error)
          again = false
          proceed()
        },
      )
      return
    }
    endPoll(budget)
  }

  const poll = (): void => {
    again = true
    if (isPolling) return
    isPolling = true
    leaseAll()
  }

  return {
    poll,
    pollNew: () => {
      mayHaveNew = true
      poll()
    },
    isPolling: () => isPolling,
    clearTimer,
  }
}
