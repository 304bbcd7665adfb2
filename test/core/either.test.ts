import * as E from 'fp-ts/lib/Either.js'
import * as RA from 'fp-ts/lib/ReadonlyArray.js'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { isLeft, isRight, left, lefts, map, mapLeft, right, valueOr } from '../../src/core/either.ts'
import { forAll } from '../support/check.ts'

const either = fc.oneof(fc.nat().map(E.left), fc.nat().map(E.right))

test('answers what fp-ts answers, with the same plain data', () => {
  const next = (value: number): number => value + 1
  forAll(either, fc.array(either), (each, all) => {
    expect([left(1), right(1)]).toEqual([E.left(1), E.right(1)])
    expect([isLeft(each), isRight(each)]).toEqual([E.isLeft(each), E.isRight(each)])
    expect([map(next)(each), mapLeft(next)(each)]).toEqual([E.map(next)(each), E.mapLeft(next)(each)])
    expect(lefts(all)).toEqual(RA.lefts(all))
  })
})

test('a run that throws has no value', () => {
  expect(valueOr(2, () => 1)).toBe(1)
  expect(valueOr(2, () => JSON.parse('{') as unknown)).toBe(2)
})
