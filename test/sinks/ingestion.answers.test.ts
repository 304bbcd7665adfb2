import { afterEach, describe, expect, it } from 'vitest'
import type { Payload } from '../../src/event/Payload.ts'
import type { Failure } from '../../src/outcome/Failure.ts'
import type { Verdict } from '../../src/outcome/Verdict.ts'
import { ingestion, type IngestionOptions, statusTable } from '../../src/sinks/ingestion.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { meaningOf as tableMeaning } from '../../src/transport/StatusTable.ts'
import { socketsOpen, until } from '../transport/laneKit.ts'
import {
  answered,
  type BatchServer,
  batch,
  batchServer,
  member,
  type Reply,
  type Request,
} from './batchServer.ts'
import { deliverOnce } from './deliverOnce.ts'

const cleaners: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const clean of cleaners.splice(0).reverse()) await clean()
  await until(() => socketsOpen() === 0)
})

const serve = async (reply: (request: Request, index: number) => Reply): Promise<BatchServer> => {
  const server = await batchServer(reply)
  cleaners.push(server.close)
  return server
}

const KEY = 'hunter2'

const sinkTo = (server: BatchServer, options?: IngestionOptions): ReturnType<typeof ingestion> => {
  const sink = ingestion(server.origin, KEY, options)
  cleaners.push(sink.close(0))
  return sink
}

/** The verdict on three messages when the server answers so. */
const verdictOn = async (
  reply: Reply,
  payload: Payload<unknown> = batch('a', 'b', 'c'),
): Promise<Verdict> => {
  const server = await serve(() => reply)
  const { verdicts, end } = await deliverOnce(sinkTo(server), payload)
  expect([verdicts.length, end]).toEqual([1, 'complete'])
  const [verdict] = verdicts
  if (verdict === undefined) throw new Error('no verdict')
  return verdict
}

const failureOn = async (reply: Reply): Promise<Failure> => {
  const verdict = await verdictOn(reply)
  if (verdict._tag === 'Right') throw new Error('it was delivered')
  return verdict.left
}

const json = (body: unknown): Reply => ({ body: JSON.stringify(body) })

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

describe('what a refusal says', () => {
  it('stands in the detail, on one line, cut, without the key', async () => {
    const credentials = Buffer.from(`${KEY}:`).toString('base64')
    const body = `bad\r\nkey ${KEY} or ${credentials} \u001b[31m${'x'.repeat(300)}`
    const failure = await failureOn({ status: 400, body })
    const clean = 'bad??key [write key] or [write key] ?[31m'
    expect(failure).toEqual({
      _tag: 'Refused',
      reason: 'status',
      status: 400,
      detail: `${clean}${'x'.repeat(200 - clean.length)}…`,
    })
  })

  it('shows no piece of a key that the cut goes through', async () => {
    const failure = await failureOn({ status: 400, body: `${'x'.repeat(197)}${KEY}` })
    expect(JSON.stringify(failure)).not.toContain('hun')
  })

  it.each([
    ['no body', ''],
    ['white space', ' \n '],
    ['more than anybody reads', 'x'.repeat(1_000_001)],
  ])('is nothing: %s', async (_what, body) => {
    const failure = await failureOn({ status: 413, body })
    expect(failure).toEqual({ _tag: 'Refused', reason: 'status', status: 413 })
  })
})

describe('clients/25: a 200 that says ok:false', () => {
  const no = (detail: string): object => ({
    left: { _tag: 'Refused', reason: 'rejected', status: 200, detail },
  })
  const yes = { right: { status: 200 } }

  it.each<[string, unknown]>([
    ['by index', [{ index: 1, messageId: 'b', reason: 'bad' }]],
    ['by message id', [{ messageId: 'b', reason: 'bad' }]],
    ['by message_id, with an error', [{ message_id: 'b', error: 'bad' }]],
    ['by an index beyond the batch, so by message id', [{ index: 9, messageId: 'b', message: 'bad' }]],
    ['by an index in digits', [{ index: '1', reason: 'bad' }]],
    ['by place as a key', { 1: 'bad' }],
    ['by message id as a key', { b: 'bad' }],
    ['by message id as a key, with an object', { b: { reason: 'bad' } }],
    [
      'among names that nobody has',
      [{ messageId: 'z' }, null, 7, 'what', { index: 1, reason: 'bad' }, { index: -1 }],
    ],
  ])('fails the messages that it names: %s', async (_how, errors) => {
    expect(await verdictOn(json({ ok: false, receivedEvents: 3, okEvents: 2, errors }))).toMatchObject({
      left: { _tag: 'SomeOf', members: [yes, no('bad'), yes] },
    })
  })

  it('takes digits for an id where a message has it', async () => {
    const errors = { 1: 'bad' }
    const body = json({ ok: false, okEvents: 2, errors })
    expect(await verdictOn(body, batch('1', 'b', 'c'))).toMatchObject({
      left: { members: [no('bad'), yes, yes] },
    })
  })

  it('says so where it took another number than it names, and refuses all where it took none', async () => {
    const errors = [{ index: 0, reason: 'bad' }, { messageId: 'zzz' }]
    const doubt = '; the receiver says that it took 1 of 3, and names 1 that it did not'
    expect(await verdictOn(json({ ok: false, okEvents: 1, errors }))).toMatchObject({
      left: { members: [no(`bad${doubt}`), yes, yes] },
    })
    const none = '; the receiver says that it took 0 of 3, and names 1 that it did not'
    const other = no(`quota${none}`)
    expect(await verdictOn(json({ ok: false, okEvents: 0, reason: 'quota', errors }))).toMatchObject({
      left: { members: [no(`bad${none}`), other, other] },
    })
    for (const okEvents of [-1, 4, 1.5, '1', null])
      expect(await verdictOn(json({ ok: false, okEvents, errors }))).toMatchObject({
        left: { members: [no('bad'), yes, yes] },
      })
  })

  it('fails every message with that id', async () => {
    const verdict = await verdictOn(json({ ok: false, errors: [{ messageId: 'a' }] }), batch('a', 'b', 'a'))
    const unknown = no('the receiver says that it did not take it')
    expect(verdict).toMatchObject({ left: { members: [unknown, yes, unknown] } })
  })

  it.each<[string, unknown]>([
    ['no errors', { ok: false }],
    ['an empty list', { ok: false, errors: [] }],
    ['errors that are none', { ok: false, errors: 'yes' }],
    ['names of others', { ok: false, errors: [{ index: 3 }, { messageId: 'z' }] }],
  ])('fails all when it names none: %s', async (_how, body) => {
    expect(await verdictOn(json(body))).toMatchObject(no('the receiver says that it did not take it'))
    expect(await verdictOn(json({ ...Object(body), reason: 'quota' }))).toMatchObject(no('quota'))
  })

  it('fails a message that was sent alone, in a batch or not', async () => {
    const reply = json({ ok: false, errors: [{ index: 0, reason: `key ${KEY}\n` }] })
    expect(await verdictOn(reply, batch('a'))).toMatchObject(no('key [write key]'))
    expect(await verdictOn(reply, member('a'))).toMatchObject(no('key [write key]'))
  })

  it.each<[string, Reply]>([
    ['ok:true with errors', json({ ok: true, errors: [{ index: 0 }], x: false })],
    ['ok missing', json({ success: false })],
    ['ok that is no boolean', json({ ok: 'false' })],
    ['no JSON', { body: '{"ok":false' }],
    ['a page', { body: '<html>false</html>' }],
    ['a list', json([{ ok: false }])],
    ['null', { body: 'null' }],
    ['nothing', { status: 204 }],
    ['too much', json({ ok: false, errors: 'x'.repeat(1_000_000) })],
  ])('but nothing else takes a 2xx back: %s', async (_what, reply) => {
    expect(await verdictOn(reply)).toMatchObject({ _tag: 'Right', right: { status: reply.status ?? 200 } })
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
