/** Bisection of batches, against plain recursion as an oracle and against what the receiver saw. */
import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { isRight, left, right } from 'fp-ts/lib/Either.js'
import { it } from 'vitest'
import { allFailed, isFinal, isRetryable, partlyFailed, refused, retryable } from '../../src/core/failure.ts'
import { wasStarted, type Failure, type Verdict } from '../../src/core/failure.ts'
import { withBisection, bodyOf, bytesOf, type Sink } from '../../src/index.ts'
import { subscribeTo } from '../../src/sink/layer.ts'
import { scriptedSink, virtualClock, type Reply } from '../../src/testing/index.ts'
import { batchOf, type Batch } from '../support/batches.ts'
import { holds, lawTable, same, type Drawn } from '../support/check.ts'

export type MakeBisect = (only: ReadonlyArray<number>) => (sink: Sink<Batch>) => Sink<Batch>
const upsets = ['none', '503', '429', '401', 'late', 'defect', 'defect after the verdict'] as const
type Upset = (typeof upsets)[number]

const some = (count: number, most: number): fc.Arbitrary<ReadonlyArray<number>> =>
  fc.uniqueArray(fc.nat(count - 1), { maxLength: Math.min(most, count), size: 'max' })

const few = (count: number): fc.Arbitrary<ReadonlyArray<number>> =>
  fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: some(count, 3) })

const upset = fc.oneof({ weight: 12, arbitrary: fc.constant<Upset>('none') }, fc.constantFrom(...upsets))
const bisectWorld = fc.integer({ min: 1, max: 24 }).chain((count) =>
  fc.record({
    count: fc.constant(count),
    /** Refused with a 400, with all their company. */
    bad: fc.oneof({ weight: 3, arbitrary: some(count, 3) }, { weight: 1, arbitrary: some(count, count) }),
    /** Refused one by one, in the body of a 200. */
    unwanted: few(count),
    /** Put off one by one, in the body of a 200, until the third attempt. */
    putOff: few(count),
    /** More than this number are refused with a 413. */
    most: fc.oneof({ weight: 2, arbitrary: fc.constant(Infinity) }, fc.integer({ min: 1, max: count })),
    only: fc.constantFrom<ReadonlyArray<number>>([400, 413], [400, 413], [400, 413], [413], []),
    /** What goes wrong, request by request over all attempts. */
    upsets: fc.array(upset, { maxLength: 20, size: 'max' }),
    /** Milliseconds to the verdict; null for on the spot. */
    after: fc.option(fc.nat(5), { nil: null }),
    rest: fc.option(fc.nat(5), { nil: null }),
    /** How long an attempt has; null for ever. */
    within: fc.option(fc.nat(60), { nil: null, freq: 2 }),
    firstPrior: fc.constantFrom<Failure | undefined>(
      undefined,
      retryable('network'),
      allFailed([{ sink: 'a', failure: retryable('network') }]),
      partlyFailed(Array.from({ length: count + 1 }, () => right({ sink: 'inner' }))),
    ),
    stored: fc.boolean(),
  }),
)
type World = Drawn<typeof bisectWorld>

const TAKEN: Verdict = right({ sink: 'inner', status: 200 })
const NO: Verdict = left(refused('rejected', { status: 200 }))
const LATER: Verdict = left(retryable('busy', { notBefore: 5 }))

/** What the receiver says to these members; for a defect without a verdict, nothing. */
const judge = (world: World, members: ReadonlyArray<number>, request: number, attempt: number) => {
  const upset = world.upsets[request]
  if (upset === '503' || upset === '429')
    return left(retryable('status', { status: Number(upset), notBefore: request }))
  if (upset === '401') return left(refused('status', { status: 401 }))
  if (upset === 'late') return left(retryable('late'))
  if (upset === 'defect') return undefined
  if (members.length > world.most) return left(refused('status', { status: 413 }))
  if (members.some((each) => world.bad.includes(each))) return left(refused('status', { status: 400 }))
  const each = members.map((member) => {
    if (world.unwanted.includes(member)) return NO
    return attempt < 3 && world.putOff.includes(member) ? LATER : TAKEN
  })
  if (each.every((one) => one === TAKEN)) return TAKEN
  return each.length === 1 ? each[0] : left(partlyFailed(each))
}

const MOST_ATTEMPTS = 4
const LONG = 1_000

const play = (make: MakeBisect, world: World) => {
  const clock = virtualClock({ start: 0 })
  const batch = batchOf(world.count)
  const inner = scriptedSink<Batch>({
    name: 'inner',
    clock,
    reply: ({ items }, { number }, request): Reply => {
      const verdict = judge(world, items, request, number)
      return {
        ...(verdict === undefined ? {} : { verdict }),
        ...(world.after === null ? {} : { after: world.after }),
        ...(world.rest === null ? {} : { rest: world.rest }),
        ...(world.upsets[request]?.startsWith('defect') === true ? { defect: new Error('planted') } : {}),
      }
    },
  })
  const subscribe = subscribeTo(make(world.only)(inner))
  const attempts = []
  let lastFailure = world.firstPrior
  for (let number = 1; number <= MOST_ATTEMPTS; number++) {
    const startedAt = clock.monotonic()
    const attempt = { number, until: startedAt + (world.within ?? Infinity), lastFailure, clock }
    const begun = inner.calls.length
    const heard: Array<{ at: number; what: string; verdict?: Verdict }> = []
    subscribe(batch, attempt, {
      next: (verdict) => heard.push({ at: clock.monotonic(), what: 'next', verdict }),
      complete: () => heard.push({ at: clock.monotonic(), what: 'complete' }),
      error: () => heard.push({ at: clock.monotonic(), what: 'error' }),
    })
    clock.tick(LONG)
    attempts.push({ attempt, startedAt, heard, calls: inner.calls.slice(begun) })
    const verdict = heard.find(({ what }) => what === 'next')?.verdict
    if (verdict?._tag === 'Right') break
    const failure = verdict?._tag === 'Left' ? verdict.left : retryable('defect', { detail: 'planted' })
    // A final refusal is not retried; a memory that leaves nothing open is played all the same.
    if (!isRetryable(failure) && failure._tag !== 'PartlyFailed') break
    // What JSON.parse gives back of a failure is a failure: it is plain data.
    lastFailure = world.stored ? (JSON.parse(JSON.stringify(failure)) as Failure) : failure
  }
  return { world, batch, attempts }
}
type Trace = ReturnType<typeof play>
type Played = Trace['attempts'][number]

const ofMember = (verdict: Verdict, count: number, at: number): Verdict => {
  if (verdict._tag === 'Right' || verdict.left._tag !== 'PartlyFailed') return verdict
  return verdict.left.members.length === count ? (verdict.left.members[at] ?? verdict) : verdict
}

const passing = (failure: Failure): Failure => {
  if (failure._tag !== 'PartlyFailed') return failure
  const found = failure.members.find((member) => member._tag === 'Left' && isRetryable(member.left))
  return found?._tag === 'Left' ? found.left : failure
}

/** What must be seen of one attempt. `late`: the deadline came before all was sent. */
const expectedOf = ({ world, attempts }: Trace, now: Played) => {
  const { lastFailure, number, until } = now.attempt
  const known = (member: number): Verdict | undefined =>
    lastFailure?._tag === 'PartlyFailed' && lastFailure.members.length === world.count
      ? lastFailure.members[member]
      : undefined
  const members: Array<Verdict | undefined> = Array.from({ length: world.count }, (_, member) => {
    const last = known(member)
    return last !== undefined && isFinal(last) ? last : undefined
  })
  const requests: number[][] = []
  let index = attempts.slice(0, attempts.indexOf(now)).reduce((sum, { calls }) => sum + calls.length, 0)
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

const verdictIn = ({ heard }: Played) => heard.find(({ what }) => what === 'next')?.verdict

const plain = (verdict: Verdict): unknown =>
  JSON.parse(JSON.stringify(verdict, (key, value: unknown) => (key === 'detail' ? undefined : value)))

export const bisectLaws = lawTable(bisectWorld, (make: MakeBisect, world) => play(make, world), {
  'B1 the requests are those of plain bisection': (trace: Trace) => {
    for (const played of trace.attempts) {
      const requests = played.calls.map(({ item }) => item.items)
      same(requests, expectedOf(trace, played).requests)
    }
  },
  'B2 each member has its own verdict, by position': (trace) => {
    for (const played of trace.attempts) {
      const verdict = verdictIn(played)
      if (verdict === undefined) continue
      const { members } = expectedOf(trace, played)
      const seen = members.map((_, at) => plain(ofMember(verdict, trace.world.count, at)))
      same(seen, members.map(plain))
      holds((verdict._tag === 'Right') === members.every(isRight), 'another verdict for all')
    }
  },
  'B4 one request at a time, and none at or after the deadline': ({ attempts }) => {
    const calls = attempts.flatMap((played) => played.calls.map((call) => ({ ...call, ...played.attempt })))
    calls.forEach(({ startedAt, until }, at) => {
      holds((calls[at - 1]?.endedAt ?? -Infinity) <= startedAt, 'two at the same time')
      holds(startedAt < until, 'a late start')
    })
  },
  'B5 every body is exact, with the frame of the batch': (trace) => {
    const { batch } = trace
    for (const { item } of trace.attempts.flatMap(({ calls }) => calls)) {
      same(bytesOf(item, 0).length, item.byteLength)
      same(Buffer.from(bytesOf(item, 0)).toString(), bodyOf(item, 0))
      holds(item.frame === batch.frame, 'another frame')
      holds(item.id === batch.id && item.closedBy === batch.closedBy, 'another batch')
      const members = item.items.map((member) => batch.members[member])
      same(item.members, members)
      if (item.items.length === trace.world.count) holds(item === batch, 'a copy of the batch')
    }
  },
  'B6 one verdict and one end; the verdict when the last request has its own': (trace) => {
    for (const played of trace.attempts) {
      const { heard, calls } = played
      const kinds = heard.map(({ what }) => what).join()
      holds(['next,complete', 'next,error', 'error'].includes(kinds), `told: ${kinds}`)
      const last = calls.at(-1)
      if (last === undefined) continue
      const at = expectedOf(trace, played).late ? last.endedAt : (last.verdictAt ?? last.endedAt)
      same([heard[0]?.at, heard.at(-1)?.at], [at, last.endedAt])
    }
  },
  'B7 a defect is passed on, after what is known': (trace) => {
    for (const played of trace.attempts) {
      const broken = played.calls.some(({ ended }) => ended === 'failed')
      same(played.heard.at(-1)?.what, broken ? 'error' : 'complete')
      const first = played.calls[0]
      const nothingKnown = first?.item === trace.batch && first.verdictAt === undefined
      same(verdictIn(played) === undefined, broken && nothingKnown)
    }
  },
  'B10 number and deadline reach each part, and each part gets its own last failure': (trace) => {
    for (const { attempt, calls } of trace.attempts)
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
  },
})

it('withBisection keeps its laws', () => fc.assert(bisectLaws.all((only) => withBisection({ only }))))
