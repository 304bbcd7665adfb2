import { expect, it } from 'vitest'
import { fullIn } from '../../src/core/refusal.ts'

it.each([
  ['a count that is reached', 3, 0, { bound: 'count', limit: 3 }],
  ['bytes that are exceeded', 2, 101, { bound: 'bytes', limit: 100 }],
  ['bytes that fit', 2, 100, undefined],
])('names the bound that an input breaks: %s', (_, count, bytes, broken) => {
  const found = fullIn('x', count, bytes, { maxCount: 3, maxBytes: 100 })
  expect(found).toEqual(broken && { _tag: 'Full', input: 'x', ...broken })
})
