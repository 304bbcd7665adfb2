import * as fc from 'fast-check'
import { left } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { retryable } from '../../src/index.ts'
import { Monoid, capDelay, deadline, type RetryPolicy } from '../../src/policy/index.ts'
import { fullJitter, limitRetries, respectRetryAfter, standard } from '../../src/policy/index.ts'
import { step, type Step } from '../../src/policy/step.ts'
import { holds, lawsOver, policyLaws, registerLaws, reportOf, same } from '../../src/testing/laws/index.ts'
import type { Law } from '../../src/testing/laws/index.ts'
import { policyFor } from '../../src/testing/laws/brokenParts.ts'
import { policy, policyTime } from '../../src/testing/laws/policyLaws.ts'
import type { Drawn } from '../support/check.ts'

const { concat, empty } = Monoid

describe('step', () => registerLaws({ test: it }, policyLaws(policyFor)))
const limits = { maxRetries: null, within: 14_400_000, retryAfter: true }
const asked = { base: 1_000, factor: 2, maxDelay: 600_000, jitter: true, ...limits }
describe('standard', () =>
  registerLaws(
    { test: it },
    policyLaws(() => standard, asked),
  ))
describe.each([1, 1.5, 2])('a policy of factor %d up to an hour', (factor) =>
  registerLaws({ test: it }, policyLaws(policyFor, { ...asked, factor, maxDelay: 3_600_000 })),
)

const share = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
const world = fc.record({
  a: policy,
  b: policy,
  c: policy,
  before: fc.nat({ max: 5 }),
  now: fc.oneof(fc.constantFrom(0, 1, 998, 999), fc.nat({ max: 60_000 })),
  asked: fc.oneof(fc.constant(null), policyTime, fc.nat({ max: 120_000 })),
  draw: fc.oneof(fc.constantFrom(0, 1 - 2 ** -53), share),
})

type World = Drawn<typeof world>

/** Laws of policies that are combined, in effect: the words of `because` depend on the order of the parts. */
const combineLaws = (decide: typeof step): ReadonlyArray<Law> => {
  const play =
    ({ before, now, asked, draw }: World) =>
    (combined: RetryPolicy): Step<undefined> => {
      const failure = retryable('status', asked === null ? {} : { notBefore: asked })
      const progress = before === 0 ? undefined : { attempts: before, lastFailure: failure }
      const after = decide(combined, undefined, progress, 0, left(failure), now, () => draw)
      return after._tag === 'Wait' ? { ...after, because: '' } : after
    }
  return lawsOver('combine', world, play, {
    associative: {
      statement: 'The grouping of parts does not matter.',
      check: (of, { a, b, c }) => same(of(concat(concat(a, b), c)), of(concat(a, concat(b, c)))),
    },
    identity: {
      statement: '`always` changes nothing.',
      check: (of, { a }) => same([of(concat(empty, a)), of(concat(a, empty))], [of(a), of(a)]),
    },
    commutative: {
      statement: 'The order of parts does not matter.',
      check: (of, { a, b }) => same(of(concat(a, b)), of(concat(b, a))),
    },
    idempotent: {
      statement: 'A part that is there twice counts once.',
      check: (of, { a }) => same(of(concat(a, a)), of(a)),
    },
    'longer-wins': {
      statement: 'The longer delay wins.',
      situations: ['both wait'],
      check: (of, { a, b }, { reach }) => {
        const [left, right, both] = [of(a), of(b), of(concat(a, b))]
        if (left._tag !== 'Wait' || right._tag !== 'Wait' || both._tag !== 'Wait') return
        reach('both wait')
        same(both.delay, Math.max(left.delay, right.delay))
      },
    },
    'either-stops': {
      statement: 'Either part may stop.',
      check: (of, { a, b }) =>
        holds(
          of(concat(a, b))._tag === 'Expired' || (of(a)._tag === 'Wait' && of(b)._tag === 'Wait'),
          'one part stopped, and was not heard',
        ),
    },
    jitter: {
      statement: 'Jitter of a combination is that of its parts, and counts once.',
      check: (of, { a, b }) => {
        same(of(fullJitter(concat(a, b))), of(concat(fullJitter(a), fullJitter(b))))
        same(of(fullJitter(fullJitter(a))), of(fullJitter(a)))
      },
    },
    limits: {
      statement: 'Limits pass through cap and jitter.',
      check: (of, { a }) => {
        const limits = concat(respectRetryAfter, concat(limitRetries(2), deadline(5_000)))
        same(of(capDelay(1)(fullJitter(concat(a, limits)))), of(concat(capDelay(1)(fullJitter(a)), limits)))
      },
    },
  })
}

describe('policies that are combined', () => {
  registerLaws({ test: it }, combineLaws(step))

  it('are found out if only their left part counts', async () => {
    const leftOf = (each: RetryPolicy): RetryPolicy => (each._tag === 'Both' ? leftOf(each.left) : each)
    const laws = combineLaws((combined, ...rest) => step(leftOf(combined), ...rest))
    const reports = await Promise.all(laws.map((each) => reportOf(each, { runs: 100 })))
    expect(reports.filter(({ result }) => result === 'broken').map((each) => each.law)).toEqual(
      expect.arrayContaining(['combine/identity', 'combine/commutative', 'combine/either-stops']),
    )
  })
})
