import { left, right } from 'fp-ts/lib/Either.js'
import { lastValueFrom, of } from 'rxjs'
import { describe, expect, it, test } from 'vitest'
import { decodeOptions } from '../../src/core/options.ts'
import { deliver, lift } from '../../src/index.ts'
import { scriptedSink, virtualClock, type Misbehaviour } from '../../src/testing/index.ts'
import { meaningOf, retryAfter, statusesOption, statusTable, verdictOf } from '../../src/sink/status.ts'

const meaning = (status: number): string => meaningOf(statusTable, status)

describe('the table of statuses (DE2)', () => {
  it('has a meaning for every status, and the one that was decided', () => {
    const wanted = (status: number): string => {
      if (status >= 200 && status < 300) return 'delivered'
      if (status >= 300 && status < 400) return 'redirect'
      if ([408, 425, 429].includes(status) || (status >= 500 && status < 600)) return 'retry'
      return 'refused'
    }
    for (let code = 100; code < 1_000; code++) expect([code, meaning(code)]).toEqual([code, wanted(code)])
  })

  it('rules of a host come first, and the first that holds a status decides', () => {
    const own = [{ from: 409, to: 410, means: 'delivered' as const }]
    const meanings = [409, 410, 411].map((status) => meaningOf(own, status))
    expect(meanings).toEqual(['delivered', 'delivered', 'refused'])
    expect([200, 503].map((status) => meaningOf(own, status))).toEqual(['delivered', 'retry'])
  })

  it('says what is wrong with a table', () => {
    expect(decodeOptions(statusesOption, statusTable)).toEqual(right(statusTable))
    expect(decodeOptions(statusesOption, {})).toMatchObject(left([{ path: '' }]))
    const unknown = { from: 100, to: 200, means: 'success' }
    const turned = { from: 200, to: 199, means: 'retry' }
    const wrong = [statusTable[0], unknown, null, { from: '1', to: 200, means: 'retry' }, turned]
    expect(decodeOptions(statusesOption, wrong)).toMatchObject(
      left([{ path: '[1].means' }, { path: '[2]' }, { path: '[3].from' }, { path: '[4].from' }]),
    )
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

const inADay = ['86400', new Date(virtualClock().now() + 86_400_000).toUTCString()]
test.each(inADay)('DE2: a 429 with Retry-After %s is tried again after an hour', async (header) => {
  const clock = virtualClock()
  const quota: Misbehaviour = { do: 'status', code: 429, headers: { 'Retry-After': header } }
  const sink = scriptedSink<string>({ clock, script: [quota] })
  const outcome$ = of('a').pipe(lift(), deliver(sink, { clock, random: () => 0 }))
  const ended = lastValueFrom(outcome$, { defaultValue: undefined })
  expect(await clock.run(ended)).toMatchObject({ _tag: 'Delivered', attempts: 2 })
  expect(sink.calls.map(({ startedAt }) => startedAt)).toEqual([0, 3_600_000])
})

const now = Date.UTC(2026, 0, 1)

describe('Retry-After (webhooks/S42)', () => {
  it.each<readonly [wait: number, headers: ReadonlyArray<string>]>([
    [0, ['0', 'Wed, 31 Dec 2025 23:59:59 GMT']],
    [5_000, [' 5 ']],
    [7_000, ['0000000007']],
    [60_000, ['Thu, 01 Jan 2026 00:01:00 GMT']],
    [120_000, ['120']],
    [3_600_000, ['3600', '3601', '86400', '9999999999']],
    [3_600_000, ['Thu, 01 Jan 2026 01:00:01 GMT', 'Fri, 02 Jan 2026 00:00:00 GMT']],
  ])('of %d ms is asked for by each of %j', (wait, headers) =>
    expect(headers.map((header) => retryAfter(header, now))).toEqual(headers.map(() => wait)),
  )

  it.each([
    ...['', '-5', '1.5', 'abc', '1e3', '0x10', '12 parsecs', '99999999999', '9'.repeat(400)],
    ...[`${'0'.repeat(20)}7`, '120, 130', '٣', 'Infinity', 'tomorrow', '2026-01-01T00:01:00Z'],
    ...['1 Jan 2026 00:01:00 GMT', 'Fri, 01 Jan 2026 00:01:00 GMT', 'Thu, 01 Jan 2026 00:01:00 +0100'],
    ...['Thu, 32 Jan 2026 00:01:00 GMT', 'Thursday, 01-Jan-26 00:01:00 GMT'],
  ])('%o asks for nothing', (header) => expect(retryAfter(header, now)).toBeUndefined())

  it('reads the first of several, and nothing where there is none', () => {
    expect(retryAfter(['7', '9'], now)).toBe(7_000)
    expect(retryAfter([], now)).toBeUndefined()
    expect(retryAfter(undefined, now)).toBeUndefined()
  })
})
