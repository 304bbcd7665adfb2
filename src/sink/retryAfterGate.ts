import { left, lefts } from '../core/either.ts'
import { retryable, type Failure, type Verdict } from '../core/failure.ts'
import { checkOptions, strict, wholeNumber, withDefault } from '../core/options.ts'
import { gateLayer } from './layer.ts'
import type { Layer } from './sink.ts'

/** The longest time that one `Retry-After` holds back a receiver, in milliseconds. */
export const MAX_HOLD = 3_600_000

/** Options of `withRetryAfterGate`. */
export interface RetryAfterGateOptions {
  /** Milliseconds: the longest time that one `Retry-After` closes the gate. Default 3,600,000, an hour. */
  readonly maxDelay?: number
}

const gateOptions = strict({ maxDelay: withDefault(wholeNumber('ms', 0), MAX_HOLD) })

const ASKED = 'the receiver asked not to be tried before; no request was sent'

/** The latest moment before which a failure asks not to be tried; -Infinity if it names none. */
const notBeforeOf = (failure: Failure): number => {
  if (failure._tag === 'Retryable') return failure.notBefore ?? -Infinity
  if (failure._tag !== 'PartlyFailed') return -Infinity
  return lefts(failure.members).reduce((max, one) => Math.max(max, notBeforeOf(one) || -Infinity), -Infinity)
}

/**
 * Lets one receiver's `Retry-After` hold back all its deliveries.
 *
 * When a delivery fails with a `Retryable` that has a `notBefore` (alone or among the members of a
 * `PartlyFailed`), the gate is closed until that moment. A delivery that would start meanwhile is not
 * started: its verdict is `Retryable('held')` with that `notBefore`, at once. Deliveries that run are not
 * touched. Of two moments the later one holds. An `AllFailed` does not close the gate, because `firstSuccess`
 * holds back its URLs one by one.
 *
 * The gate belongs to the layer: all sinks inside one layer count as one receiver. It has no timer.
 *
 * @throws ConfigError if `maxDelay` is not a whole number from 0.
 * The layer throws a TypeError around a sink that has it. Around a `route` and a sink of it, it holds all.
 *
 * @example
 * import { withRetryAfterGate, sink } from 'headrace'
 *
 * const polite = withRetryAfterGate()(sink('bulk', async () => 'done'))
 * console.log(polite.name) // => bulk
 */
export const withRetryAfterGate = (options: RetryAfterGateOptions = {}): Layer => {
  const { maxDelay } = checkOptions('options of withRetryAfterGate', gateOptions, options)
  return retryAfterGate(maxDelay, () => ({ closedUntil: -Infinity, stopped: undefined }))
}

/** What holds back the deliveries to one receiver. */
export interface GateState {
  /** When its `Retry-After` is over. */
  closedUntil: number
  /** Why nothing starts, for another reason. */
  stopped: Verdict | undefined
}

/** The layer of `withRetryAfterGate`. `open` gives its gate, one for each clock. */
export const retryAfterGate = (maxDelay: number, open: () => GateState): Layer =>
  gateLayer((now) => {
    const gate = open()
    /** One verdict for all that is held back until the same moment: they may be many, and wait long. */
    let held: Verdict = left(retryable('held'))

    const closeFor = (failure: Failure): void => {
      const until = Math.min(Math.ceil(notBeforeOf(failure)), now() + maxDelay)
      // A moment may be NaN.
      if (!(until > gate.closedUntil)) return
      gate.closedUntil = until
      // A gate inside holds back for a reason of its own.
      const { gate: name, detail } = failure._tag === 'Retryable' ? failure : {}
      const why = name === undefined ? { detail: ASKED } : { gate: name, ...(detail && { detail }) }
      held = left(retryable('held', { notBefore: until, ...why }))
    }

    return {
      holdBack: () => (now() < gate.closedUntil ? held : gate.stopped),
      learn: (verdict) => {
        if (verdict._tag === 'Left') closeFor(verdict.left)
      },
    }
  })
