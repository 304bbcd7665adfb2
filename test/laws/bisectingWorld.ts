/** A receiver that does not like some messages, or too many of them, and what becomes of a batch in several attempts. */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../src/core/clock.ts'
import { frameBytes } from '../../src/event/payload.ts'
import type { BatchPayload, EventPayload, Signer } from '../../src/event/payload.ts'
import {
  allFailed,
  type Failure,
  isRetryable,
  refused,
  retryable,
  partlyFailed,
} from '../../src/core/failure.ts'
import type { Verdict } from '../../src/core/failure.ts'
import { runOf } from '../../src/sink/layer.ts'
import type { Attempt, Sink } from '../../src/sink/sink.ts'
import { type Call, type Reply, scriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

export type Batch = BatchPayload<number>
export type MakeBisecting = (only: ReadonlyArray<number>, clock: Clock) => (sink: Sink<Batch>) => Sink<Batch>

const upsets = ['none', '503', '429', '401', 'late', 'defect', 'defect after the verdict'] as const
type Upset = (typeof upsets)[number]

export interface World {
  readonly count: number
  /** Refused with a 400, with all their company. */
  readonly bad: ReadonlyArray<number>
  /** Refused one by one, in the body of a 200. */
  readonly unwanted: ReadonlyArray<number>
  /** Put off one by one, in the body of a 200, until the third attempt. */
  readonly putOff: ReadonlyArray<number>
  /** More than so many are refused with a 413. */
  readonly most: number
  readonly only: ReadonlyArray<number>
  /** What goes wrong, request by request over all attempts. */
  readonly upsets: ReadonlyArray<Upset>
  /** Milliseconds to the verdict; null for on the spot. */
  readonly after: number | null
  readonly rest: number | null
  /** How long an attempt has; null for ever. */
  readonly within: number | null
  /** When the first attempt is cancelled; null for never. */
  readonly cancelAt: number | null
  readonly firstPrior: Failure | undefined
  /** Whether failures are stored as JSON between attempts. */
  readonly stored: boolean
}

const some = (count: number, most: number): fc.Arbitrary<ReadonlyArray<number>> =>
  fc.uniqueArray(fc.nat(count - 1), { maxLength: Math.min(most, count), size: 'max' })

const few = (count: number): fc.Arbitrary<ReadonlyArray<number>> =>
  fc.oneof({ weight: 2, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: some(count, 3) })

export const bisectingWorld: fc.Arbitrary<World> = fc.integer({ min: 1, max: 24 }).chain((count) =>
  fc.record({
    count: fc.constant(count),
    bad: fc.oneof({ weight: 3, arbitrary: some(count, 3) }, { weight: 1, arbitrary: some(count, count) }),
    unwanted: few(count),
    putOff: few(count),
    most: fc.oneof({ weight: 2, arbitrary: fc.constant(Infinity) }, fc.integer({ min: 1, max: count })),
    only: fc.constantFrom([400, 413], [400, 413], [400, 413], [413], []),
    upsets: fc.array(
      fc.oneof({ weight: 12, arbitrary: fc.constant<Upset>('none') }, fc.constantFrom(...upsets)),
      { maxLength: 20, size: 'max' },
    ),
    after: fc.option(fc.nat(5), { nil: null }),
    rest: fc.option(fc.nat(5), { nil: null }),
    within: fc.option(fc.nat(60), { nil: null, freq: 2 }),
    cancelAt: fc.option(fc.nat(60), { nil: null, freq: 2 }),
    firstPrior: fc.constantFrom<Failure | undefined>(
      undefined,
      retryable('network'),
      allFailed([{ sink: 'a', failure: retryable('network') }]),
      partlyFailed(Array.from({ length: count + 1 }, () => right({ sink: 'inner' }))),
    ),
    stored: fc.boolean(),
  }),
)

export const TAKEN: Verdict = right({ sink: 'inner', status: 200 })
const NO: Verdict = left(refused('rejected', { status: 200 }))
const LATER: Verdict = left(retryable('busy', { notBefore: 5 }))

/** What the receiver says to these members; for a defect without a verdict, nothing. */
export const judge = (
  world: World,
  members: ReadonlyArray<number>,
  request: number,
  attempt: number,
): Verdict | undefined => {
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

const FRAME = { prefix: '{"batch":[', suffix: ']}' }
const signer: Signer = () => 'signed'

export const batchOf = (count: number): Batch => {
  const members = Array.from({ length: count }, (_, at): EventPayload<number> => {
    const text = JSON.stringify({ at, text: 'é'.repeat(at % 5) })
    return { id: `m${at}`, items: [at], text, byteLength: Buffer.byteLength(text) }
  })
  const sum = members.reduce((bytes, member) => bytes + member.byteLength + 1, -1)
  const items = members.map(({ items: [item] }) => item)
  return {
    id: 'b',
    items,
    members,
    byteLength: frameBytes(FRAME) + sum,
    frame: FRAME,
    closedBy: 'count',
    signer,
  }
}

export interface Heard {
  readonly at: number
  readonly what: 'next' | 'complete' | 'error'
  readonly verdict?: Verdict
}

/** One attempt as it went. Times are readings of the clock. */
export interface Played {
  readonly attempt: Attempt
  readonly startedAt: number
  readonly heard: ReadonlyArray<Heard>
  readonly afterCancel: number
  readonly calls: ReadonlyArray<Call<Batch>>
  readonly runningAfterCancel: number
  readonly cancelled: boolean
}

export interface Trace {
  readonly world: World
  readonly batch: Batch
  readonly attempts: ReadonlyArray<Played>
}

const MOST_ATTEMPTS = 4
/** Longer than any attempt takes. */
const LONG = 1_000

export const play = (make: MakeBisecting, world: World): Trace => {
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
  const run = runOf(make(world.only, clock)(inner))
  const attempts: Played[] = []
  let lastFailure = world.firstPrior
  for (let number = 1; number <= MOST_ATTEMPTS; number++) {
    const startedAt = clock.monotonic()
    const attempt = { number, until: startedAt + (world.within ?? Infinity), lastFailure }
    const begun = inner.calls.length
    const heard: Heard[] = []
    let cancelled = false
    let afterCancel = 0
    const hear = (what: Heard['what'], verdict?: Verdict): void => {
      if (cancelled) afterCancel++
      heard.push({ at: clock.monotonic(), what, ...(verdict === undefined ? {} : { verdict }) })
    }
    const cancel = run(batch, attempt, {
      next: (verdict) => hear('next', verdict),
      complete: () => hear('complete'),
      error: () => hear('error'),
    })
    let runningAfterCancel = 0
    if (number === 1 && world.cancelAt !== null) {
      clock.tick(world.cancelAt)
      cancelled = heard.at(-1)?.what !== 'complete' && heard.at(-1)?.what !== 'error'
      cancel()
      runningAfterCancel = inner.running()
    }
    clock.tick(LONG)
    const calls = inner.calls.slice(begun)
    attempts.push({ attempt, startedAt, heard, afterCancel, calls, runningAfterCancel, cancelled })
    const verdict = heard.find(({ what }) => what === 'next')?.verdict
    if (cancelled || verdict?._tag === 'Right') break
    const failure = verdict?._tag === 'Left' ? verdict.left : retryable('defect', { detail: 'planted' })
    // Nobody tries again what was refused for good; a memory that leaves nothing open is played all the same.
    if (!isRetryable(failure) && failure._tag !== 'PartlyFailed') break
    // What JSON.parse gives back of a failure is a failure: it is plain data.
    lastFailure = world.stored ? (JSON.parse(JSON.stringify(failure)) as Failure) : failure
  }
  return { world, batch, attempts }
}
