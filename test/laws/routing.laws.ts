/** First success, failover and toAll over several attempts, against oracles in plain code. What is remembered goes through JSON, as in a store. */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { describe, it } from 'vitest'
import type { Clock } from '../../src/core/clock.ts'
import { allFailed, isFinal, notAll, refused, retryable } from '../../src/core/failure.ts'
import type { Failure, Verdict } from '../../src/core/failure.ts'
import { failover, firstSuccess, toAll } from '../../src/sink/combine.ts'
import { subscribeTo } from '../../src/sink/layer.ts'
import type { Sink } from '../../src/sink/sink.ts'
import { type ScriptedSink, scriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { holds, same, type Law } from '../support/check.ts'

export type MakeCombination = (sinks: ReadonlyArray<Sink<string>>, clock: Clock) => Sink<string>

const START = 1_000_000

/** How one sink answers one attempt, on the spot if `after` is null. `wait`: it asks to wait longer, in milliseconds. */
interface Answer {
  readonly kind: 'take' | 'refuse' | 'retry' | 'wait' | 'defect'
  readonly after: number | null
  readonly rest: number
  readonly wait: number
}

interface World {
  /** By sink, then by attempt. */
  readonly answers: ReadonlyArray<ReadonlyArray<Answer>>
  /** Milliseconds between the end of an attempt and the next. */
  readonly pauses: ReadonlyArray<number>
  /** Milliseconds from the start of each attempt to its deadline. */
  readonly time: number
}

const ATTEMPTS = 4
const small = fc.oneof(fc.constant(0), fc.nat(5), fc.nat(60))
const answer: fc.Arbitrary<Answer> = fc.record({
  kind: fc.constantFrom('take', 'refuse', 'retry', 'retry', 'wait', 'defect'),
  after: fc.option(small),
  rest: small,
  wait: fc.nat(120),
})
const world: fc.Arbitrary<World> = fc.record({
  answers: fc.array(fc.array(answer, { minLength: ATTEMPTS, maxLength: ATTEMPTS, size: 'max' }), {
    minLength: 1,
    maxLength: 5,
    size: 'max',
  }),
  pauses: fc.array(fc.nat(80), { minLength: ATTEMPTS, maxLength: ATTEMPTS, size: 'max' }),
  time: fc.oneof(fc.constant(1_000_000), fc.integer({ min: 1, max: 150 })),
})

const nameOf = (at: number): string => `sink ${at}`

const verdictAt = ({ kind, wait }: Answer, at: number, now: number): Verdict => {
  switch (kind) {
    case 'take':
      return right({ sink: nameOf(at), status: 200 })
    case 'refuse':
      return left(refused('status', { status: 400 + at }))
    case 'retry':
      return left(retryable('status', { status: 500 + at }))
    case 'wait':
      return left(retryable('status', { status: 429, notBefore: now + wait }))
    case 'defect':
      return left(retryable('defect', { detail: `defect ${at}` }))
  }
}

/** A sink that was asked, when, and with what memory of its own. */
interface Asked {
  readonly sink: number
  readonly at: number
  readonly lastFailure: Failure | undefined
}

interface Attempted {
  readonly start: number
  readonly until: number
  readonly verdicts: ReadonlyArray<{ readonly at: number; readonly verdict: Verdict }>
  readonly endedAt: number | undefined
  readonly asked: ReadonlyArray<Asked>
}

interface Trace {
  readonly attempts: ReadonlyArray<Attempted>
  readonly sinks: ReadonlyArray<ScriptedSink<string>>
  readonly pending: number
}

const LATE = retryable('late', { detail: 'the deadline came before it was asked; no request was sent' })

const play = (make: MakeCombination, { answers, pauses, time }: World): Trace => {
  const clock = virtualClock({ start: START })
  let attempt = 0
  const sinks = answers.map((ofSink, at) =>
    scriptedSink<string>({
      name: nameOf(at),
      clock,
      reply: () => {
        const one = ofSink[attempt] as Answer
        const { kind, after, rest } = one
        const now = clock.now() + (after ?? 0)
        return {
          ...(after === null ? {} : { after }),
          rest,
          ...(kind === 'defect'
            ? { defect: new Error(`defect ${at}`) }
            : { verdict: verdictAt(one, at, now) }),
        }
      },
    }),
  )
  const sink = make(sinks, clock)
  const attempts: Attempted[] = []
  let lastFailure: Failure | undefined
  for (; attempt < ATTEMPTS; attempt++) {
    const start = clock.now()
    const before = sinks.map(({ calls }) => calls.length)
    const verdicts: Array<{ at: number; verdict: Verdict }> = []
    let endedAt: number | undefined
    subscribeTo(sink)(
      'item',
      { number: attempt + 1, until: start + time, lastFailure },
      {
        next: (verdict) => verdicts.push({ at: clock.now(), verdict }),
        complete: () => {
          endedAt = clock.now()
        },
        error: () => undefined,
      },
    )
    clock.tick(1_000)
    const asked = sinks.flatMap(({ calls }, at) =>
      calls.slice(before[at]).map((call) => {
        const { number, until, lastFailure: own } = call.attempt
        same([number, until], [attempt + 1, start + time])
        return { sink: at, at: START + call.startedAt, lastFailure: own }
      }),
    )
    attempts.push({ start, until: start + time, verdicts, endedAt, asked })
    const verdict = verdicts[0]?.verdict
    if (verdict === undefined || isFinal(verdict)) break
    // A store gives back what JSON kept.
    lastFailure = verdict._tag === 'Left' ? (JSON.parse(JSON.stringify(verdict.left)) as Failure) : undefined
    clock.tick(pauses[attempt] ?? 0)
  }
  return { attempts, sinks, pending: clock.pending() }
}

/** Whether a sink that answered so is not asked at `now`. */
const stands = (before: Verdict | undefined, now: number): boolean => {
  if (before === undefined) return false
  if (before._tag === 'Right' || before.left._tag === 'Refused') return true
  return before.left._tag === 'Retryable' && (before.left.notBefore ?? 0) > now
}

/** An answer with the time at which the sink is over. A defect is known at the end. */
const timed = (one: Answer, at: number, start: number) => {
  const answered = start + (one.after ?? 0)
  const end = answered + one.rest
  const known = one.kind === 'defect' ? end : answered
  return { verdict: verdictAt(one, at, answered), known, end }
}

const failureOf = (verdict: Verdict | undefined): Failure | undefined =>
  verdict?._tag === 'Left' ? verdict.left : undefined

const causesOf = (memory: ReadonlyArray<Verdict | undefined>): Verdict =>
  left(
    allFailed(
      memory.flatMap((verdict, at) =>
        verdict?._tag === 'Left' ? [{ sink: nameOf(at), failure: verdict.left }] : [],
      ),
    ),
  )

type Expected = Omit<Attempted, 'until' | 'start'> & { readonly memory: ReadonlyArray<Verdict | undefined> }

const failoverOracle = (
  given: World,
  attempt: number,
  start: number,
  before: Expected['memory'],
): Expected => {
  const memory = [...before]
  const asked: Asked[] = []
  let now = start
  let endedAt = start
  let success: Verdict | undefined
  for (const [at, ofSink] of given.answers.entries()) {
    if (success !== undefined || stands(before[at], start)) continue
    if (asked.length > 0 && now >= start + given.time) {
      memory[at] = left(LATE)
      continue
    }
    asked.push({ sink: at, at: now, lastFailure: failureOf(before[at]) })
    const { verdict, known, end } = timed(ofSink[attempt] as Answer, at, now)
    memory[at] = verdict
    now = known
    endedAt = Math.max(endedAt, end)
    if (verdict._tag === 'Right') success = verdict
  }
  return { verdicts: [{ at: now, verdict: success ?? causesOf(memory) }], endedAt, asked, memory }
}

/** Asks all that may be asked at the same time. `judge` gives the verdict and its time, from the answers and the whole memory. */
const askAll =
  (
    judge: (
      answers: ReadonlyArray<ReturnType<typeof timed> & { readonly after: number }>,
      start: number,
      memory: Expected['memory'],
    ) => { readonly at: number; readonly verdict: Verdict },
  ) =>
  (given: World, attempt: number, start: number, before: Expected['memory']): Expected => {
    const memory = [...before]
    const open = given.answers.flatMap((ofSink, at) =>
      stands(before[at], start) ? [] : [{ at, one: ofSink[attempt] as Answer }],
    )
    const asked = open.map(({ at }) => ({ sink: at, at: start, lastFailure: failureOf(before[at]) }))
    // What answers on the spot is before what answers after 0 ms.
    const answers = open.map(({ at, one }) => ({ ...timed(one, at, start), after: one.after ?? -1 }))
    open.forEach(({ at }, place) => (memory[at] = answers[place]?.verdict))
    const endedAt = Math.max(start, ...answers.map(({ end }) => end))
    return { verdicts: [judge(answers, start, memory)], endedAt, asked, memory }
  }

const firstSuccessOracle = askAll((answers, start, memory) => {
  const [winner] = answers
    .filter(({ verdict }) => verdict._tag === 'Right')
    .sort((one, other) => one.after - other.after)
  return winner === undefined
    ? { at: Math.max(start, ...answers.map(({ known }) => known)), verdict: causesOf(memory) }
    : { at: winner.known, verdict: winner.verdict }
})

const toAllOracle = askAll((answers, start, memory) => {
  const verdicts = memory.flatMap((verdict, at) =>
    verdict === undefined ? [] : [{ sink: nameOf(at), verdict }],
  )
  const verdict: Verdict = verdicts.every((each) => each.verdict._tag === 'Right')
    ? right({ sink: memory.map((_, at) => nameOf(at)).join(' & ') })
    : left(notAll(verdicts))
  return { at: Math.max(start, ...answers.map(({ known }) => known)), verdict }
})

const agrees =
  (make: MakeCombination, oracle: typeof failoverOracle) =>
  async (given: World): Promise<void> => {
    let memory: Expected['memory'] = given.answers.map(() => undefined)
    const { attempts, pending } = play(make, given)
    for (const [number, { start, until: _, ...seen }] of attempts.entries()) {
      const { memory: next, ...expected } = oracle(given, number, start, memory)
      same(JSON.parse(JSON.stringify(seen)), JSON.parse(JSON.stringify(expected)))
      memory = next
    }
    same(pending, 0)
  }

const law = (id: string, check: (given: World) => Promise<void>): Law => ({
  id,
  property: fc.asyncProperty(world, check),
})

const callsOf = (sinks: Trace['sinks'], given: World, at: number): ReadonlyArray<Answer['kind']> =>
  (sinks[at]?.calls ?? []).flatMap((_, call) => given.answers[at]?.[call]?.kind ?? [])

export const firstSuccessLaws = (make: MakeCombination): ReadonlyArray<Law> => [
  law(
    'F1 asks all at the same time; the verdict is the first success; none is aborted',
    agrees(make, firstSuccessOracle),
  ),
]

export const failoverLaws = (make: MakeCombination): ReadonlyArray<Law> => [
  law(
    'V1 asks in order, each when the one before it failed; the verdict is the first success',
    agrees(make, failoverOracle),
  ),
  law(
    'V2 never asks a sink again that refused for good, and none at or after the deadline',
    async (given) => {
      const { attempts } = play(make, given)
      const refusedBy = new Set<number>()
      for (const [number, { start, until, asked }] of attempts.entries()) {
        for (const { sink, at } of asked) {
          holds(!refusedBy.has(sink), `${nameOf(sink)} was asked after a final refusal`)
          holds(at < until || at === start, `${nameOf(sink)} was asked after the deadline`)
        }
        for (const { sink } of asked)
          if (given.answers[sink]?.[number]?.kind === 'refuse') refusedBy.add(sink)
      }
    },
  ),
]

export const toAllLaws = (make: MakeCombination): ReadonlyArray<Law> => [
  law(
    'W1 asks all at the same time; delivered when all took it, else the verdict of each',
    agrees(make, toAllOracle),
  ),
  law('W2 a sink that took it, or refused it for good, is not asked again', async (given) => {
    const { attempts } = play(make, given)
    const over = new Set<number>()
    for (const [number, { asked }] of attempts.entries()) {
      for (const { sink } of asked) {
        holds(!over.has(sink), `${nameOf(sink)} was asked again`)
        if (['take', 'refuse'].includes(given.answers[sink]?.[number]?.kind ?? '')) over.add(sink)
      }
    }
  }),
]

export const nestedLaws = (inner: MakeCombination, outer: MakeCombination): ReadonlyArray<Law> => [
  law(
    'X1 inside each other: no sink that took it, or whose sibling took it, is asked again',
    async (given) => {
      const make: MakeCombination = (sinks, clock) => {
        const middle = Math.ceil(sinks.length / 2)
        const parts = [sinks.slice(0, middle), sinks.slice(middle)].filter((part) => part.length > 0)
        return outer(
          parts.map((part) => inner(part, clock)),
          clock,
        )
      }
      const { attempts, sinks, pending } = play(make, given)
      const middle = Math.ceil(sinks.length / 2)
      const taken = new Set<number>()
      const refusedBy = new Set<number>()
      for (const [number, { asked, verdicts, endedAt }] of attempts.entries()) {
        same([verdicts.length, endedAt === undefined], [1, false])
        for (const { sink } of asked) {
          holds(!taken.has(sink < middle ? 0 : 1), `${nameOf(sink)} was asked after its group had taken it`)
          holds(!refusedBy.has(sink), `${nameOf(sink)} was asked after a final refusal`)
        }
        for (const { sink } of asked) {
          const kind = given.answers[sink]?.[number]?.kind
          if (kind === 'take') taken.add(sink < middle ? 0 : 1)
          if (kind === 'refuse') refusedBy.add(sink)
        }
        const verdict = verdicts[0]?.verdict
        const groups = new Set(sinks.map((_, at) => (at < middle ? 0 : 1)))
        same(verdict?._tag === 'Right', taken.size === groups.size)
      }
      same(pending, 0)
      holds(
        sinks.every((_, at) => callsOf(sinks, given, at).length <= ATTEMPTS),
        'a sink was asked more than once in an attempt',
      )
    },
  ),
]

const run = ({ property }: Law): Promise<void> => fc.assert(property)

describe('firstSuccess', () =>
  it.each(firstSuccessLaws((sinks, clock) => firstSuccess(sinks, { clock })))('$id', run))
describe('failover', () => it.each(failoverLaws((sinks, clock) => failover(sinks, { clock })))('$id', run))
describe('toAll', () => it.each(toAllLaws((sinks, clock) => toAll(sinks, { clock })))('$id', run))
describe('nested', () => {
  it.each(
    nestedLaws(
      (sinks, clock) => failover(sinks, { clock }),
      (sinks, clock) => toAll(sinks, { clock }),
    ),
  )('failover in toAll: $id', run)
  it.each(
    nestedLaws(
      (sinks, clock) => firstSuccess(sinks, { clock }),
      (sinks, clock) => toAll(sinks, { clock }),
    ),
  )('firstSuccess in toAll: $id', run)
})
