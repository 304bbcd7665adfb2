import { left } from 'fp-ts/lib/Either.js'
import { steady, systemClock } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import { retryable } from '../core/failure.ts'
import type { Failure, Verdict } from '../core/failure.ts'
import { fromRun, nothingToCancel, runOf } from './layer.ts'
import type { Layer } from './sink.ts'

/** How long a receiver may hold everything back. */
export interface RetryAfterGateOptions {
  /** Milliseconds. A wish beyond it holds back the others for so long only. Default 3,600,000, an hour. */
  readonly most?: number
  readonly clock?: Clock
}

/** The moment before which a failure says that nothing is wanted; -Infinity if it names none. */
const wishOf = (failure: Failure): number => {
  switch (failure._tag) {
    case 'Retryable':
      return failure.notBefore === undefined || Number.isNaN(failure.notBefore)
        ? -Infinity
        : failure.notBefore
    case 'PartlyFailed': {
      let latest = -Infinity
      for (const member of failure.members) {
        if (member._tag === 'Left') latest = Math.max(latest, wishOf(member.left))
      }
      return latest
    }
    case 'AllFailed':
    case 'Refused':
    case 'Expired':
      return -Infinity
  }
}

/**
 * Lets one receiver's `Retry-After` hold back everything that goes to it (CL4).
 *
 * When a delivery fails with a `Retryable` that has a `notBefore` (alone or among the members of a `PartlyFailed`), the gate is closed
 * until that moment: every delivery that would start meanwhile has the verdict `Retryable('held')` with that `notBefore` at once, and is
 * not started. What runs already runs on, and the later of two wishes holds. Of an `AllFailed` it takes no notice: a first
 * success holds back its URLs by itself (DE1).
 *
 * The gate belongs to the layer: sinks that one and the same layer is put around are one receiver to it. It has no timer.
 *
 * @throws RangeError if `most` is not a finite number of at least 0.
 *
 * @example
 * import { withRetryAfterGate, sink } from 'headrace'
 *
 * const polite = withRetryAfterGate()(sink('bulk', async () => 'done'))
 * console.log(polite.name) // => bulk
 */
export const withRetryAfterGate = (options: RetryAfterGateOptions = {}): Layer => {
  const { most = 3_600_000 } = options
  if (!(most >= 0 && most < Infinity)) {
    throw new RangeError(
      `withRetryAfterGate: most must be a finite number of milliseconds of at least 0, not ${String(most)}`,
    )
  }
  const now = steady(options.clock ?? systemClock)
  let closedUntil = -Infinity
  /** Shared by all that is held back until the same moment: they may be many, and wait long. */
  let held: Verdict = left(retryable('held'))

  const note = (verdict: Verdict): void => {
    if (verdict._tag === 'Right') return
    const wish = wishOf(verdict.left)
    if (wish <= closedUntil) return
    const at = now()
    const until = Math.min(Math.ceil(wish), at + most)
    if (until <= at || until <= closedUntil) return
    closedUntil = until
    held = left(
      retryable('held', {
        notBefore: until,
        detail: 'the receiver asked not to be tried before; no request was sent',
      }),
    )
  }

  return (sink) => {
    const runInner = runOf(sink)
    return fromRun(
      sink.name,
      (item, attempt, receiver) => {
        if (now() < closedUntil) {
          receiver.next(held)
          receiver.complete()
          return nothingToCancel
        }
        return runInner(item, attempt, {
          next: (verdict) => {
            // First the gate: who hears the verdict may start another delivery.
            note(verdict)
            receiver.next(verdict)
          },
          complete: () => {
            receiver.complete()
          },
          error: (defect) => {
            receiver.error(defect)
          },
        })
      },
      sink.close,
    )
  }
}
