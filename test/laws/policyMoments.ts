/**
 * The moments in which the laws of `step` ask. Everything is placed relative to the limits: the deadline falls just before, on or
 * just after the next due time, the verdict or the start, and `Retry-After` beside the backoff and the deadline.
 */
import * as fc from 'fast-check'
import { ALMOST_ONE, backoffOf } from './policyWorlds.ts'
import type { Curve, Leaf, Moment, Nest, Shape } from './policyWorlds.ts'

const curve: fc.Arbitrary<Curve> = fc.record({
  base: fc.oneof(fc.constantFrom(1, 1_000), fc.integer({ min: 1, max: 100_000 })),
  factor: fc.constantFrom(1, 1.5, 2, 3),
  cap: fc.option(fc.oneof(fc.constantFrom(1, 600_000), fc.integer({ min: 1, max: 1_000_000 })), {
    nil: undefined,
  }),
  jitter: fc.constantFrom('none', 'outside the cap', 'inside the cap'),
})

const draw: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(0, ALMOST_ONE, 0.5),
  fc.double({ min: 0, max: ALMOST_ONE, noNaN: true }),
)

/** -1, 0 and 1 mostly; else further away. */
const nearby: fc.Arbitrary<number> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(-1, 0, 1) },
  { weight: 1, arbitrary: fc.integer({ min: -5_000, max: 3_000_000_000 }) },
)

/** Where a limit is placed, and how far beside it. */
interface Aim {
  readonly at: 'due' | 'now' | 'firstAttemptAt'
  readonly offset: number
}

const seed = fc.record({
  curves: fc.array(curve, { maxLength: 3, size: 'max' }),
  retriesLeft: fc.option(fc.constantFrom(-1, 0, 1, 5), { nil: undefined }),
  deadline: fc.option(
    fc.record({ at: fc.constantFrom<Aim['at']>('due', 'due', 'now', 'firstAttemptAt'), offset: nearby }),
    { nil: undefined, freq: 8 },
  ),
  honours: fc.boolean(),
  reversed: fc.boolean(),
  before: fc.oneof(fc.constantFrom(0, 1, 2), fc.nat({ max: 12 })),
  firstAttemptAt: fc.constantFrom(0, 1_767_225_600_000),
  elapsed: fc.oneof(fc.constantFrom(0, 5_000), fc.nat({ max: 20_000_000 })),
  draw,
  nest: fc.constantFrom<Nest>('alone', 'alone', 'each', 'some', 'some of each', 'each of some'),
  leaves: fc.array(
    fc.oneof(
      { weight: 1, arbitrary: fc.constant({ final: true } as const) },
      {
        weight: 3,
        arbitrary: fc.record({
          final: fc.constant(false as const),
          asked: fc.option(fc.record({ at: fc.constantFrom('now', 'backoff', 'deadline'), offset: nearby }), {
            nil: undefined,
            freq: 3,
          }),
        }),
      },
    ),
    { minLength: 1, maxLength: 4, size: 'max' },
  ),
})

/** The deadline is chosen last, when it is known what it should be near to. */
export const moment: fc.Arbitrary<Moment> = seed.map((chosen) => {
  const { before, firstAttemptAt, curves, honours, reversed, nest } = chosen
  const now = firstAttemptAt + chosen.elapsed
  const retries = chosen.retriesLeft === undefined ? undefined : Math.max(0, before + chosen.retriesLeft)
  const endless: Shape = { curves, retries, within: undefined, honours, reversed }
  const rested = now + backoffOf(endless, before + 1, chosen.draw)
  const aimed = chosen.deadline
  const places = { due: rested, now, firstAttemptAt }
  const limit = aimed && Math.max(firstAttemptAt + 1, places[aimed.at] + aimed.offset)
  const leaves = chosen.leaves.map((leaf): Leaf => {
    if (leaf.final) return leaf
    const { asked } = leaf
    if (asked === undefined) return { final: false, at: undefined }
    const anchor = { now, backoff: rested, deadline: limit ?? rested }[asked.at]
    return { final: false, at: anchor + asked.offset }
  })
  const shape = { ...endless, within: limit && limit - firstAttemptAt }
  return { shape, before, firstAttemptAt, now, draw: chosen.draw, nest, leaves }
})
