/** What dividing a batch owes (CL4), against plain recursion as an oracle and against what the receiver saw. */
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { bytesOf, bodyOf } from '../../src/event/payload.ts'
import { isFinal, wasStarted } from '../../src/core/failure.ts'
import type { Verdict } from '../../src/core/failure.ts'
import { bisectingWorld, judge, type MakeBisecting, play, type Played, type Trace } from './bisectingWorld.ts'
import { expectedOf, ofMember } from './bisectingOracle.ts'
import { holds, law, type Law, same } from './policyLaw.ts'

export const verdictIn = ({ heard }: Played): Verdict | undefined =>
  heard.find(({ what }) => what === 'next')?.verdict

const whole = (trace: Trace): ReadonlyArray<Played> => trace.attempts.filter(({ cancelled }) => !cancelled)

/** Without the words for people. */
const plain = (verdict: Verdict): unknown =>
  JSON.parse(JSON.stringify(verdict, (key, value: unknown) => (key === 'detail' ? undefined : value)))

type Check = (trace: Trace) => void

const checks: Readonly<Record<string, Check>> = {
  'the requests are those of plain bisection: the batch first, then halves in order': (trace) => {
    trace.attempts.forEach((played, at) => {
      const expected = expectedOf(trace, at)?.requests
      const seen = played.calls.map(({ item }) => item.items)
      same(seen, played.cancelled ? expected?.slice(0, seen.length) : expected)
    })
  },
  'each member has its own verdict, by position': (trace) => {
    trace.attempts.forEach((played, at) => {
      const verdict = verdictIn(played)
      if (verdict === undefined) return
      const members = expectedOf(trace, at)?.members ?? []
      members.forEach((expected, member) =>
        same(plain(ofMember(verdict, trace.world.count, member)), plain(expected)),
      )
      same(
        verdict._tag === 'Right',
        members.every(({ _tag }) => _tag === 'Right'),
      )
    })
  },
  'what was taken or refused for good is never sent again': (trace) => {
    const over = new Set<number>()
    for (const { item, verdictAt, attempt } of trace.attempts.flatMap(({ calls }) => calls)) {
      for (const member of item.items) holds(!over.has(member), `member ${member} was sent again`)
      if (verdictAt === undefined) continue
      const all = trace.attempts.flatMap(({ calls }) => calls)
      const verdict = judge(
        trace.world,
        item.items,
        all.findIndex((call) => call.item === item && call.attempt === attempt),
        attempt.number,
      )
      if (verdict === undefined) continue
      const failure = verdict._tag === 'Left' ? verdict.left : undefined
      const divides = failure?._tag === 'Refused' && trace.world.only.includes(failure.status ?? 0)
      if (divides && item.items.length > 1) continue
      item.items.forEach((member, place) => {
        if (isFinal(ofMember(verdict, item.items.length, place))) over.add(member)
      })
    }
  },
  'one request at a time': (trace) => {
    const calls = trace.attempts.flatMap((played) => played.calls)
    calls.forEach(({ startedAt }, at) => {
      const before = calls[at - 1]
      if (before !== undefined) holds((before.endedAt ?? Infinity) <= startedAt, 'two at the same time')
    })
  },
  'none starts at or after the deadline': (trace) => {
    for (const { calls, attempt } of trace.attempts)
      holds(
        calls.every(({ startedAt }) => startedAt < attempt.until),
        'a late start',
      )
  },
  'every body is exact, with the envelope and the signer of the batch': (trace) => {
    const { batch } = trace
    for (const { item } of trace.attempts.flatMap(({ calls }) => calls)) {
      same(bytesOf(item, 0).length, item.byteLength)
      same(Buffer.from(bytesOf(item, 0)).toString(), bodyOf(item, 0))
      holds(item.frame === batch.frame && item.signer === batch.signer, 'another envelope or signer')
      holds(item.id === batch.id && item.closedBy === batch.closedBy, 'another batch')
      same(
        item.members,
        item.items.map((member) => batch.members[member]),
      )
      if (item.items.length === trace.world.count) holds(item === batch, 'a copy of the batch')
    }
  },
  'one culprit costs a logarithm': (trace) => {
    const { world } = trace
    if (world.bad.length > 1 || world.most < world.count || world.upsets.length > 0) return
    const most = 1 + 2 * Math.ceil(Math.log2(world.count))
    for (const { calls } of trace.attempts)
      holds(calls.length <= most, `${calls.length} requests for ${world.count} members`)
  },
  'one verdict and one end; the verdict when the last request has its own': (trace) => {
    for (const played of whole(trace)) {
      const { heard, calls } = played
      const kinds = heard.map(({ what }) => what).join()
      holds(['next,complete', 'next,error', 'error'].includes(kinds), `told: ${kinds}`)
      const last = calls.at(-1)
      if (last === undefined) continue
      const isLate = expectedOf(trace, trace.attempts.indexOf(played))?.late
      const at = isLate === true || last.verdictAt === undefined ? last.endedAt : last.verdictAt
      same([heard[0]?.at, heard.at(-1)?.at], [at, last.endedAt])
    }
  },
  'a defect is passed on, after what is known': (trace) => {
    for (const played of whole(trace)) {
      const broken = played.calls.some(({ ended }) => ended === 'failed')
      same(played.heard.at(-1)?.what, broken ? 'error' : 'complete')
      const first = played.calls[0]
      const nothingKnown = first?.item === trace.batch && first.verdictAt === undefined
      same(verdictIn(played) === undefined, broken && nothingKnown)
    }
  },
  'a cancel stops the running part, and nothing is told or started after it': (trace) => {
    for (const { afterCancel, runningAfterCancel, cancelled, calls } of trace.attempts) {
      same([afterCancel, runningAfterCancel], [0, 0])
      if (cancelled) holds(calls.filter(({ ended }) => ended === 'cancelled').length <= 1, 'two cancelled')
    }
  },
  'a failure that says that nothing was started is true': (trace) => {
    for (const played of whole(trace)) {
      const verdict = verdictIn(played)
      if (verdict?._tag !== 'Left' || wasStarted(verdict.left)) continue
      holds(
        played.calls.every(({ item }) => item.items.length === trace.world.count) && played.calls.length <= 1,
        'it was',
      )
    }
  },
  'an undivided answer is the very answer': (trace) => {
    for (const played of whole(trace)) {
      const [only, ...others] = played.calls
      if (only?.item !== trace.batch || others.length > 0 || only.verdictAt === undefined) continue
      const verdict = verdictIn(played)
      const index = trace.attempts
        .slice(0, trace.attempts.indexOf(played))
        .reduce((sum, { calls }) => sum + calls.length, 0)
      const said = judge(trace.world, only.item.items, index, played.attempt.number)
      // Refused and then too late for its halves: that is no answer of the receiver.
      const failure = verdict?._tag === 'Left' ? verdict.left : undefined
      if (failure?._tag === 'Retryable' && failure.reason === 'halved') continue
      same(verdict, said)
    }
  },
  'number and deadline reach every part, and each part gets its own past': (trace) => {
    for (const { attempt, calls } of trace.attempts) {
      for (const { attempt: given, item } of calls) {
        same([given.number, given.until], [attempt.number, attempt.until])
        const { lastFailure } = attempt
        if (lastFailure?._tag !== 'PartlyFailed' || lastFailure.members.length !== trace.world.count) {
          holds(given.lastFailure === lastFailure, 'another past')
          continue
        }
        const past = item.items.map((member) => lastFailure.members[member])
        const failures = past.map((verdict) => (verdict?._tag === 'Left' ? verdict.left : undefined))
        const [first] = failures
        const isOne = failures.every((failure) => isDeepStrictEqual(failure, first))
        same(given.lastFailure, isOne ? first : { _tag: 'PartlyFailed', members: past })
      }
    }
  },
}

export const bisectingLaws = (
  make: MakeBisecting,
  count: (trace: Trace) => void = () => {},
): ReadonlyArray<Law> =>
  Object.entries(checks).map(([id, check]) =>
    law(
      id,
      fc.property(bisectingWorld, (world) => {
        const trace = play(make, world)
        count(trace)
        check(trace)
      }),
    ),
  )
