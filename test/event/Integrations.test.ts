import { isDeepStrictEqual } from 'node:util'
import * as fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { expect, it } from 'vitest'
import { Integrations, allows } from '../../src/event/integrations.ts'
import { faultsOf } from '../../src/event/codecFaults.ts'
import { integrations, key } from '../arbitraries/event.ts'

it('lets an event through as CO1 says', () => {
  expect(allows(undefined, 'X')).toBe(true)
  expect(allows({}, 'X')).toBe(true)
  expect(allows({ X: false }, 'X')).toBe(false)
  expect(allows({ All: false }, 'X')).toBe(false)
  expect(allows({ All: false, X: true }, 'X')).toBe(true)
  expect(allows({ All: false, X: { some: 'option' } }, 'X')).toBe(true)
  expect(allows({ All: false, x: true }, 'X')).toBe(false)
  expect(allows({ All: true, X: false }, 'X')).toBe(false)
  expect(allows({ All: {} }, 'X')).toBe(true)
  // Names that every object has are names like others.
  expect(allows({ All: false }, 'constructor')).toBe(false)
})

it('a destination that is named decides for itself, All for the rest', () => {
  fc.assert(
    fc.property(integrations, key, (map, name) => {
      const own = Object.entries(map).find(([each]) => each === name)?.[1]
      const all = Object.entries(map).find(([each]) => each === 'All')?.[1]
      expect(allows(map, name)).toBe(own === undefined ? all !== false : own !== false)
    }),
    { numRuns: 1_000 },
  )
})

it('is read again as it was, and copied', () => {
  fc.assert(
    fc.property(integrations, (map) => {
      const decoded = Integrations.decode(map)
      expect(isRight(decoded) && isDeepStrictEqual(decoded.right, map)).toBe(true)
      expect(isRight(decoded) && decoded.right).not.toBe(map)
      expect(Integrations.is(map)).toBe(true)
    }),
    { numRuns: 1_000 },
  )
})

it('refuses everything else, each by its name (EV10)', () => {
  const paths = (value: unknown): ReadonlyArray<string> => {
    const decoded = Integrations.decode(value)
    expect(Integrations.is(value)).toBe(isRight(decoded))
    return isLeft(decoded) ? faultsOf(decoded.left).map(({ path }) => path) : []
  }
  expect(paths({ A: 1, B: 'x', C: null, D: [], 'E.F': 0, G: true, H: {} })).toEqual([
    'A',
    'B',
    'C',
    'D',
    '["E.F"]',
  ])
  expect(paths({ A: { deep: 1n } })).toEqual(['A.deep'])
  for (const value of [null, undefined, [], 'All', true, new Map()]) expect(paths(value)).toEqual([''])
})
