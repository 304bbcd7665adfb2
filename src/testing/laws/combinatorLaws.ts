import * as fc from 'fast-check'
import { isRight, left, right } from '../../core/either.ts'
import { allFailed, earliestRetry, isFinal, notAll, retryable } from '../../core/failure.ts'
import type { Failure, Verdict } from '../../core/failure.ts'
import type { Attempt, Sink } from '../../sink/sink.ts'
import { scriptedSink, type Reply } from '../scriptedSink.ts'
import { virtualClock } from '../virtualClock.ts'
import { holds, same, lawsOver, type Drawn, type Law, type Run } from './law.ts'
import { anyReply } from './sinkWorld.ts'

/** Makes one sink of several, anew for each input. @inline */
export type MakeCombination = (sinks: ReadonlyArray<Sink<string>>) => Sink<string>

const MOST_SINKS = 5
/** From one attempt to the next: longer than one takes. */
const PERIOD = 1_000

const replies = fc.array(anyReply, { minLength: MOST_SINKS, maxLength: MOST_SINKS })

/** Attempts of one item, until one is final: how each sink answers. */
export const combinationInput = fc.record({
  sinks: fc.integer({ min: 1, max: MOST_SINKS }),
  attempts: fc.array(replies, { minLength: 1, maxLength: 4, size: 'max' }),
  /** Milliseconds from the start of each attempt to its deadline. */
  time: fc.oneof(fc.constant(1_000_000), fc.integer({ min: 1, max: 150 })),
})

interface LawRules {
  /** Each sink is asked when the one before it has failed. */
  readonly isInTurn: boolean
  /** All sinks must take the item; else one. */
  readonly wantsAll: boolean
}

const DEFECT: Verdict = left(retryable('defect'))
const LATE: Verdict = left(retryable('late'))

const joined = (memory: ReadonlyArray<Verdict>, wantsAll: boolean, name: string): Verdict => {
  const all = memory.map((verdict, at) => ({ sink: String(at), verdict }))
  if (wantsAll && memory.every(isRight)) return right({ sink: name })
  if (wantsAll) return left(notAll(all))
  const causes = all.flatMap(({ sink, verdict: one }) => (isRight(one) ? [] : { sink, failure: one.left }))
  return left(allFailed(causes))
}

/** One attempt as it must go, in plain code. `memory` has the last verdict of each sink. */
const expected = (
  { isInTurn, wantsAll }: LawRules,
  replies: ReadonlyArray<Reply>,
  memory: Verdict[],
  name: string,
  attempt: Attempt,
  start: number,
) => {
  const asked: Array<{ sink: number; startedAt: number; attempt: Attempt }> = []
  const known: Array<{ readonly at: number; readonly verdict: Verdict }> = []
  let now = start
  let endedAt = start
  for (const [sink, { verdict, after = 0, rest = 0 }] of replies.entries()) {
    const before = memory[sink]
    const lastFailure = before?._tag === 'Left' ? before.left : undefined
    // Until when its last verdict stands.
    const from = before === undefined ? 0 : lastFailure && earliestRetry(lastFailure)
    const isWon = isInTurn && known.at(-1)?.verdict._tag === 'Right'
    if (isWon || from === undefined || from > start) continue
    const isLate = isInTurn && known.length > 0 && now >= attempt.until
    memory[sink] = isLate ? LATE : (verdict ?? DEFECT)
    if (isLate) continue
    asked.push({ sink, startedAt: now, attempt: { ...attempt, lastFailure } })
    const at = now + after + (verdict === undefined ? rest : 0)
    known.push({ at, verdict: verdict ?? DEFECT })
    endedAt = Math.max(endedAt, now + after + rest)
    if (isInTurn) now = at
  }
  const [winner] = known
    .filter(({ verdict }) => !wantsAll && verdict._tag === 'Right')
    .sort((one, other) => one.at - other.at)
  const last = Math.max(start, ...known.map(({ at }) => at))
  return { asked, verdicts: [winner ?? { at: last, verdict: joined(memory, wantsAll, name) }], endedAt }
}

const LEFT_OUT = ['detail', 'clock']

/** As JSON stores it. Left out: a failure's words, and the clock. */
const stored = <A>(value: A): A =>
  // JSON of plain data is of its type again.
  JSON.parse(JSON.stringify(value, (key, each: unknown) => (LEFT_OUT.includes(key) ? undefined : each))) as A

export const playCombination = async (
  make: MakeCombination,
  rules: LawRules,
  input: Drawn<typeof combinationInput>,
  { log }: Pick<Run, 'log'>,
) => {
  const clock = virtualClock({ start: 0 })
  let replies: ReadonlyArray<Reply> = []
  const sinks = Array.from({ length: input.sinks }, (_, at) =>
    scriptedSink<string>({ name: String(at), clock, reply: () => replies[at] ?? {} }),
  )
  const sink = make(sinks)
  const attempts = []
  // What it knows of an item is in the failure of that item.
  for (const item of ['an item', 'another item']) {
    const memory: Verdict[] = []
    let lastFailure: Failure | undefined
    for (const [at, each] of input.attempts.entries()) {
      replies = each.slice(0, input.sinks)
      const start = clock.now()
      const attempt = { number: at + 1, until: start + input.time, lastFailure, clock }
      const verdicts: Array<{ readonly at: number; readonly verdict: Verdict }> = []
      let endedAt: number | undefined
      sink.deliver(item, attempt).subscribe({
        next: (verdict) => verdicts.push({ at: clock.now(), verdict }),
        complete: () => (endedAt = clock.now()),
        error: (error: unknown) => log(`it failed: ${String(error)}`),
      })
      await clock.advance(PERIOD)
      const asked = sinks.flatMap(({ calls }, sink) =>
        calls.flatMap(({ startedAt, attempt }) => (startedAt >= start ? { sink, startedAt, attempt } : [])),
      )
      const seen = stored({ asked, verdicts, endedAt })
      log(`attempt ${String(at + 1)} of ${item}: ${JSON.stringify(seen)}`)
      attempts.push({ seen, must: stored(expected(rules, replies, memory, sink.name, attempt, start)) })
      const verdict = seen.verdicts[0]?.verdict
      if (verdict?._tag !== 'Left' || isFinal(verdict)) break
      lastFailure = verdict.left
    }
  }
  replies = sinks.map(() => ({ after: PERIOD }))
  const last = { number: 1, until: Infinity, lastFailure: undefined, clock }
  sink.deliver('a cancelled item', last).subscribe().unsubscribe()
  const running = sinks.map((each) => each.running())
  const timers = clock.timers()
  await clock.run(sink.close({ timeout: 50, clock }))
  return { attempts, running, timers, closed: sinks.map(({ closed }) => closed) }
}

const lawsOf =
  (room: string, rules: LawRules, asks: string, verdict: string) =>
  (make: MakeCombination): ReadonlyArray<Law> => {
    type Trace = Awaited<ReturnType<typeof playCombination>>
    const agree = (key: 'asked' | 'verdicts' | 'endedAt', statement: string) => ({
      statement,
      check: ({ attempts }: Trace) => attempts.forEach(({ seen, must }) => same(seen[key], must[key])),
    })
    return lawsOver(room, combinationInput, (input, run) => playCombination(make, rules, input, run), {
      asks: agree('asked', asks),
      verdict: agree('verdicts', verdict),
      completes: agree('endedAt', 'It completes when the last of its sinks does, and aborts none.'),
      cancels: {
        statement: 'A cancel reaches each sink that was asked.',
        check: ({ running }: Trace) => holds(Math.max(...running) === 0, 'a sink goes on'),
      },
      closes: {
        statement: 'close closes each sink once, with its time, and leaves no timer.',
        check: ({ closed, timers }: Trace) => same([closed, timers], [closed.map(() => [50]), []]),
      },
    })
  }

const FIRST_WINS =
  'The verdict is the first success, at its time; if all fail, AllFailed with the last failure of each.'

/**
 * The laws of a combination of your own that asks its sinks at the same time, as `firstSuccess` does: the
 * first success wins. They play up to four attempts of two items; the memory of an item is in its failure.
 *
 * @example
 * ```ts no-run
 * import { test } from 'vitest'
 * import { firstSuccess } from 'headrace'
 * import { firstSuccessLaws, registerLaws } from 'headrace/testing/laws'
 *
 * registerLaws({ test }, firstSuccessLaws((sinks) => firstSuccess(sinks)))
 * ```
 */
export const firstSuccessLaws = lawsOf(
  'first-success',
  { isInTurn: false, wantsAll: false },
  'It asks all sinks at once, with their own failures, but those that refused or asked to wait.',
  FIRST_WINS,
)

/** The laws of a combination of your own that asks its sinks one after another, as `failover` does. */
export const failoverLaws = lawsOf(
  'failover',
  { isInTurn: true, wantsAll: false },
  'It asks a sink after the one before it failed, in time, but those that refused or asked to wait.',
  FIRST_WINS,
)

/** The laws of a combination of your own whose sinks must all take the item, as with `toAll`. */
export const toAllLaws = lawsOf(
  'to-all',
  { isInTurn: false, wantsAll: true },
  'It asks all sinks at the same time, but those that took the item, refused it for good or asked to wait.',
  'Delivered if all took the item; else NotAll with the last verdict of each, when the last is known.',
)
