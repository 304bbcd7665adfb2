import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { kindOf } from '../../src/log/logEvent.ts'
import { logLine } from '../../src/log/debug.ts'
import { happenings, SECRET } from './happenings.ts'

describe('lineOf', () => {
  it('says what happened, and never what is in it', () => {
    const lines = happenings.map(logLine)
    expect(lines.slice(0, -1)).toEqual([
      'refused: userId: must be a string',
      'm1: accepted',
      'an item: accepted',
      'm1: attempt 2 at a: delivered 200 in 12 ms',
      'm1: attempt 2 at a: timeout, no verdict within 5000 ms in 12 ms',
      'm1: attempt 3 at a: passed over, its lane is full',
      'm1: waits 800 ms (Retry-After) after 1 attempt: timeout, no verdict within 5000 ms',
      'm1: delivered to a after 1 attempt',
      'm1: rejected after 2 attempts: status 404',
      'm1: expired after 33 attempts, last: timeout, no verdict within 5000 ms',
      'm1: dropped (dropOldest)',
      'm1: abandoned after 1 attempt, last: timeout, no verdict within 5000 ms',
      'm1: abandoned after 0 attempts',
    ])
    expect(lines.at(-1)).toMatch(/^defect in my sink: TypeError at .*happenings\.ts:\d+:\d+\)?$/)
    expect(lines.join()).not.toContain(SECRET)
  })

  it('is one line, whatever stands in an id', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: fc.constantFrom('a', '\n', '\r', '\u001b', '\u2028', '\u0085', 'é') }),
        (id) => {
          const line = logLine({ _tag: 'Accepted', at: 0, item: { id, byteLength: 1 } })
          expect(line).toMatch(/^[^\p{Cc}\u2028\u2029]*$/u)
        },
      ),
      { numRuns: 1_000 },
    )
  })
})

describe('kindOf', () => {
  it('names the kind, the code and the place', () => {
    expect(kindOf(Object.assign(new RangeError('x'), { code: 'EPIPE' }))).toMatch(
      /^RangeError \(EPIPE\) at .*lineOf\.test\.ts/,
    )
    expect(kindOf('text')).toBe('a thrown string')
    expect(kindOf(null)).toBe('a thrown object')
    expect(kindOf(Object.assign(new Error(''), { stack: undefined }))).toBe('Error')
  })

  it('never has the message in it', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 4 }), fc.boolean(), (rest, withFrame) => {
        const message = `${rest}${SECRET}${withFrame ? `\n    at ${SECRET} (file:1:1)` : ''}`
        expect(kindOf(new Error(message))).not.toContain(SECRET)
      }),
      { numRuns: 1_000 },
    )
  })

  it('says so of an error that cannot be read', () => {
    const error = new Error('x')
    Object.defineProperty(error, 'stack', {
      get: () => {
        throw new Error('no')
      },
    })
    expect(kindOf(error)).toBe('an error that cannot be read')
  })
})
