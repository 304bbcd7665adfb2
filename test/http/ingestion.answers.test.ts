import { describe, expect, it } from 'vitest'
import { ingestion, statusTable } from '../../src/http/ingestion.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { meaningOf as tableMeaning } from '../../src/sink/status.ts'
import { answered, batch, type Reply } from './batchServer.ts'
import { deliverOnce } from '../sink/deliverOnce.ts'
import { asking, KEY } from './asking.ts'

const { serve, sinkTo } = asking()

/** The table of DE2, written a second time. */
const meaningOf = (status: number): 'Right' | 'Refused' | 'Retryable' => {
  if (status >= 200 && status < 300) return 'Right'
  return status >= 500 || [408, 425, 429].includes(status) ? 'Retryable' : 'Refused'
}

describe('clients/25, clients/28, clients/29: a status', () => {
  it('has one meaning each, from 200 to 599, as DE2 says', async () => {
    const server = await serve(({ path }) => ({ status: Number(path.slice(1)) }))
    for (let from = 200; from <= 599; from += 100) {
      const all = Array.from({ length: 100 }, async (_, at) => {
        const status = from + at
        const sink = ingestion(`${server.origin}/${status}`, KEY)
        const { verdicts, end } = await deliverOnce(sink, batch('a', 'b'))
        await sink.close(0)()
        const [verdict] = verdicts
        const tag = verdict?._tag === 'Left' ? verdict.left._tag : verdict?._tag
        expect([status, tag, verdicts.length, end]).toEqual([status, meaningOf(status), 1, 'complete'])
      })
      await Promise.all(all)
    }
    expect(server.requests).toHaveLength(400)
  })

  it('from 100 to 199 only announces an answer, and is none', async () => {
    for (let status = 100; status < 200; status++) expect(tableMeaning(statusTable, status)).toBe('refused')
    const server = await serve(() => ({ announced: true }))
    const { verdicts } = await deliverOnce(sinkTo(server), batch('a'))
    expect(verdicts).toMatchObject([{ right: { status: 200 } }])
  })

  it('means what another table says', async () => {
    const server = await serve(() => ({ status: 460 }))
    const sink = sinkTo(server, { statuses: [{ from: 460, to: 460, means: 'retry' }] })
    expect(await deliverOnce(sink, batch('a'))).toMatchObject({
      verdicts: [{ left: { _tag: 'Retryable', status: 460 } }],
    })
  })
})

describe('clients/26: a redirect', () => {
  it.each([301, 302, 303, 307, 308])('%d is final and never followed', async (status) => {
    const server = await serve(() => ({ status, headers: { Location: '/login' } }))
    const { verdicts } = await deliverOnce(sinkTo(server), batch('a'))
    expect(verdicts).toMatchObject([{ left: { _tag: 'Refused', reason: 'redirect', status } }])
    expect(server.requests.map(({ method, path }) => [method, path])).toEqual([['POST', '/v1/batch']])
  })
})

describe('clients/31: a Retry-After', () => {
  const now = Date.UTC(2026, 0, 1)
  it.each<[number, string, number | undefined]>([
    [429, '2', now + 2_000],
    [503, '2', now + 2_000],
    [503, 'Thu, 01 Jan 2026 00:00:05 GMT', now + 5_000],
    [429, 'Wed, 31 Dec 2025 00:00:00 GMT', now],
    [429, '0', now],
    [429, '-1', undefined],
    [429, 'NaN', undefined],
    [429, '1e309', undefined],
    [429, '9999999999', now + 9_999_999_999_000],
  ])('%d with %s', async (status, text, notBefore) => {
    const server = await serve(() => ({ status, headers: { 'Retry-After': text } }))
    const sink = sinkTo(server, { clock: virtualClock({ start: now }) })
    const { verdicts } = await deliverOnce(sink, batch('a'))
    const failure = { _tag: 'Retryable', reason: 'status', status }
    expect(verdicts).toEqual([
      { _tag: 'Left', left: notBefore === undefined ? failure : { ...failure, notBefore } },
    ])
  })
})

describe('clients/33: one request has 10 s in whole', () => {
  it.each<[string, Reply, object]>([
    [
      'a 2xx whose body stalls is delivered',
      { status: 202, stalls: true },
      { _tag: 'Right', right: { status: 202 } },
    ],
    ['also if it had begun to say no', { body: '{"ok":false', stalls: true }, { _tag: 'Right' }],
    [
      'a 4xx whose body stalls is refused',
      { status: 400, body: 'b', stalls: true },
      { left: { status: 400 } },
    ],
    ['a 5xx is retried, whatever its body does', { status: 503, stalls: true }, { left: { status: 503 } }],
  ])('%s', async (_what, reply, verdict) => {
    const server = await serve(() => reply)
    const clock = virtualClock()
    const headers = answered()
    const seen = deliverOnce(sinkTo(server, { clock }), batch('a', 'b'))
    await headers
    clock.tick(9_999)
    expect(clock.pending()).toBe(1)
    clock.tick(1)
    expect(await seen).toMatchObject({ verdicts: [verdict], end: 'complete' })
    expect(server.requests).toHaveLength(1)
    expect(clock.pending()).toBe(0)
  })
})
