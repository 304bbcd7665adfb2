import { left } from '../core/either.ts'
import { retryable, type Verdict } from '../core/failure.ts'
import { checkOptions, optional, strict, wholeNumber } from '../core/options.ts'
import { gateLayer } from './layer.ts'
import type { Layer } from './sink.ts'

/** Options of `withRateLimit`. */
export interface RateLimitOptions {
  /** Deliveries that may start in a second. At least 1. */
  readonly perSecond: number
  /** Deliveries that may start at once after a pause. Default `perSecond`. */
  readonly burst?: number
}

const rateOptions = strict({
  perSecond: wholeNumber('deliveries', 1),
  burst: optional(wholeNumber('deliveries', 1)),
})

const START_COST = 1_000

/** Milliseconds to the furthest moment that is given out: a standby may have taken the items before it. */
const FURTHEST = 600_000

/**
 * Lets at most `perSecond` deliveries start in a second, and `burst` of them at once after a pause: in t
 * seconds never more than `burst + t * perSecond`. A delivery above the rate is not started: its verdict is
 * `Retryable('held')` with a `notBefore`, at once. These moments are spread by the rate, so held deliveries
 * do not come back together. None is more than ten minutes away: an item without a place then is held again.
 *
 * The limit belongs to the layer: all sinks inside one layer share it. It is held in memory and has no timer.
 *
 * @throws ConfigError if `perSecond` or `burst` is not a whole number of at least 1.
 * The layer throws a TypeError around a sink that has it. Around a `route` and a sink of it, it holds all.
 *
 * @example
 * import { sink, withRateLimit } from 'headrace'
 *
 * const polite = withRateLimit({ perSecond: 50 })(sink('crm', async () => 'done'))
 * console.log(polite.name) // => crm
 */
export const withRateLimit = (options: RateLimitOptions): Layer => {
  const { perSecond, burst = perSecond } = checkOptions('options of withRateLimit', rateOptions, options)
  const gate = 'rate'
  const detail = `above ${String(perSecond)} deliveries a second; not started`

  return gateLayer((now) => {
    // Times count in 1/perSecond of a millisecond from here, so that all are whole: a start costs 1,000.
    const origin = now()
    /** When the bucket is full again; it holds `burst` starts. */
    let fullAt = 0
    /** The last moment that was given to a delivery that was held back. */
    let lastGiven = 0

    const holdBack = (): Verdict | undefined => {
      const time = (now() - origin) * perSecond
      const free = fullAt - (burst - 1) * START_COST
      if (free <= time) {
        // A full bucket: those that were given a moment have come, or never will.
        if (fullAt <= time) lastGiven = 0
        fullAt = Math.max(fullAt, time) + START_COST
        return undefined
      }
      lastGiven = Math.max(free, Math.min(lastGiven + START_COST, time + FURTHEST * perSecond))
      return left(retryable('held', { notBefore: origin + Math.ceil(lastGiven / perSecond), gate, detail }))
    }
    return { holdBack }
  })
}
