import { toUnion } from 'fp-ts/lib/Either.js'
import { concat, concatMap, filter, map, mergeMap, NEVER, pipe, Subscription, take } from 'rxjs'
import { takeUntil, tap, throwError, timer, type Observable, type OperatorFunction } from 'rxjs'
import { describe, expect, expectTypeOf, it, onTestFinished, vi } from 'vitest'
import { batch, deliver, encode, filterRight, lift, toScheduler } from '../../src/index.ts'
import { memory } from '../../src/sink/memory.ts'
import { memoryOutbox } from '../../src/outbox/index.ts'
import { pull } from '../../src/sources/pull.ts'
import type { LogEvent } from '../../src/log/index.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { all, throwing, turns } from '../support/check.ts'

const asIs = map((n: number) => n)

it.each<[string, () => AsyncIterable<number> | Iterable<number>]>([
  ['an iterable', () => Array(5_000).keys()],
  [
    'an async generator',
    async function* () {
      yield* Array(5_000).keys()
    },
  ],
])('takes 5,000 items from %s that never waits, and lets I/O run in between', async (_, numbers) => {
  let rounds = 0
  let isOver = false
  const countRounds = (): void => {
    rounds++
    if (!isOver) setImmediate(countRounds)
  }
  setImmediate(countRounds)
  expect((await all(pull(numbers(), asIs))).at(-1)).toBe(4_999)
  isOver = true
  expect(rounds).toBeGreaterThan(10)
})

it('keeps nothing of the turns that it let pass', async () => {
  const added = vi.spyOn(Subscription.prototype, 'add')
  onTestFinished(() => added.mockRestore())
  await all(pull(Array(5_000).keys(), asIs))
  expect(added.mock.calls.length).toBeLessThan(15)
})

it('fails with the pipeline, with an error in a callback, and with a source that cannot start', async () => {
  const oops = new Error('oops')
  const throws = throwing(oops)
  await expect(all(pull([1], () => throwError(() => oops)))).rejects.toBe(oops)
  await expect(all(pull([1], map(throws)))).rejects.toBe(oops)
  await expect(all(pull([1], throws))).rejects.toBe(oops)
  await expect(all(pull([1], asIs, { creditOf: throws }))).rejects.toBe(oops)
  for (const credit of [NaN, Infinity, -1, undefined as never])
    await expect(all(pull([1], asIs, { creditOf: () => credit }))).rejects.toThrow('a number from 0')
  for (const source of [Promise.resolve(), function* () {}, null])
    expect(() => pull(source as never, asIs)).toThrow(/must be iterable, got (a \w+|null|an object): await/)
  expect(() => pull([], undefined as never)).toThrow('pipeline of pull: is missing: it must be a function')
  await expect(all(pull({ [Symbol.iterator]: throws }, asIs))).rejects.toBe(oops)
  const next = () => Promise.resolve(undefined)
  const odd = { [Symbol.asyncIterator]: () => ({ next }) } as unknown as AsyncIterable<number>
  await expect(all(pull(odd, asIs))).rejects.toThrow(TypeError)
})

it('reports an error of return, and an item or an error that came after the unsubscribe', async () => {
  const told: LogEvent[] = []
  let answer: (step: IteratorResult<string> | Promise<never>) => void = () => undefined
  const source: AsyncIterable<string> = {
    [Symbol.asyncIterator]: () => ({
      next: () => new Promise((resolve) => (answer = resolve)),
      return: () => Promise.reject(new Error('oops')),
    }),
  }
  const options = { clock: virtualClock({ start: 5 }), onEvent: (event: LogEvent) => told.push(event) }
  const identity = map((item: string) => item)
  for (const step of [() => ({ done: false, value: 'late' }) as const, () => Promise.reject(new Error())]) {
    pull(source, identity, options).subscribe().unsubscribe()
    answer(step())
    await turns()
  }
  const untilNext = (items$: Observable<string>) => concat(items$.pipe(takeUntil(timer(0))), NEVER)
  const stopped = pull(source, untilNext, options).subscribe()
  await all(timer(5))
  answer({ done: false, value: 'pending' })
  await turns()
  stopped.unsubscribe()
  await turns()
  const returned = { _tag: 'Defect', at: 5, from: 'pull', where: 'pull: return of the source' }
  expect(told).toMatchObject([
    returned,
    { _tag: 'Ended', at: 5, from: 'pull', outcome: { _tag: 'Abandoned', item: 'late' } },
    returned,
    { _tag: 'Defect', at: 5, where: 'pull: the source' },
    { _tag: 'Ended', at: 5, outcome: { _tag: 'Abandoned', item: 'pending' } },
    returned,
  ])
})

it('reads only while the pipeline listens, also again', async () => {
  // Lets go of the source, and listens again a moment later.
  const pausing = (items$: Observable<number>) =>
    concat(items$.pipe(take(2)), timer(5).pipe(filter(() => false)), items$)
  expect(await all(pull(Array(5).keys(), pausing, { window: 9 }))).toEqual([0, 1, 2, 3, 4])
})

it('iterates again for each subscription', async () => {
  const pulled = pull('12', tap<string>())
  for (let n = 0; n < 2; n++) expect(await all(pulled)).toEqual(['1', '2'])
})

const numbers = Array.from({ length: 3_000 }, (_, n) => n)
const body = (n: number): object => ({ n })
const batched = pipe(lift<number>(), batch({ sizeOf: (_: number) => 1, maxCount: 7 }))
const none = filterRight(() => false)
const small = memoryOutbox({ maxBytes: 1 })
it.each<readonly [string, OperatorFunction<number, unknown>]>([
  ['the members of a batch', pipe(lift<number>(), encode(body), batch({ maxCount: 7 }), deliver(memory()))],
  ['the items of a batch of any', pipe(batched, deliver(memory()))],
  ['batches without an outcome', batched],
  ['batches that were skipped', pipe(batched, none, deliver(memory()))],
  ['batches that were skipped, as lefts', pipe(batched, none)],
  ['nothing', map(() => null)],
  ['bare batches of batches', pipe(batched, batch({ sizeOf: () => 1, maxCount: 2 }), map(toUnion))],
  ['batches that were refused', pipe(batched, deliver(memory(), { outbox: small }))],
])('counts by default: %s', async (_, pipeline) => {
  let last = -1
  const counted = function* (): Iterable<number> {
    for (const n of numbers) yield (last = n)
  }
  // Without the credits it would stop at 20.
  await all(pull(counted(), pipeline, { window: 20, clock: virtualClock() }))
  expect(last).toBe(2_999)
})

describe('a standstill', () => {
  const stalled = (pipeline: OperatorFunction<number, unknown>, clock = virtualClock()) => {
    const told: string[] = []
    const onEvent = (event: LogEvent): void => {
      if (event._tag === 'Defect') told.push(`${clock.monotonic()} ${event.where}: ${String(event.error)}`)
    }
    const subscription = pull([1, 2, 3, 4, 5, 6], pipeline, { window: 2, clock, onEvent }).subscribe()
    return { clock, told, subscription }
  }
  it('is told once, 10 s after the last movement, and says what to do', async () => {
    const { clock, told, subscription } = stalled(filter((n: number) => n === 1))
    // Another one, which is stopped while its timer runs, leaves none.
    const other = stalled((items$) => items$.pipe(filter(() => false)), clock)
    await clock.advance(1)
    other.subscription.unsubscribe()
    await clock.advance(9_998)
    expect([told, clock.pending()]).toEqual([[], 1])
    await clock.advance(1)
    const words = /^10000 pull: Error: nothing came out for 10 s, .* 2 items .* filterRight, or give creditOf/
    expect(told).toEqual([expect.stringMatching(words)])
    await clock.advance(100_000)
    expect(told).toHaveLength(1)
    subscription.unsubscribe()
    expect(clock.pending()).toBe(0)
  })

  it('says once that more comes out than goes in', async () => {
    const { clock, told } = stalled(mergeMap((n: number) => [n, n]))
    await clock.advance(1)
    const words = /^0 pull: Error: more came out than went in: .* \(use acknowledged, or give creditOf\)/
    expect(told).toEqual([expect.stringMatching(words)])
    // Nine times 1/9 is more than 1.
    const shares: unknown[] = []
    const options = { creditOf: () => 1 / 9, onEvent: (event: LogEvent) => shares.push(event) }
    const nineTimes = mergeMap((n: number) => Array<number>(9).fill(n))
    await all(pull([1, 2], nineTimes, options))
    expect(shares).toEqual([])
  })

  it('is no pipeline that is only slow', async () => {
    const clock = virtualClock()
    const slow = concatMap((n: number) => timer(9_000, toScheduler(clock)).pipe(map(() => n)))
    const { told } = stalled(slow, clock)
    await clock.advance(40_000)
    // One of the pipeline and one of the watchdog.
    expect(clock.pending()).toBe(2)
    await clock.advance(20_000)
    expect([told, clock.pending()]).toEqual([[], 0])
  })
})

it('is typed from the source to the output', () => {
  const lengths = pull(
    ['a'],
    map((text) => text.length),
  )
  expectTypeOf(lengths).toEqualTypeOf<Observable<number>>()
  const ofTexts = map((text: string) => text)
  // @ts-expect-error a pipeline for other items
  pull([1], ofTexts)
})
