/**
 * How a first success decides: pure functions over the answers of its sinks.
 *
 * @module
 */
import { left } from 'fp-ts/lib/Either.js'
import { type Cause, earliestRetry, eachOf, type Failure } from '../outcome/Failure.ts'
import type { Verdict } from '../outcome/Verdict.ts'

/** One place for each sink, in the order of the sinks; undefined as long as its verdict is awaited. */
export type Answers = ReadonlyArray<Verdict | undefined>

/** The failure that is remembered for a sink. A prior that is no `EachOf` says nothing about any sink. */
export const priorOf = (prior: Failure | undefined, name: string): Failure | undefined =>
  prior?._tag === 'EachOf' ? prior.causes.find((cause) => cause.sink === name)?.failure : undefined

/** Whether a sink may be asked at `now`: it has not refused for good, and did not ask to be left alone until later (DE1). */
export const isLive = (remembered: Failure | undefined, now: number): boolean => {
  if (remembered === undefined) return true
  const from = earliestRetry(remembered)
  return from !== undefined && from <= now
}

/**
 * The answers at the start of a round: a sink that is not asked answers with what is remembered of it, the others are awaited.
 * `now` is milliseconds since 1970.
 */
export const opening = (
  names: ReadonlyArray<string>,
  prior: Failure | undefined,
  now: number,
): Array<Verdict | undefined> =>
  names.map((name) => {
    const remembered = priorOf(prior, name)
    return remembered === undefined || isLive(remembered, now) ? undefined : left(remembered)
  })

/** Whether a verdict is an `EachOf` of the very failures that the answers have. */
const saysTheSame = (verdict: Verdict, answers: Answers): boolean =>
  verdict._tag === 'Left' &&
  verdict.left._tag === 'EachOf' &&
  verdict.left.causes.length === answers.length &&
  verdict.left.causes.every(({ failure }, at) => {
    const answer = answers[at]
    return answer?._tag === 'Left' && answer.left === failure
  })

/**
 * The verdict so far: a success as soon as there is one, every sink's cause in the order of the sinks when all have failed,
 * and undefined as long as neither is known. If all have failed as they did the `last` time, it is that verdict itself: what
 * waits by the thousand for receivers that are down shares one failure.
 */
export const combine = (
  names: ReadonlyArray<string>,
  answers: Answers,
  last?: Verdict,
): Verdict | undefined => {
  let awaited = false
  for (const answer of answers) {
    if (answer?._tag === 'Right') return answer
    if (answer === undefined) awaited = true
  }
  if (awaited) return undefined
  if (last !== undefined && saysTheSame(last, answers)) return last
  const causes: Cause[] = []
  answers.forEach((answer, at) => {
    const sink = names[at]
    if (sink !== undefined && answer?._tag === 'Left') causes.push({ sink, failure: answer.left })
  })
  // A list that grew has room for more, and what waits is kept in great numbers.
  return left(eachOf(causes.slice()))
}
