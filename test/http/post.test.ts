import { createServer } from 'node:http'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { onlyAttempt, type Clock, type Sink, type Verdict } from '../../src/index.ts'
import { postTo, type Posting } from '../../src/http/post.ts'
import { virtualClock, type Misbehaviour } from '../../src/testing/index.ts'
import { payloadOf } from '../sink/deliverOnce.ts'
import { closedAfterEach, listen, muteServer, until } from '../support/http.ts'

const { receive, use } = closedAfterEach()

const clientTo = (url: string, connectWithin = 5_000): Sink<Posting> => {
  const client = postTo(new URL(url), [], { connectWithin }, (posting: Posting) => posting)
  return use(client, () => client.close({ timeout: 0 }))
}

const sized = (bytes: number): Misbehaviour => ({ do: 'hugeBody', code: 200, bytes })

interface Given {
  readonly body?: string
  readonly until?: number
  readonly clock?: Clock
  readonly maxBody?: number
  readonly onVerdict?: () => void
}

const start = (client: Sink<Posting>, given: Given = {}) => {
  const { body = '{}', until = Infinity, clock, maxBody = 0, onVerdict = () => undefined } = given
  const events: Array<Verdict | number | 'complete'> = []
  let complete = (): void => undefined
  let decide: (verdict: Verdict) => void = () => undefined
  const completed = new Promise<typeof events>((resolve) => (complete = () => resolve(events)))
  const decided = new Promise<Verdict>((resolve) => (decide = resolve))
  const onBody = (bytes: Buffer): unknown => events.push(bytes.length)
  const posting = { payload: payloadOf(body), maxBody, ...(maxBody > 0 && { onBody }) }
  const subscription = client.deliver(posting, { ...onlyAttempt, until, clock }).subscribe({
    next: (verdict) => {
      events.push(verdict)
      decide(verdict)
      onVerdict()
    },
    complete: () => {
      events.push('complete')
      complete()
    },
  })
  return { events, cancel: (): void => subscription.unsubscribe(), completed, decided }
}

describe('post', () => {
  it('starts nothing at or after the deadline (DE4)', async () => {
    const receiver = await receive()
    const clock = virtualClock()
    const client = clientTo(receiver.url)
    const late = [{ _tag: 'Left', left: { _tag: 'Retryable', reason: 'late' } }, 'complete']
    expect(start(client, { until: clock.now(), clock }).events).toMatchObject(late)
    const inTime = await start(client, { until: clock.now() + 1, clock }).completed
    expect(inTime).toMatchObject([{ _tag: 'Right' }, 'complete'])
    expect(receiver.received).toHaveLength(1)
  })

  it('reads 16 KiB of an answer and keeps the connection; with one byte more it drops it (webhooks/S26)', async () => {
    const receiver = await receive([sized(16_384), sized(16_384), sized(16_385), sized(1)])
    const client = clientTo(receiver.url)
    const accepted: number[] = []
    for (let i = 0; i < 4; i++) {
      expect(await start(client).completed).toMatchObject([{ _tag: 'Right' }, 'complete'])
      accepted.push(receiver.accepted())
    }
    expect(accepted).toEqual([1, 1, 1, 2])
  })

  it('shares equal verdicts, but not those with a Retry-After: waiting events hold them', async () => {
    const busy: Misbehaviour = { do: 'status', code: 503 }
    const asking: Misbehaviour = { ...busy, headers: { 'Retry-After': '7' } }
    const receiver = await receive([busy, asking, busy, { do: 'reset' }, { do: 'reset' }])
    const clock = virtualClock()
    const client = clientTo(receiver.url)
    const verdicts: Verdict[] = []
    for (let i = 0; i < 5; i++) verdicts.push(await start(client, { clock }).decided)
    expect(verdicts[1]).toMatchObject({ left: { status: 503, notBefore: clock.now() + 7_000 } })
    expect(verdicts[2]).toBe(verdicts[0])
    // The failures are shared, their verdicts are not.
    const failures = verdicts.slice(3).map((verdict) => (verdict._tag === 'Left' ? verdict.left : undefined))
    const detail = expect.stringMatching(/before an answer came$/) as unknown
    expect(failures[0]).toMatchObject({ reason: 'network', detail })
    expect(failures[1]).toBe(failures[0])
  })
})

it('the body of an answer comes before the end if it is whole and not larger than `maxBody`', async () => {
  const whole = [sized(10), sized(100), sized(101), sized(50_000), sized(50_001), sized(0)]
  const receiver = await receive([...whole, { do: 'truncate', code: 200, at: 10 }])
  const client = clientTo(receiver.url)
  const bodyOf = async (maxBody: number): Promise<unknown> => {
    const events = await start(client, { maxBody }).completed
    expect(events[0]).toMatchObject({ _tag: 'Right' })
    return events.filter((each) => typeof each !== 'object')
  }
  expect(await bodyOf(0)).toEqual(['complete'])
  expect(await bodyOf(100)).toEqual([100, 'complete'])
  expect(await bodyOf(100)).toEqual(['complete'])
  expect(await bodyOf(50_000)).toEqual([50_000, 'complete'])
  // One connection so far: what is not wanted is drained.
  expect([receiver.accepted(), await bodyOf(50_000)]).toEqual([1, ['complete']])
  expect(await bodyOf(100)).toEqual([0, 'complete'])
  expect([await bodyOf(100), receiver.accepted()]).toEqual([['complete'], 2])
})

it('the end of a connection is read before it is used again', async () => {
  const server = await listen(createServer((_, response) => void response.end().socket?.end()))
  use(server, server.close)
  const client = clientTo(`http://127.0.0.1:${server.port}/`)
  let failed = 0
  for (let n = 0; n < 100; n++) failed += Number('left' in ((await start(client).completed)[0] as Verdict))
  expect(failed).toBeLessThan(10)
})

it('a cancel leaves no socket inside the verdict', async () => {
  const receiver = await receive([{ do: 'headersOnly', code: 200 }])
  const request = start(clientTo(receiver.url), { onVerdict: () => request.cancel() })
  await request.decided
  await until(() => receiver.connections() === 0)
  expect(request.events).toHaveLength(1)
})

it('a cancel before the connection is there destroys its socket', async () => {
  const server = await muteServer()
  use(server, server.close)
  const request = start(clientTo(`https://127.0.0.1:${server.port}/`, 600_000))
  await until(() => server.sockets.size === 1)
  request.cancel()
  await until(() => server.sockets.size === 0)
  expect(request.events).toEqual([])
})

it('close aborts at its timeout, on the clock that it is given; what it aborts may be retried', async () => {
  const receiver = await receive(() => ({ do: 'silence' }))
  const clock = virtualClock()
  const client = clientTo(receiver.url)
  const all = [start(client), start(client)]
  await receiver.arrived(2)
  let closed = 0
  const closing = [30_000, 20_000].map((timeout) => client.close({ timeout, clock }).then(() => closed++))
  clock.tick(19_999)
  await clock.settle()
  expect([closed, ...all.flatMap(({ events }) => events)]).toEqual([0])
  clock.tick(1)
  await Promise.all(closing)
  const left = { _tag: 'Retryable', reason: 'network', detail: 'the close of the sink cut its request' }
  for (const { events } of all) expect(events).toMatchObject([{ left }, 'complete'])
  expect(clock.pending()).toBe(0)
  await client.close({ timeout: 0 })
})

describe('undici is loaded at the first request', () => {
  afterEach(() => vi.doUnmock('undici/lib/dispatcher/client.js'))

  const freshTo = async (url: string, load: () => Promise<unknown>): Promise<Sink<Posting>> => {
    vi.resetModules()
    vi.doMock('undici/lib/dispatcher/client.js', load)
    const { postTo: freshPostTo } = await import('../../src/http/post.ts')
    return freshPostTo(new URL(url), [], {}, (posting: Posting) => posting)
  }
  const undici = async () => vi.importActual('undici/lib/dispatcher/client.js')

  it('and a failure says that it could not be; the next request tries again', async () => {
    const receiver = await receive()
    let mayLoad = false
    const client = await freshTo(receiver.url, async () => (mayLoad ? undici() : Promise.reject(new Error())))
    const detail = expect.stringMatching(/^the package undici could not be loaded: /) as unknown
    const left = { _tag: 'Retryable', reason: 'network', detail }
    expect(await start(client).completed).toMatchObject([{ left }, 'complete'])
    mayLoad = true
    expect(await start(client).completed).toMatchObject([{ _tag: 'Right' }, 'complete'])
    await client.close({ timeout: 0 })
  })

  it.each(['cut', 'cancelled', 'let end'])('and a close under way ends: the request is %s', async (how) => {
    const receiver = await receive()
    let load = (): void => undefined
    const mayLoad = new Promise<void>((resolve) => (load = resolve))
    const client = await freshTo(receiver.url, async () => mayLoad.then(undici))
    const request = start(client)
    const closed = client.close({ timeout: how === 'cut' ? 0 : 10_000 })
    if (how === 'cancelled') request.cancel()
    if (how === 'let end') load()
    await closed
    load()
    await new Promise((resolve) => setTimeout(resolve, 20))
    const cut = { left: { detail: 'the close of the sink cut its request' } }
    const told = { cut: [cut, 'complete'], cancelled: [], 'let end': [{ _tag: 'Right' }, 'complete'] }[how]
    expect(request.events).toMatchObject(told ?? ['unknown'])
    expect(receiver.accepted()).toBe(how === 'let end' ? 1 : 0)
  })
})
