import * as fc from 'fast-check'
import { constVoid } from 'fp-ts/lib/function.js'
import type { Verdict } from '../../src/index.ts'
import { stepsOf, type Ran } from './deliveries.ts'

/** Pauses, and deliveries with a verdict of each kind that end with it. */
export const steps = stepsOf(
  fc.nat(50),
  {
    gap: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat(30), fc.nat(400)),
    key: fc.nat(4),
    said: fc.oneof(
      { weight: 5, arbitrary: fc.record({ kind: fc.constantFrom('taken', 'refused', 'network', 'full') }) },
      { weight: 2, arbitrary: fc.constantFrom({ kind: 'network' }, { kind: 'batch', wishes: [9, 9] }) },
      fc.constant({ kind: 'batch', wishes: [9, null] }),
    ),
    rest: fc.constant(null),
    defect: fc.constant('none'),
    cancelAt: fc.oneof({ weight: 10, arbitrary: fc.constant(null) }, fc.constant(0)),
  },
  60,
)

export const silent = { next: constVoid, complete: constVoid, error: constVoid }

export const verdictIn = ({ heard }: Pick<Ran, 'heard'>): Verdict | undefined => heard[0]?.verdict

/** The moment that is told with a verdict that holds a delivery back. */
export const notBeforeOf = (verdict: Verdict | undefined): number | undefined =>
  verdict?._tag === 'Left' && verdict.left._tag === 'Retryable' && verdict.left.reason === 'held'
    ? (verdict.left.notBefore ?? 0)
    : undefined
