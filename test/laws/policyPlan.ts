/**
 * The laws of `plan`. Beside it stands a simulation that asks `step` itself, with the bookkeeping of the relay: absolute times,
 * and a progress that is stored and read back as JSON.
 */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { retryable } from '../../src/core/failure.ts'
import type { Progress } from '../../src/core/outcome.ts'
import type { Verdict } from '../../src/core/failure.ts'
import { deadlineOf } from '../../src/policy/retryPolicy.ts'
import type { PlanOptions, plan } from '../../src/policy/plan.ts'
import { step } from '../../src/policy/step.ts'
import { seededRandom } from '../../src/testing/random.ts'
import { anyPolicy } from './policyCombine.ts'
import { holds, law, same } from './policyLaw.ts'
import type { Law } from './policyLaw.ts'

/** What is tested: `plan`, or a mutant of it. */
export type PlanFunction = typeof plan

/** A life to plan. `verdicts` are what the first attempts meet; those after them fail. */
const life = fc.record({
  policy: anyPolicy,
  seed: fc.integer(),
  duration: fc.constantFrom(0, 1, 500, 5_000),
  most: fc.constantFrom(1, 2, 40),
  verdicts: fc.array(fc.constantFrom('fails', 'fails', 'fails', 'asks for 3 s', 'asks for 3 s', 'succeeds'), {
    maxLength: 40,
    size: 'max',
  }),
})

type Life = typeof life extends fc.Arbitrary<infer T> ? T : never

const START = 1_767_225_600_000

const verdictOf = ({ verdicts }: Life, number: number, now: number): Verdict => {
  switch (verdicts[number - 1]) {
    case 'succeeds':
      return right({ sink: 'one' })
    case 'asks for 3 s':
      return left(retryable('status', { status: 429, notBefore: now + 3_000 }))
    default:
      return left(retryable('timeout'))
  }
}

const optionsOf = (of: Life): PlanOptions => ({
  random: seededRandom(of.seed),
  duration: of.duration,
  most: of.most,
  verdict: (number, now) => verdictOf(of, number, now),
})

/** When each attempt starts, in milliseconds since the first. */
const simulate = (of: Life): ReadonlyArray<number> => {
  const random = seededRandom(of.seed)
  const starts = [START]
  let stored: string | undefined
  for (let start = START; starts.length < of.most;) {
    const end = start + of.duration
    // A progress was written as JSON, and holds nothing that JSON would change.
    const progress = stored === undefined ? undefined : (JSON.parse(stored) as Progress)
    const after = step(of.policy, progress, START, verdictOf(of, starts.length, end), end, random)
    if (after._tag !== 'Wait') break
    stored = JSON.stringify(after.progress)
    start = after.due
    starts.push(start)
  }
  return starts.map((start) => start - START)
}

/** The laws, over an implementation of `plan`. */
export const planLaws = (planned: PlanFunction): ReadonlyArray<Law> => {
  const lawOf = (id: string, check: (of: Life) => void): Law => law(id, fc.property(life, check))
  return [
    lawOf('R9 the attempts of a plan are those that are made', (of) => {
      same(
        planned(of.policy, optionsOf(of)).map((attempt) => attempt.at),
        simulate(of),
      )
    }),
    lawOf('R1 the first attempt starts at once', (of) => {
      same(planned(of.policy, optionsOf(of))[0], { number: 1, at: 0, delay: 0, because: 'first attempt' })
    }),
    lawOf('R2 R3 attempts do not overlap, and none starts at or after the deadline', (of) => {
      let end = 0
      for (const { number, at, delay } of planned(of.policy, optionsOf(of))) {
        same(at, end + delay)
        holds(at < deadlineOf(of.policy), 'an attempt at or after the deadline')
        holds(number === 1 || delay >= 1, 'no pause')
        end = at + of.duration
      }
    }),
    lawOf('R10 attempts are numbered, and each has a reason', (of) => {
      planned(of.policy, optionsOf(of)).forEach((attempt, i) => {
        same(attempt.number, i + 1)
        holds(attempt.because !== '', 'no reason')
      })
    }),
    lawOf('no plan is longer than it may be', (of) => {
      holds(planned(of.policy, optionsOf(of)).length <= of.most, 'too long')
    }),
  ]
}
