import { left } from 'fp-ts/lib/Either.js'
import { systemClock } from '../core/clock.ts'
import type { Cancel, Clock } from '../core/clock.ts'
import { retryable } from '../core/failure.ts'
import type { Verdict } from '../core/failure.ts'
import { linkedList } from '../core/linkedList.ts'
import type { Link } from '../core/linkedList.ts'
import { fromRun, nothingToCancel, runOf } from './layer.ts'
import type { Receiver } from './layer.ts'
import type { Layer } from './sink.ts'

interface Running extends Link<Running> {
  readonly start: number
  readonly expire: () => void
  /** Who is told; undefined when the delivery is over or cancelled. */
  to: Receiver | undefined
  told: boolean
  cancelInner: Cancel
}

interface Deadlines {
  readonly add: (running: Running) => void
  /** Sees to it that a timer is set if anything runs. Apart from `add`, so that a delivery that ends on the spot sets none. */
  readonly arm: () => void
  readonly remove: (running: Running) => void
}

/** Everything here has the same time to run, so who came first is due first: one timer, set for the oldest, is exact. */
const deadlines = (within: number, clock: Clock): Deadlines => {
  const running = linkedList<Running>()
  let disarm: Cancel | undefined

  const arm = (): void => {
    const oldest = running.oldest()
    if (disarm !== undefined || oldest === undefined) return
    disarm = clock.schedule(within - (clock.monotonic() - oldest.start), sweep)
  }

  const sweep = (): void => {
    disarm = undefined
    const now = clock.monotonic()
    for (
      let each = running.oldest();
      each !== undefined && now - each.start >= within;
      each = running.oldest()
    ) {
      running.remove(each)
      each.expire()
    }
    arm()
  }

  return {
    add: running.push,
    arm,
    remove: (each) => {
      running.remove(each)
      if (running.size() > 0 || disarm === undefined) return
      disarm()
      disarm = undefined
    },
  }
}

/**
 * Gives one attempt `within` milliseconds in total, counted from its start (DE3).
 *
 * Without a verdict by then the verdict is `Retryable('timeout')`; the delivery is cancelled and complete. If the verdict is out but the
 * delivery still runs (a body is drained), it is cancelled and completed at the same moment. The attempt has the time up to, but not
 * including, `within`: a verdict at that very instant comes too late.
 *
 * All deliveries share one timer, also across the sinks that the same layer is put around. Nothing in the air, no timer.
 *
 * @throws RangeError if `within` is not a finite number above 0.
 *
 * @example
 * import { sink, withTimeout } from 'headrace'
 *
 * const patient = withTimeout(5_000)(sink('slow', async () => 'done'))
 */
export const withTimeout = (within: number, options: { readonly clock?: Clock } = {}): Layer => {
  if (!(within > 0 && within < Infinity)) {
    throw new RangeError(
      `withTimeout: within must be a finite number of milliseconds above 0, not ${String(within)}`,
    )
  }
  const clock = options.clock ?? systemClock
  const due = deadlines(within, clock)
  const timedOut: Verdict = left(retryable('timeout', { detail: `no verdict within ${String(within)} ms` }))

  return (sink) => {
    const runInner = runOf(sink)
    return fromRun(
      sink.name,
      (item, attempt, receiver) => {
        const finish = (): void => {
          due.remove(running)
          const { to } = running
          running.to = undefined
          to?.complete()
        }

        const running: Running = {
          older: undefined,
          newer: undefined,
          start: clock.monotonic(),
          to: receiver,
          told: false,
          cancelInner: nothingToCancel,
          expire: () => {
            running.cancelInner()
            if (!running.told) running.to?.next(timedOut)
            finish()
          },
        }

        due.add(running)
        const cancel = runInner(item, attempt, {
          next: (verdict) => {
            if (clock.monotonic() - running.start >= within) {
              running.expire()
              return
            }
            running.told = true
            running.to?.next(verdict)
          },
          complete: finish,
          error: (defect) => {
            due.remove(running)
            const { to } = running
            running.to = undefined
            to?.error(defect)
          },
        })
        // It ended before its cancel was here, perhaps by a timeout: then this lets go of what is left.
        if (running.to === undefined) {
          cancel()
          return nothingToCancel
        }
        running.cancelInner = cancel
        due.arm()
        return () => {
          due.remove(running)
          running.to = undefined
          cancel()
        }
      },
      sink.close,
    )
  }
}
