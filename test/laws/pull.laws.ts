import * as fc from 'fast-check'
import { bufferCount, map, mergeMap, Observable, of, timer, type OperatorFunction } from 'rxjs'
import { it } from 'vitest'
import { toScheduler } from '../../src/index.ts'
import { pull, type PullOptions } from '../../src/sources/pull.ts'
import { virtualClock, type VirtualClock } from '../../src/testing/virtualClock.ts'
import { holds, lawTable, same, type Drawn } from '../support/check.ts'

export type MakePull = <T, R>(
  iterable: AsyncIterable<T> | Iterable<T>,
  pipeline: OperatorFunction<T, R>,
  options: PullOptions<R>,
) => Observable<R>

type World = Drawn<typeof world>

const world = fc.record({
  window: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 5, max: 300 })),
  total: fc.oneof(fc.nat({ max: 20 }), fc.integer({ min: 250, max: 600 })),
  source: fc.constantFrom('sync' as const, 'promise' as const, 'timer' as const),
  /** How long each item is under way, over and over; 0 is at once. */
  delays: fc.oneof(fc.constant<number[]>([0]), fc.array(fc.nat({ max: 5 }), { minLength: 1, maxLength: 6 })),
  /** Outputs are arrays of this many items; 0 means single items. */
  group: fc.constantFrom(0, 0, 1, 3),
  fails: fc.boolean(),
  stopAt: fc.option(fc.nat({ max: 60 }), { freq: 3 }),
})

const iterableOf = (
  { total, source, fails }: World,
  clock: VirtualClock,
  on: { readonly pull: () => number; readonly over: () => void; readonly returned: () => void },
): AsyncIterable<number> | Iterable<number> => {
  const answer = (n: number): IteratorResult<number, undefined> => {
    if (n < total) return { done: false, value: n }
    on.over()
    if (fails) throw new Error('source')
    return { done: true, value: undefined }
  }
  const stop = (): IteratorResult<number, undefined> => {
    on.returned()
    return { done: true, value: undefined }
  }
  if (source === 'sync') return { [Symbol.iterator]: () => ({ next: () => answer(on.pull()), return: stop }) }
  const next = async (): Promise<IteratorResult<number, undefined>> => {
    const n = on.pull()
    if (source === 'timer') await clock.sleep(1)
    return answer(n)
  }
  return { [Symbol.asyncIterator]: () => ({ next, return: () => Promise.resolve(stop()) }) }
}

/** Tells how deep items are nested: an output must not bring in the next item inside it. */
const watched =
  (depth: (change: number) => void): OperatorFunction<number, number> =>
  (items) =>
    new Observable((subscriber) =>
      items.subscribe({
        next: (n) => {
          depth(1)
          subscriber.next(n)
          depth(-1)
        },
        error: (error: unknown) => subscriber.error(error),
        complete: () => subscriber.complete(),
      }),
    )

/** Many at once and out of order, as `deliver` does it; one output for each item, or for each `group` items. */
const pipelineOf = ({ delays, group }: World, clock: VirtualClock, depth: (change: number) => void) => {
  const scheduler = toScheduler(clock)
  const deliver = mergeMap((n: number) => {
    const delay = delays[n % delays.length] ?? 0
    return delay === 0 ? of(n) : timer(delay, scheduler).pipe(map(() => n))
  })
  const batches = bufferCount<number>(Math.max(1, group))
  return (items: Observable<number>) => items.pipe(watched(depth), deliver, batches)
}

const play = async (make: MakePull, asked: World) => {
  const clock = virtualClock()
  const came: number[] = []
  /** The most items under way, how many came without credit, and how many were under way at the end. */
  const seen = {
    ...{ most: 0, beyond: 0, left: 0, pulled: 0, given: 0, returned: 0, depth: 0 },
    ...{ over: false, nested: false },
  }
  const window = Math.max(asked.window, asked.group)
  let end: 'complete' | 'error' | undefined

  const source = iterableOf(asked, clock, {
    pull: () => {
      const underWay = seen.given - came.length
      if (underWay >= window) seen.beyond = Math.max(seen.beyond, underWay - window + 1)
      if (seen.depth > 0) seen.nested = true
      seen.pulled++
      if (seen.given < asked.total) seen.given++
      seen.most = Math.max(seen.most, seen.given - came.length)
      return seen.pulled - 1
    },
    over: () => void (seen.over = true),
    returned: () => seen.returned++,
  })
  const pipeline = pipelineOf(asked, clock, (change) => void (seen.depth += change))
  const finish = (how: 'complete' | 'error') => () => {
    end = how
    seen.left = seen.given - came.length
  }
  const subscription = make(source, pipeline, { window, creditOf: (output) => output.length }).subscribe({
    next: (output) => came.push(...output),
    error: finish('error'),
    complete: finish('complete'),
  })
  for (let i = 0; i < 3; i++) await clock.settle()

  let pulledAtStop: number | undefined
  let wasOver = false
  if (asked.stopAt !== null) {
    await clock.advance(asked.stopAt)
    if (end === undefined) {
      subscription.unsubscribe()
      pulledAtStop = seen.pulled
      wasOver = seen.over
    }
  }
  for (let i = 0; i < 5; i++) await clock.runAll()
  subscription.unsubscribe()
  return { ...seen, came, end, pending: clock.pending(), pulledAtStop, wasOver }
}

const upTo = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, i) => i)
const ascending = (all: ReadonlyArray<number>): ReadonlyArray<number> => [...all].sort((a, b) => a - b)

const laws = lawTable(world, play, {
  'U1 takes an item only while fewer than the window are in the pipeline': ({ beyond }) => same(beyond, 0),
  'U2 every item comes out once; after an unsubscribe at most once': (trace, { total }) => {
    const came = ascending(trace.came)
    if (trace.pulledAtStop === undefined) same(came, upTo(total))
    else holds(new Set(came).size === came.length && came.every((n) => n < total), 'not once')
  },
  'U3 ends as its source does, when the pipeline has drained': (trace, { fails }) => {
    if (trace.pulledAtStop === undefined) same([trace.end, trace.left], [fails ? 'error' : 'complete', 0])
  },
  'U4 an unsubscribe calls return of a source that goes on, once, and takes nothing more': (trace) => {
    same(trace.returned, trace.pulledAtStop === undefined || trace.wasOver ? 0 : 1)
    if (trace.pulledAtStop !== undefined) same(trace.pulled, trace.pulledAtStop)
  },
  'U5 the window is full while the pipeline is the slow part': (trace, asked) => {
    const isSlow = asked.source !== 'timer' && asked.delays.every((delay) => delay > 0)
    if (isSlow && trace.pulledAtStop === undefined)
      same(trace.most, Math.min(Math.max(asked.window, asked.group), asked.total))
  },
  'U6 no item enters inside another, and what takes no time keeps its order': (trace, { delays }) => {
    holds(!trace.nested, 'an item entered inside another')
    if (delays.every((delay) => delay === 0)) same(trace.came, ascending(trace.came))
  },
  'U7 no timer is left': ({ pending }) => same(pending, 0),
})

export const pullLaws = laws.each

it('pull keeps its laws', () => fc.assert(laws.all(pull)))
