/** What one attempt at a batch should do, by plain recursion. */
import { left } from 'fp-ts/lib/Either.js'
import { type Failure, isFinal, isRetryable, retryable, wasStarted } from '../../src/core/failure.ts'
import type { Verdict } from '../../src/core/failure.ts'
import { judge, type Trace } from './bisectingWorld.ts'

/** What a verdict on a batch of `count` says of one member. */
export const ofMember = (verdict: Verdict, count: number, at: number): Verdict => {
  if (verdict._tag === 'Right' || verdict.left._tag !== 'PartlyFailed') return verdict
  return verdict.left.members.length === count ? (verdict.left.members[at] ?? verdict) : verdict
}

export interface Expected {
  readonly requests: ReadonlyArray<ReadonlyArray<number>>
  readonly members: ReadonlyArray<Verdict>
  /** The deadline came before all was sent. */
  readonly late: boolean
}

const passing = (failure: Failure): Failure => {
  if (failure._tag !== 'PartlyFailed') return failure
  const found = failure.members.find((member) => member._tag === 'Left' && isRetryable(member.left))
  return found?._tag === 'Left' ? found.left : failure
}

/** Of the attempt at this place of the trace. */
export const expectedOf = ({ world, attempts }: Trace, at: number): Expected | undefined => {
  const now = attempts[at]
  if (now === undefined) return undefined
  const { lastFailure, number, until } = now.attempt
  const known = (member: number): Verdict | undefined =>
    lastFailure?._tag === 'PartlyFailed' && lastFailure.members.length === world.count
      ? lastFailure.members[member]
      : undefined
  const members: Array<Verdict | undefined> = Array.from({ length: world.count }, (_, member) => {
    const before = known(member)
    return before !== undefined && isFinal(before) ? before : undefined
  })
  const requests: number[][] = []
  let index = attempts.slice(0, at).reduce((sum, { calls }) => sum + calls.length, 0)
  let time = now.startedAt
  let late = false
  let stopped: Failure | undefined
  let halvedBy: number | undefined
  const send = (list: ReadonlyArray<number>): void => {
    if (stopped !== undefined || list.length === 0) return
    if (time >= until) {
      stopped = retryable('late')
      late = true
      return
    }
    requests.push([...list])
    const verdict = judge(world, list, index++, number) ?? left(retryable('defect', { detail: 'planted' }))
    time += (world.after ?? 0) + (world.rest ?? 0)
    const failure = verdict._tag === 'Left' ? verdict.left : undefined
    if (failure?._tag === 'Refused' && world.only.includes(failure.status ?? 0) && list.length > 1) {
      halvedBy = failure.status
      const middle = Math.ceil(list.length / 2)
      send(list.slice(0, middle))
      send(list.slice(middle))
      return
    }
    list.forEach((member, place) => (members[member] = ofMember(verdict, list.length, place)))
    if (failure !== undefined && isRetryable(failure)) {
      stopped = passing(failure)
      // What was not started after it had been refused in company: something was started for it all the same.
      if (halvedBy !== undefined && !wasStarted(failure)) {
        for (const member of list) members[member] = undefined
      }
    }
  }
  send(members.flatMap((verdict, member) => (verdict === undefined ? [member] : [])))
  const rest = stopped ?? retryable('late')
  const last = halvedBy !== undefined && !wasStarted(rest) ? retryable('halved', { status: halvedBy }) : rest
  return { requests, members: members.map((verdict) => verdict ?? left(last)), late }
}
