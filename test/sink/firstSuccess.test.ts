import * as fc from 'fast-check'
import { isRight, left, right } from 'fp-ts/lib/Either.js'
import { take } from 'rxjs'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { combine, isLive, opening, firstSuccess } from '../../src/sink/firstSuccess.ts'
import { allFailed, expired, type Failure, refused, retryable, partlyFailed } from '../../src/core/failure.ts'
import type { Verdict } from '../../src/core/failure.ts'
import { onlyAttempt, type Sink } from '../../src/sink/sink.ts'
import { sink } from '../../src/sink/fromFunction.ts'
import { scriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'

const taken: Verdict = right({ sink: 'a', status: 200 })
const spot = (name: string, verdict: Verdict): Sink<number> => sink(name, () => verdict)

describe('construction', () => {
  test('needs a sink', () => {
    expect(() => firstSuccess([])).toThrow(RangeError)
  })
  test('names the sink that is there twice', () => {
    expect(() => firstSuccess([spot('a', taken), spot('b', taken), spot('b', taken)])).toThrow(/name b$/)
  })
  test('has a name made of the names, or its own', () => {
    expect(firstSuccess([spot('a', taken), spot('b', taken)]).name).toBe('a | b')
    expect(firstSuccess([spot('a', taken)], { name: 'mine' }).name).toBe('mine')
  })
  test('takes sinks of one item type, and of wider ones', () => {
    const wide = sink('wide', (_item: unknown) => taken)
    expectTypeOf(firstSuccess([spot('a', taken), wide])).toEqualTypeOf<Sink<number>>()
  })
})

describe('close', () => {
  const closing = (name: string, close: (within: number) => Promise<unknown>): Sink<number> =>
    sink(name, () => taken, { close })

  test('closes all at the same time', async () => {
    const closed: string[] = []
    let release = (): void => {}
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const closer = (name: string): Sink<number> =>
      closing(name, async (within) => {
        closed.push(`${name} ${within}`)
        await gate
      })
    const done = firstSuccess([closer('a'), closer('b')]).close(70)()
    expect(closed).toEqual(['a 70', 'b 70'])
    release()
    await done
  })

  test('fails only when all others are closed', async () => {
    let closed = false
    const both = firstSuccess([
      closing('a', () => Promise.reject(new Error('stuck'))),
      closing('b', async () => {
        await virtualClock().settle()
        closed = true
      }),
    ])
    await expect(both.close(10)()).rejects.toThrow('stuck')
    expect(closed).toBe(true)
  })
})

test('a first success may stand in a first success, and remembers what stands inside', () => {
  const clock = virtualClock()
  const gone = scriptedSink<number>({
    name: 'gone',
    clock,
    reply: () => ({ verdict: left(refused('status')) }),
  })
  const busy = scriptedSink<number>({
    name: 'busy',
    clock,
    reply: () => ({ verdict: left(retryable('network')) }),
  })
  const nested = firstSuccess(
    [firstSuccess([gone, busy], { name: 'near', clock }), spot('far', left(refused('no')))],
    {
      clock,
    },
  )
  let lastFailure: Failure | undefined
  for (const number of [1, 2, 3]) {
    nested.deliver(1, { number, until: Infinity, lastFailure }).subscribe((verdict) => {
      lastFailure = verdict._tag === 'Left' ? verdict.left : undefined
    })
  }
  expect(gone.calls.length).toBe(1)
  expect(busy.calls.length).toBe(3)
})

test('a round that is given from outside is passed on, also to one sink alone', () => {
  const clock = virtualClock()
  const only = scriptedSink<number>({ name: 'a', clock, reply: () => ({ verdict: taken }) })
  const round = { wire: undefined }
  firstSuccess([only])
    .deliver(1, { ...onlyAttempt, round })
    .subscribe()
  firstSuccess([only])
    .deliver(1, { ...onlyAttempt, lastFailure: retryable('network'), round })
    .subscribe()
  expect(only.calls.map((call) => call.attempt.round)).toEqual([round, round])
  expect(only.calls[0]?.attempt.round).toBe(round)
})

test('who takes only the verdict cancels the siblings: the trap that is documented', () => {
  const clock = virtualClock()
  const slow = scriptedSink<number>({ name: 'slow', clock, reply: () => ({ verdict: taken, after: 10 }) })
  firstSuccess([spot('a', taken), slow])
    .deliver(1, onlyAttempt)
    .pipe(take(1))
    .subscribe()
  expect(slow.calls.map((call) => call.ended)).toEqual(['cancelled'])
})

describe('answers', () => {
  const failure = fc.constantFrom<Failure>(
    refused('status'),
    retryable('network'),
    retryable('status', { notBefore: 50 }),
  )
  const verdict = fc.oneof(
    failure.map((each): Verdict => left(each)),
    fc.nat(5).map((at): Verdict => right({ sink: `winner ${at}` })),
  )
  const answers = fc.array(fc.option(verdict, { nil: undefined }), { minLength: 1, maxLength: 5 })
  const names = ['a', 'b', 'c', 'd', 'e']
  const of = (given: ReadonlyArray<Verdict | undefined>): Verdict | undefined =>
    combine(names.slice(0, given.length), given)

  test('a verdict, once known, does not turn into another kind', () => {
    fc.assert(
      fc.property(answers, fc.nat(4), verdict, (given, at, more) => {
        const before = of(given)
        if (before === undefined || given[at % given.length] !== undefined) return true
        const after = [...given]
        after[at % given.length] = more
        return of(after)?._tag === before._tag
      }),
      { numRuns: 1000 },
    )
  })
  test('a success just if one succeeded; none as long as one is awaited; else every cause in order', () => {
    fc.assert(
      fc.property(answers, (given) => {
        const verdictNow = of(given)
        if (given.some((each) => each !== undefined && isRight(each))) return verdictNow?._tag === 'Right'
        if (given.includes(undefined)) return verdictNow === undefined
        return (
          verdictNow?._tag === 'Left' &&
          verdictNow.left._tag === 'AllFailed' &&
          verdictNow.left.causes.map((cause) => cause.sink).join() === names.slice(0, given.length).join()
        )
      }),
      { numRuns: 1000 },
    )
  })
  test('who knows the last verdict says the same, and gives it back when all failed as they did then', () => {
    let again = 0
    fc.assert(
      fc.property(
        fc.array(failure, { minLength: 1, maxLength: 5 }),
        answers,
        fc.boolean(),
        (before, given, same) => {
          const mine = names.slice(0, before.length)
          const last = combine(mine, before.map(left))
          const now = same ? before.map(left) : given
          const verdictNow = combine(names.slice(0, now.length), now, last)
          if (same && verdictNow === last) again++
          expect(verdictNow).toEqual(of(now))
          return !same || verdictNow === last
        },
      ),
      { numRuns: 1000 },
    )
    expect(again).toBeGreaterThan(300)
  })
  test('a round that nobody is asked in changes nothing: its verdict is its prior', () => {
    fc.assert(
      fc.property(fc.array(failure, { minLength: 1, maxLength: 5 }), (failures) => {
        const mine = names.slice(0, failures.length)
        const lastFailure = allFailed(failures.map((each, at) => ({ sink: names[at] ?? '', failure: each })))
        const start = opening(mine, lastFailure, 0)
        if (start.includes(undefined)) return true
        const end = combine(mine, start)
        return JSON.stringify(end) === JSON.stringify(left(lastFailure))
      }),
      { numRuns: 1000 },
    )
  })
  test.each<readonly [string, Failure | undefined, number, boolean]>([
    ['nothing remembered', undefined, 0, true],
    ['a final no', refused('status'), 1e15, false],
    ['a failure that may pass', retryable('network'), 0, true],
    ['held back, one millisecond early', retryable('status', { notBefore: 50 }), 49, false],
    ['held back, at the moment', retryable('status', { notBefore: 50 }), 50, true],
    ['expired', expired(3, 0, retryable('network')), 1e15, false],
    ['some members may pass', partlyFailed([right({ sink: 'x' }), left(retryable('network'))]), 0, true],
    ['no member may pass', partlyFailed([right({ sink: 'x' }), left(refused('status'))]), 0, false],
    ['several, one of them free', allFailed([{ sink: 'x', failure: retryable('network') }]), 0, true],
  ])('live or not: %s', (_name, remembered, now, live) => {
    expect(isLive(remembered, now)).toBe(live)
  })
})
