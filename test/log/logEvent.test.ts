import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { OutboxError } from '../../src/outbox/lmdb/contract.ts'
import { ConfigError, ShownError, UnfitAnswer } from '../../src/core/refusal.ts'
import { errorKind } from '../../src/log/logEvent.ts'
import { SECRET } from './events.ts'
import { forAll } from '../support/check.ts'

it('names the kind, the code and the place', () => {
  const broken = Object.assign(new RangeError('x'), { code: 'EPIPE' })
  expect(errorKind(broken)).toMatch(/^RangeError \(EPIPE\) at .*logEvent\.test\.ts/)
  const notOpened = new OutboxError('missing', '/x', 'not opened, as b')
  expect(errorKind(notOpened)).toBe('OutboxError: not opened, as b')
  const wrong = (cause?: Error) => errorKind(Object.assign(new ConfigError('its factory', []), { cause }))
  expect(wrong()).toBe('ConfigError: its factory: ')
  expect(wrong(broken)).not.toContain('factory')
  expect(errorKind(new UnfitAnswer('must be a text'))).toBe('TypeError: must be a text')
  expect(errorKind(new ShownError('too late'))).toBe('Error: too late')
  expect(errorKind('text')).toBe('a thrown string')
  expect(errorKind(null)).toBe('a thrown object')
  expect(errorKind(Object.assign(new Error(''), { stack: undefined }))).toBe('Error')
})

it('does not contain the message', () =>
  forAll(fc.string({ minLength: 4 }), fc.boolean(), (rest, withFrame) => {
    const message = `${rest}${SECRET}${withFrame ? `\n    at ${SECRET} (file:1:1)` : ''}`
    expect(errorKind(new Error(message))).not.toContain(SECRET)
  }))

it('reports an error that cannot be read', () => {
  const error = Object.defineProperty(new Error('x'), 'stack', { get: () => expect.unreachable() })
  expect(errorKind(error)).toBe('an error that cannot be read')
})
