import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../core/clock.ts'
import { allFailed, isFinal, notAll, refused, retryable } from '../../core/failure.ts'
import type { Failure, Verdict } from '../../core/failure.ts'
import type { Sink } from '../../sink/sink.ts'
import { scriptedSink, type Reply } from '../scriptedSink.ts'
import { virtualClock } from '../virtualClock.ts'
import { same } from './assert.ts'
import { lawsOver, type Law, type Run } from './law.ts'

/** Makes one sink of several, anew for each input. */
export type MakeCombination = (sinks: ReadonlyArray<Sink<string>>, clock: Clock) => Sink<string>

/** How one sink answers one attempt. Times are milliseconds; null: at once. @inline */
export interface CombinedAnswer {
  readonly kind: 'take' | 'refuse' | 'retry' | 'wait' | 'defect'
  readonly after: number | null
  /** From the verdict to the end. */
  readonly rest: number
  /** What `wait` asks for. */
  readonly wait: number
}

/** Several attempts of one item. */
export interface CombinationInput {
  /** By sink, then by attempt. */
  readonly answers: ReadonlyArray<ReadonlyArray<CombinedAnswer>>
  /** Between the end of an attempt and the next. */
  readonly pauses: ReadonlyArray<number>
  /** From the start of each attempt to its deadline. */
  readonly time: number
}

const START = 1_000_000
export const ATTEMPTS = 4
const LONGEST = 1_000
const exactly = { minLength: ATTEMPTS, maxLength: ATTEMPTS, size: 'max' } as const
const short = fc.oneof(fc.constant(0), fc.nat(5), fc.nat(60))

const answer: fc.Arbitrary<CombinedAnswer> = fc.record({
  kind: fc.constantFrom('take', 'refuse', 'retry', 'retry', 'wait', 'defect'),
  after: fc.option(short),
  rest: short,
  wait: fc.nat(120),
})

export const combinationInput: fc.Arbitrary<CombinationInput> = fc.record({
  answers: fc.array(fc.array(answer, exactly), { minLength: 1, maxLength: 5, size: 'max' }),
  pauses: fc.array(fc.nat(80), exactly),
  time: fc.oneof(fc.constant(1_000_000), fc.integer({ min: 1, max: 150 })),
})

const nameOf = (at: number): string => `sink ${String(at)}`

const verdictAt = ({ kind, wait }: CombinedAnswer, at: number, now: number): Verdict => {
  if (kind === 'take') return right({ sink: nameOf(at), status: 200 })
  if (kind === 'refuse') return left(refused('status', { status: 400 + at }))
  if (kind === 'defect') return left(retryable('defect'))
  const status = kind === 'wait' ? 429 : 500 + at
  return left(retryable('status', kind === 'wait' ? { status, notBefore: now + wait } : { status }))
}

/** What happened in one attempt, or must happen. */
export interface Attempted {
  /** The sinks that were asked, when, and in which attempt: each gets its own last failure. */
  readonly asked: ReadonlyArray<{
    readonly sink: number
    readonly at: number
    readonly number: number
    readonly until: number
    readonly lastFailure: Failure | null
  }>
  readonly verdicts: ReadonlyArray<{ readonly at: number; readonly verdict: Verdict }>
  readonly endedAt: number | null
}

/** As JSON keeps it in a store. What a failure says in words is left out: each combination has its own. */
const stored = <A>(value: A): A =>
  // JSON of plain data is of its type again.
  JSON.parse(JSON.stringify(value, (key, each: unknown) => (key === 'detail' ? undefined : each))) as A

/** Plays the attempts, until one is final. */
export const playCombination = async (
  make: MakeCombination,
  input: CombinationInput,
  { log }: Pick<Run, 'log'>,
) => {
  const clock = virtualClock({ start: START })
  let attempt = 0
  const sinks = input.answers.map((answers, at) =>
    scriptedSink<string>({
      name: nameOf(at),
      clock,
      reply: (): Reply => {
        const one = answers[attempt]
        if (one === undefined) return {}
        const { kind, after, rest } = one
        const verdict = verdictAt(one, at, clock.now() + (after ?? 0))
        return {
          ...(after === null ? {} : { after }),
          ...(kind === 'defect' ? { defect: new Error('planted') } : { verdict }),
          rest,
        }
      },
    }),
  )
  const sink = make(sinks, clock)
  const attempts: Attempted[] = []
  let lastFailure: Failure | undefined
  for (; attempt < ATTEMPTS; attempt++) {
    const until = clock.now() + input.time
    const before = sinks.map(({ calls }) => calls.length)
    const verdicts: Array<{ at: number; verdict: Verdict }> = []
    let endedAt: number | null = null
    sink.deliver('item', { number: attempt + 1, until, lastFailure }).subscribe({
      next: (verdict) => verdicts.push({ at: clock.now(), verdict }),
      complete: () => {
        endedAt = clock.now()
      },
      error: (error: unknown) => log(`it failed: ${String(error)}`),
    })
    await clock.advance(LONGEST)
    const asked = sinks.flatMap(({ calls }, at) =>
      calls.slice(before[at]).map((call) => ({
        sink: at,
        at: START + call.startedAt,
        number: call.attempt.number,
        until: call.attempt.until,
        lastFailure: call.attempt.lastFailure ?? null,
      })),
    )
    const one = stored({ asked, verdicts, endedAt })
    log(`attempt ${String(attempt + 1)}: ${JSON.stringify(one)}`)
    attempts.push(one)
    const verdict = verdicts[0]?.verdict
    if (verdict === undefined || isFinal(verdict)) break
    lastFailure = verdict._tag === 'Left' ? stored(verdict.left) : undefined
    clock.tick(input.pauses[attempt] ?? 0)
  }
  const left = clock.timers()
  await clock.run(sink.close(50))
  return { attempts, name: sink.name, sinks, left }
}

/** What tells the combinations apart. @inline */
interface Rules {
  /** Each sink is asked when the one before it has failed. */
  readonly isInTurn: boolean
  /** All sinks must take the item; else one. */
  readonly wantsAll: boolean
}

/** Whether a sink that answered so is not asked at `now`. */
const stands = (before: Verdict | undefined, now: number): boolean => {
  if (before === undefined) return false
  if (before._tag === 'Right' || before.left._tag === 'Refused') return true
  return before.left._tag === 'Retryable' && (before.left.notBefore ?? 0) > now
}

/** All attempts as they must go, in plain code. */
const expected = (
  { isInTurn, wantsAll }: Rules,
  input: CombinationInput,
  name: string,
): ReadonlyArray<Attempted> => {
  const memory: Array<Verdict | undefined> = input.answers.map(() => undefined)
  const attempts: Attempted[] = []
  let start = START
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const until = start + input.time
    const asked: Array<Attempted['asked'][number]> = []
    /** `order` has what is told at once before what is told after 0 ms. */
    const known: Array<{ readonly at: number; readonly order: number; readonly verdict: Verdict }> = []
    let endedAt = start
    let now = start
    for (const [sink, answers] of input.answers.entries()) {
      const before = memory[sink]
      const one = answers[attempt]
      const isWon = isInTurn && known.some(({ verdict }) => verdict._tag === 'Right')
      if (one === undefined || isWon || stands(before, start)) continue
      if (isInTurn && asked.length > 0 && now >= until) {
        memory[sink] = left(retryable('late'))
        continue
      }
      const lastFailure = before?._tag === 'Left' ? before.left : null
      asked.push({ sink, at: now, number: attempt + 1, until, lastFailure })
      const answeredAt = now + (one.after ?? 0)
      const verdict = verdictAt(one, sink, answeredAt)
      const end = answeredAt + one.rest
      const at = one.kind === 'defect' ? end : answeredAt
      known.push({ at, order: one.after ?? -1, verdict })
      memory[sink] = verdict
      endedAt = Math.max(endedAt, end)
      if (isInTurn) now = at
    }
    const [winner] = known
      .filter(({ verdict }) => !wantsAll && verdict._tag === 'Right')
      .sort((one, other) => one.order - other.order)
    const verdict = winner?.verdict ?? together(memory, wantsAll, name)
    const at = winner?.at ?? Math.max(start, ...known.map((each) => each.at))
    attempts.push(stored({ asked, verdicts: [{ at, verdict }], endedAt }))
    if (isFinal(verdict)) break
    start += LONGEST + (input.pauses[attempt] ?? 0)
  }
  return attempts
}

/** The verdict of all sinks, from the last verdict of each. */
const together = (memory: ReadonlyArray<Verdict | undefined>, wantsAll: boolean, name: string): Verdict => {
  const all = memory.flatMap((verdict, at) => (verdict === undefined ? [] : [{ sink: nameOf(at), verdict }]))
  if (!wantsAll)
    return left(
      allFailed(
        all.flatMap(({ sink, verdict }) =>
          verdict._tag === 'Left' ? [{ sink, failure: verdict.left }] : [],
        ),
      ),
    )
  return all.every(({ verdict }) => verdict._tag === 'Right') ? right({ sink: name }) : left(notAll(all))
}

const lawsOf =
  (room: string, rules: Rules, asks: string, verdict: string) =>
  (make: MakeCombination): ReadonlyArray<Law> => {
    const agree = (key: keyof Attempted, statement: string) => ({
      statement,
      check: (
        { attempts, name }: Awaited<ReturnType<typeof playCombination>>,
        input: CombinationInput,
      ): void =>
        same(
          attempts.map((each) => each[key]),
          expected(rules, input, name).map((each) => each[key]),
        ),
    })
    return lawsOver(room, combinationInput, (input, run) => playCombination(make, input, run), {
      asks: agree('asked', asks),
      verdict: agree('verdicts', verdict),
      completes: agree('endedAt', 'It completes when the last of its sinks does, and aborts none.'),
      closes: {
        statement: 'close closes each sink once, with its time, and leaves no timer.',
        check: ({ sinks, left: timers }) =>
          same([sinks.map(({ closed }) => closed), timers], [sinks.map(() => [50]), []]),
      },
    })
  }

/**
 * The laws of a combination of your own that asks its sinks at the same time, as `firstSuccess` does: the first success wins. They play up
 * to four attempts of an item; what the combination has to remember between them is in its failure.
 *
 * @example
 * ```ts no-run
 * import { test } from 'vitest'
 * import { firstSuccess } from 'headrace'
 * import { firstSuccessLaws, registerLaws } from 'headrace/testing/laws'
 *
 * registerLaws({ test }, firstSuccessLaws((sinks, clock) => firstSuccess(sinks, { clock })))
 * ```
 */
export const firstSuccessLaws = lawsOf(
  'first-success',
  { isInTurn: false, wantsAll: false },
  'It asks all sinks at the same time, each with its own last failure, but those that refused for good or asked to wait.',
  'The verdict is the first success, at its time; if all fail, AllFailed with the last failure of each.',
)

/** The laws of a combination of your own that asks its sinks one after another, as `failover` does. */
export const failoverLaws = lawsOf(
  'failover',
  { isInTurn: true, wantsAll: false },
  'It asks each sink when the one before it has failed, and none after the deadline; not those that refused for good or asked to wait.',
  'The verdict is the first success, at its time; if all fail, AllFailed with the last failure of each.',
)

/** The laws of a combination of your own whose sinks must all take the item, as with `toAll`. */
export const toAllLaws = lawsOf(
  'to-all',
  { isInTurn: false, wantsAll: true },
  'It asks all sinks at the same time, but those that took the item, refused it for good or asked to wait.',
  'Delivered if all took the item; else NotAll with the last verdict of each, when the last is known.',
)
