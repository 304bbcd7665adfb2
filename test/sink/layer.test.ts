import { right } from 'fp-ts/lib/Either.js'
import { NEVER, Observable, of, throwError, type Observer } from 'rxjs'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { onlyAttempt, sink, type Sink, type Verdict } from '../../src/index.ts'
import { answer, contramap, makeLayer, makeSink, type Subscribe } from '../../src/sink/layer.ts'
import { hear } from './deliverOnce.ts'
import { throwing, turns } from '../support/check.ts'

const taken: Verdict = right({ sink: 'theirs' })

const heard = (deliver: Sink<number>['deliver']) => {
  const { told } = hear({ name: 'theirs', deliver, close: () => Promise.resolve() }, 1)
  return told.map((each) => (each instanceof Error ? each.message : each))
}

const TWO = 'the sink theirs emitted two verdicts for one delivery'
const NONE = 'the sink completed without a verdict'

describe('a sink of a host is held to the contract:', () => {
  const fails = throwing('thrown')
  const NO_VERDICT = ['defect', expect.stringContaining('emitted no verdict')]
  const messy = new Observable<Verdict>((subscriber) => {
    subscriber.next(taken)
    subscriber.complete()
    return fails
  })
  test.each<readonly [string, Sink<number>['deliver'], ReadonlyArray<unknown>]>([
    ['one verdict and the end pass', () => of(taken), [taken, 'complete']],
    ['a sink without a verdict is waited for', () => NEVER, []],
    ['a second verdict is a defect', () => of(taken, taken), [taken, 'defect', TWO]],
    ['an end without a verdict is a defect', () => of(), ['defect', NONE]],
    ['an error is a defect', () => throwError(() => 'broken'), ['defect', 'broken']],
    ['a deliver that throws is a defect', fails, ['defect', 'thrown']],
    ['a subscribe that throws is a defect', () => new Observable(fails), ['defect', 'thrown']],
    ['an error of a teardown after the end is dropped', () => messy, [taken, 'complete']],
  ])('%s', (_, deliver, told) => expect(heard(deliver)).toEqual(told))
  test.each([undefined, null, 5, 'ok', {}, { _tag: 'Right' }, { _tag: 'Left', left: 'boom' }, right(5)])(
    'a verdict that is none is a defect: %o',
    (verdict) => {
      // A sink in JavaScript may emit anything.
      expect(heard(() => of(verdict as Verdict))).toEqual(NO_VERDICT)
    },
  )
  const cyclic: { _tag: string; causes: unknown[] } = { _tag: 'AllFailed', causes: [] }
  cyclic.causes.push({ sink: 's', failure: cyclic })
  test.each([
    { _tag: 'AllFailed' },
    { _tag: 'PartlyFailed', members: [null] },
    { _tag: 'NotAll', verdicts: [1] },
    { _tag: 'Expired', attempts: 1 },
    { _tag: 'Retryable', reason: 'busy', notBefore: 'soon' },
    cyclic,
    Object.defineProperty({}, '_tag', { enumerable: true, get: throwing('a getter') }),
  ])('H7: a failure without its parts, or one that cannot be read, is a defect: %#', (failure) =>
    expect(heard(() => of({ _tag: 'Left', left: failure } as unknown as Verdict))).toEqual(NO_VERDICT),
  )
})

const own = (start: Subscribe<number>) => makeSink('own', start, () => Promise.resolve())
const subscribe = (start: Subscribe<number>) => hear(own(start), 1)

test('makeSink runs the teardown once: before the end, or at the cancel', () => {
  const order: string[] = []
  const ended = subscribe((_item, _attempt, observer) => {
    queueMicrotask(() => order.push('late'))
    observer.next(taken)
    observer.complete()
    return () => order.push('ended')
  })
  ended.cancel()
  const cancelled = subscribe(() => () => order.push('cancelled'))
  cancelled.cancel()
  cancelled.cancel()
  expect([order, ended.told, cancelled.told]).toEqual([['ended', 'cancelled'], [taken, 'complete'], []])
})

test('a teardown that throws keeps no delivery from its end', () => {
  const ended = subscribe((_item, _attempt, observer) => {
    queueMicrotask(() => observer.complete())
    observer.next(taken)
    return throwing('planted')
  })
  expect(ended.cancel).not.toThrow()
  const { told } = subscribe((_item, _attempt, observer) => {
    observer.next(taken)
    observer.complete()
    return throwing('planted')
  })
  expect(told).toEqual([taken, 'complete'])
})

test('an observer that lost its methods in a spread is a defect of its delivery', () => {
  const { told } = hear(
    makeLayer<number>(
      sink('own', () => taken),
      (start) => (item, attempt, observer) => start(item, attempt, { ...observer }),
    ),
    1,
  )
  expect(told[0]).toBe('defect')
  expect(String(told[1])).toBe(
    'TypeError: a layer gave an observer without complete: give next, error and complete, not a spread',
  )
})

const planted = new Error('planted')
const none = new Error(NONE)
test.each<readonly [ReadonlyArray<keyof Observer<Verdict>>, ReadonlyArray<unknown>]>([
  [['next'], ['defect', planted]],
  [['complete'], [taken, 'defect', planted]],
  [
    ['next', 'error'],
    ['defect', none],
  ],
  [['complete', 'error'], [taken]],
])('an observer of a layer that throws in %j later is a defect of its delivery', async (where, told) => {
  let cleared = 0
  const start: Subscribe<number> = (_item, _attempt, observer) => {
    setImmediate(() => answer(observer, taken))
    return () => cleared++
  }
  const layer = makeLayer<number>(own(start), (start) => (item, attempt, observer) => {
    return start(item, attempt, {
      next: (verdict) => observer.next(verdict),
      error: (defect) => observer.error(defect),
      complete: () => observer.complete(),
      ...Object.fromEntries(where.map((name) => [name, throwing(planted)])),
    })
  })
  const heard = hear(layer, 1)
  await turns(2)
  expect([heard.told, cleared]).toEqual([told, 1])
})

test('contramap translates each item; if it throws, that delivery is a defect', () => {
  const seen: string[] = []
  const texts = sink('texts', (text: string) => (seen.push(text), right({ sink: 'texts' })))
  const numbers = contramap((n: number) => {
    if (n < 0) throw new Error('negative')
    return `number ${n}`
  })(texts)
  expectTypeOf(numbers).toEqualTypeOf<Sink<number>>()
  const defects: unknown[] = []
  for (const n of [1, -1, 2])
    numbers.deliver(n, onlyAttempt).subscribe({ error: (defect) => defects.push(defect) })
  expect(seen).toEqual(['number 1', 'number 2'])
  expect(defects).toEqual([new Error('negative')])
})
