/**
 * Two processes on one server: each sends items of its own, transactions of the host append past them, connections break, answers are
 * lost, and one process may die. All of it is data.
 */
import * as fc from 'fast-check'

export interface Given {
  readonly at: number
  readonly by: number
  /** `sent` through the relay; else in a transaction of the host, that commits or does not, after so many milliseconds. */
  readonly how: 'sent' | 'committed' | 'rolledBack'
  readonly busy: number
  readonly lasts: number
  readonly last: 'ok' | 'refuse'
}

export type Trouble =
  | { readonly is: 'death'; readonly of: number; readonly at: number }
  | { readonly is: 'down'; readonly of: number; readonly at: number; readonly lasts: number }
  | { readonly is: 'lostAnswers'; readonly of: number; readonly every: number }

export interface World {
  readonly items: ReadonlyArray<Given>
  readonly troubles: ReadonlyArray<Trouble>
  readonly maxInFlight: number
  readonly latency: number
  readonly seed: number
}

/** Milliseconds of a lease. */
export const LEASE = 1_000

const given: fc.Arbitrary<Given> = fc.record({
  at: fc.nat(3_000),
  by: fc.nat(1),
  how: fc.constantFrom('sent' as const, 'sent' as const, 'committed' as const, 'rolledBack' as const),
  busy: fc.constantFrom(0, 0, 1, 3),
  lasts: fc.constantFrom(0, 1, 40, 2_500),
  last: fc.constantFrom('ok' as const, 'ok' as const, 'refuse' as const),
})

const trouble: fc.Arbitrary<Trouble> = fc.oneof(
  fc.record({ is: fc.constant('death' as const), of: fc.constant(0), at: fc.nat(4_000) }),
  fc.record({
    is: fc.constant('down' as const),
    of: fc.nat(1),
    at: fc.nat(4_000),
    lasts: fc.constantFrom(10, 500, 3_000),
  }),
  fc.record({
    is: fc.constant('lostAnswers' as const),
    of: fc.nat(1),
    every: fc.integer({ min: 2, max: 9 }),
  }),
)

export const world: fc.Arbitrary<World> = fc.record({
  items: fc.array(given, { minLength: 1, maxLength: 10, size: 'max' }),
  troubles: fc.oneof(fc.constant([]), fc.array(trouble, { minLength: 1, maxLength: 3, size: 'max' })),
  maxInFlight: fc.constantFrom(1, 2, 4, 20),
  latency: fc.constantFrom(1, 20),
  seed: fc.nat(),
})
