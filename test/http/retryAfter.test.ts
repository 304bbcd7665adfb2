import { describe, expect, it } from 'vitest'
import { retryAfter } from '../../src/sink/status.ts'

const now = Date.UTC(2026, 0, 1)

describe('Retry-After (webhooks/S42)', () => {
  it.each([
    ['120', 120_000],
    ['0', 0],
    [' 5 ', 5_000],
    ['9999999999', 9_999_999_999_000],
    ['99999999999', 9_999_999_999_000],
    ['9'.repeat(400), 9_999_999_999_000],
    [`${'0'.repeat(20)}7`, 7_000],
    ['Thu, 01 Jan 2026 00:01:00 GMT', 60_000],
    ['Wed, 31 Dec 2025 23:59:59 GMT', 0],
  ])('%o asks for %d ms', (header, wait) => {
    expect(retryAfter(header, now)).toBe(wait)
  })

  it.each([
    '',
    '-5',
    '1.5',
    'abc',
    '1e3',
    '0x10',
    '12 parsecs',
    '120, 130',
    '٣',
    'Infinity',
    'tomorrow',
    '2026-01-01T00:01:00Z',
    '1 Jan 2026 00:01:00 GMT',
    'Fri, 01 Jan 2026 00:01:00 GMT',
    'Thu, 01 Jan 2026 00:01:00 +0100',
    'Thu, 32 Jan 2026 00:01:00 GMT',
    'Thursday, 01-Jan-26 00:01:00 GMT',
  ])('%o asks for nothing', (header) => {
    expect(retryAfter(header, now)).toBeUndefined()
  })

  it('reads the first of several, and nothing where there is none', () => {
    expect(retryAfter(['7', '9'], now)).toBe(7_000)
    expect(retryAfter([], now)).toBeUndefined()
    expect(retryAfter(undefined, now)).toBeUndefined()
  })
})
