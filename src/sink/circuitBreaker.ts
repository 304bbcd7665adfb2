import { left, lefts } from '../core/either.ts'
import { isFinal, isRetryable, partsOf, retryable, wasStarted } from '../core/failure.ts'
import type { Failure, Verdict } from '../core/failure.ts'
import { checkOptions, strict, wholeNumber, withDefault } from '../core/options.ts'
import { gateLayer } from './layer.ts'
import type { Attempt, Layer } from './sink.ts'

/** Options of `withCircuitBreaker`. */
export interface CircuitBreakerOptions {
  /** Failures in a row that open the circuit. Default 5. */
  readonly failures?: number
  /** Milliseconds for which it stays open before one delivery tries again. Default 30,000. */
  readonly openTimeout?: number
}

const breakerOptions = strict({
  failures: withDefault(wholeNumber('failures', 1), 5),
  openTimeout: withDefault(wholeNumber('ms', 1), 30_000),
})

/** The members of a batch that ended, at one of several sinks. */
const endedIn = (failure: Failure | undefined): number => {
  if (failure?._tag === 'PartlyFailed') return failure.members.filter(isFinal).length
  const failures = failure === undefined ? [] : lefts(partsOf(failure))
  return failures.reduce((sum, each) => sum + endedIn(each), 0)
}

/** A sink that refused the item, or ended more of the batch than attempts before, is not down. */
const isAnswer = (failure: Failure, { lastFailure }: Attempt): boolean =>
  !isRetryable(failure) || endedIn(failure) > endedIn(lastFailure)

/**
 * Spares a sink that is down: after `failures` retryable failures in a row the circuit is open, and
 * deliveries are not started: their verdict is `Retryable('held')` until it may close. After `openTimeout`
 * one delivery is let through as a probe. A verdict that is no retryable failure closes the circuit, and so
 * does a `PartlyFailed` by which more members ended than before: a final refusal is an answer of a working
 * sink. A failed probe keeps it open for as long again. Verdicts of deliveries that were never started
 * (`queueFull`, `late`, `held`) change nothing.
 *
 * The circuit belongs to the layer: all sinks inside one layer share it. It is held in memory and has no
 * timer.
 *
 * @throws ConfigError if `failures` or `openTimeout` is not a whole number of at least 1.
 * The layer throws a TypeError around a sink that has it. Around a `route` and a sink of it, it holds all.
 *
 * @example
 * import { sink, withCircuitBreaker } from 'headrace'
 *
 * const spared = withCircuitBreaker({ failures: 3 })(sink('crm', async () => 'done'))
 * console.log(spared.name) // => crm
 */
export const withCircuitBreaker = (options: CircuitBreakerOptions = {}): Layer => {
  const { failures, openTimeout } = checkOptions('options of withCircuitBreaker', breakerOptions, options)

  return gateLayer((now) => {
    let failed = 0
    /** While the circuit is open: when the next probe may start. */
    let probeAt: number | undefined
    let held: Verdict = left(retryable('held'))

    const open = (): void => {
      probeAt = now() + openTimeout
      const detail = 'the circuit is open; not started'
      held = left(retryable('held', { notBefore: probeAt, gate: 'circuit', detail }))
    }

    return {
      holdBack: () => {
        if (probeAt === undefined) return undefined
        if (now() < probeAt) return held
        // This delivery is the probe: the circuit stays open for the others until it answers.
        open()
        return undefined
      },
      learn: (verdict, attempt) => {
        if (verdict._tag === 'Right' || isAnswer(verdict.left, attempt)) {
          failed = 0
          probeAt = undefined
        } else if (wasStarted(verdict.left) && ++failed >= failures) open()
      },
    }
  })
}
