import { left, right } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { meaningOf, statusFaults, statusTable, verdictOf } from '../../src/sink/status.ts'

const meaning = (status: number): string => meaningOf(statusTable, status)

describe('the table of statuses (DE2)', () => {
  it('has a meaning for every status, and the one that was decided', () => {
    const wanted = (status: number): string => {
      if (status >= 200 && status < 300) return 'delivered'
      if (status >= 300 && status < 400) return 'redirect'
      if ([408, 425, 429].includes(status) || (status >= 500 && status < 600)) return 'retry'
      return 'refused'
    }
    for (let status = 100; status < 1_000; status++)
      expect([status, meaning(status)]).toEqual([status, wanted(status)])
  })

  it('can be replaced: the first rule that holds a status decides', () => {
    const own = [{ from: 409, to: 410, means: 'delivered' as const }, ...statusTable]
    expect([409, 410, 411].map((status) => meaningOf(own, status))).toEqual([
      'delivered',
      'delivered',
      'refused',
    ])
    expect(meaningOf([], 200)).toBe('refused')
  })

  it('says what is wrong with a table', () => {
    expect(statusFaults(undefined)).toEqual([])
    expect(statusFaults(statusTable)).toEqual([])
    expect(statusFaults({})).toHaveLength(1)
    const faults = statusFaults([
      statusTable[0],
      { from: 1 },
      { from: 1, to: 2, means: 'success' },
      null,
      { from: '1', to: 2, means: 'retry' },
    ])
    expect(faults.map(({ path }) => path)).toEqual(['[1]', '[2]', '[3]', '[4]'])
  })
})

describe('the verdict on an answer', () => {
  const on = (status: number, retryAfter?: string): unknown =>
    verdictOf(statusTable, 'https://a.example/', { status, retryAfter }, 1_000_000, 5_000)

  it('carries the status', () => {
    expect(on(204)).toEqual(right({ sink: 'https://a.example/', status: 204 }))
    expect(on(404)).toEqual(left({ _tag: 'Refused', reason: 'status', status: 404 }))
    expect(on(500)).toEqual(left({ _tag: 'Retryable', reason: 'status', status: 500 }))
    expect(on(301)).toMatchObject(left({ _tag: 'Refused', reason: 'redirect', status: 301 }))
  })

  it('carries what Retry-After asks for, only where one may retry, in the time that does not step', () => {
    expect(on(503, '2')).toEqual(left({ _tag: 'Retryable', reason: 'status', status: 503, notBefore: 7_000 }))
    expect(on(503, new Date(1_003_000).toUTCString())).toMatchObject(left({ notBefore: 8_000 }))
    expect(on(503, 'soon')).toEqual(left({ _tag: 'Retryable', reason: 'status', status: 503 }))
    expect(on(404, '2')).toEqual(left({ _tag: 'Refused', reason: 'status', status: 404 }))
    expect(on(200, '2')).toEqual(right({ sink: 'https://a.example/', status: 200 }))
  })
})
