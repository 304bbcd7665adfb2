import { right } from 'fp-ts/lib/Either.js'
import { NEVER, Observable, of, throwError } from 'rxjs'
import { describe, expect, test } from 'vitest'
import type { Verdict } from '../../src/core/failure.ts'
import { runOf } from '../../src/sink/layer.ts'
import { onlyAttempt, type Sink } from '../../src/sink/sink.ts'

const taken: Verdict = right({ sink: 'theirs' })

const heard = (deliver: Sink<number>['deliver']): ReadonlyArray<unknown> => {
  const told: unknown[] = []
  runOf({ name: 'theirs', deliver, close: () => () => Promise.resolve() })(1, onlyAttempt, {
    next: (verdict) => told.push(verdict),
    complete: () => told.push('complete'),
    error: (defect) => told.push(defect instanceof Error ? defect.message : defect),
  })
  return told
}

describe('a sink that is not ours is held to the contract:', () => {
  test('one verdict and the end pass', () => {
    expect(heard(() => of(taken))).toEqual([taken, 'complete'])
  })
  test('a second verdict is ignored', () => {
    expect(heard(() => of(taken, taken))).toEqual([taken, 'complete'])
  })
  test('an end without a verdict is a defect', () => {
    expect(heard(() => of())).toEqual(['the sink completed without a verdict'])
  })
  test('an error is a defect', () => {
    expect(heard(() => throwError(() => 'broken'))).toEqual(['broken'])
  })
  test('a deliver that throws is a defect', () => {
    expect(
      heard(() => {
        throw new Error('thrown')
      }),
    ).toEqual(['thrown'])
  })
  test('a subscribe that throws is a defect', () => {
    expect(
      heard(
        () =>
          new Observable(() => {
            throw new Error('thrown')
          }),
      ),
    ).toEqual(['thrown'])
  })
  test('a clean-up that throws after the end is not heard', () => {
    const messy = new Observable<Verdict>((subscriber) => {
      subscriber.next(taken)
      subscriber.complete()
      return () => {
        throw new Error('thrown')
      }
    })
    expect(heard(() => messy)).toEqual([taken, 'complete'])
  })
  test('one that says nothing is waited for', () => {
    expect(heard(() => NEVER)).toEqual([])
  })
})
