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

/**
 * The verdict so far: a success as soon as there is one, every sink's cause in the order of the sinks when all have failed,
 * and undefined as long as neither is known.
 */
export const combine = (names: ReadonlyArray<string>, answers: Answers): Verdict | undefined => {
  let awaited = false
  for (const answer of answers) {
    if (answer?._tag === 'Right') return answer
    if (answer === undefined) awaited = true
  }
  if (awaited) return undefined
  const causes: Cause[] = []
  answers.forEach((answer, at) => {
    const sink = names[at]
    if (sink !== undefined && answer?._tag === 'Left') causes.push({ sink, failure: answer.left })
  })
  return left(eachOf(causes))
}
