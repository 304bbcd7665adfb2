import { expect, test } from 'vitest'
import { messageOf } from '../../src/core/awaitable.ts'

class Hostile extends Error {
  override get message(): string {
    throw new Error('no message for you')
  }
}

test.each([
  ['the message of an error', new Error('broken pipe'), 'broken pipe'],
  ['its name, when it says nothing', new RangeError(''), 'RangeError'],
  [
    'its cause too',
    new Error('fetch failed', { cause: new Error('ECONNREFUSED') }),
    'fetch failed: ECONNREFUSED',
  ],
  ['a text as it is', 'broken', 'broken'],
  ['nothing at all', undefined, 'undefined'],
  ['what cannot be turned into text', Object.create(null), 'an error that cannot be read'],
  ['an error that throws', new Hostile(), 'an error that cannot be read'],
])('%s', (_name, error, message) => expect(messageOf(error)).toBe(message))

test('never more than 300 characters, however much was said', () =>
  expect(messageOf(new Error('x'.repeat(100_000)))).toBe(`${'x'.repeat(300)}…`))
