import { expect, it } from 'vitest'
import { fullIn, show } from '../../src/core/refusal.ts'

it.each([
  ['a count that is reached', 3, 0, { bound: 'count', limit: 3 }],
  ['bytes that are exceeded', 2, 101, { bound: 'bytes', limit: 100 }],
  ['bytes that fit', 2, 100, undefined],
])('names the bound that an input breaks: %s', (_, count, bytes, broken) => {
  const found = fullIn('x', count, bytes, { maxCount: 3, maxBytes: 100 })
  expect(found).toEqual(broken && { _tag: 'Full', input: 'x', ...broken })
})

it('shows 20 faults, and how many there are more', () => {
  const faults = Array.from({ length: 1_000 }, (_, at) => ({ path: `p${String(at)}`, message: 'no' }))
  expect(show({ _tag: 'Invalid', faults, input: {} })).toMatch(/^p0: no; .*p19: no; and 980 more$/)
})
