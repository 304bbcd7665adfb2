/** The two hooks of a host: a `layer` around each URL, and `meta` beside each event, over real servers. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createClient, type ClientOptions, storedMessages } from '../../src/client/index.ts'
import { createCollector } from '../../src/collector/index.ts'
import { webhookDestination, type DestinationOptions } from '../../src/destination/index.ts'
import { makeLayer, type Attempt, type Layer } from '../../src/index.ts'
import type { LogEvent } from '../../src/log/index.ts'
import { exponential } from '../../src/policy/index.ts'
import { virtualClock, type Receiver } from '../../src/testing/index.ts'
import { recordToEvent, toText } from '../../src/destination/record.ts'
import { ask } from '../collector/kit.ts'
import { newFolder } from '../support/folder.ts'
import { receiverOf } from '../support/http.ts'

const sold = (id: string) => ({ type: 'track', userId: 'u', event: 'Sold', messageId: id }) as const
const headersAt = (receiver: Receiver, name: string) => receiver.received.map(({ headers }) => headers[name])

const metaOf = (item: unknown) => (item as { meta?: Record<string, string> }).meta ?? {}

type Headers = Readonly<Record<string, string>>
const withHeaders =
  (headersOf: (item: unknown, attempt: Attempt) => Headers): Layer =>
  (sink) =>
    makeLayer(sink, (subscribe) => (item, attempt, observer) => {
      return subscribe(item, { ...attempt, headers: headersOf(item, attempt) }, observer)
    })

/** Sends the number of the attempt, and the trace of the event, or of each member of a batch. */
const tracing = withHeaders((item, { number }) => {
  const { members = [item] } = item as { members?: ReadonlyArray<unknown> }
  const trace = members.map((each) => metaOf(each)['trace'] ?? 'none').join()
  return { 'X-Trace': trace, 'X-Attempt': String(number) }
})

const retry = exponential({ base: 1 })
const meta = ({ messageId }: { messageId: string }) => ({ trace: `t-${messageId}` })

const destination = (urls: ReadonlyArray<string>, options: DestinationOptions) => {
  const told: LogEvent[] = []
  const how = { retry, logger: false, onEvent: (each: LogEvent) => told.push(each), ...options } as const
  const made = webhookDestination({ webhooks: urls.map((url) => ({ url, headers: { 'X-Team': 'a' } })) }, how)
  onTestFinished(() => made.close({ timeout: 0 }).then(() => undefined))
  return { made, told }
}
const delivered = async (options: DestinationOptions) => {
  const receiver = await receiverOf()
  const { made, told } = destination([receiver.url], options)
  await made.send(sold('m1'))
  await made.idle()
  return { receiver, told }
}
const defectsIn = (told: ReadonlyArray<LogEvent>): ReadonlyArray<string> =>
  told.flatMap((each) => (each._tag === 'Defect' ? [(each.error as Error).message] : []))

describe('a layer of a destination', () => {
  it('adds headers to each attempt at each URL', async () => {
    const busy = [{ do: 'status', code: 503 }] as const
    const [a, b] = [await receiverOf(busy), await receiverOf(busy)]
    const { made } = destination([a.url, b.url], { layer: tracing, meta })
    await made.send(sold('m1'))
    await made.idle()
    // Also the attempt whose sibling was faster.
    await made.close()
    for (const each of [a, b]) {
      expect(headersAt(each, 'x-attempt')).toEqual(['1', '2'])
      expect(headersAt(each, 'x-trace')).toEqual(['t-m1', 't-m1'])
    }
  })

  it('cannot take the place of a header of the request, and is told so', async () => {
    const wrong = { 'X-Team': 'b', Host: 'x', 'X-Bad': 'ä', 'X-Twice': '1', 'x-twice': '2', 'a b': '3' }
    const { receiver, told } = await delivered({ layer: withHeaders(() => wrong) })
    expect(headersAt(receiver, 'x-team')).toEqual(['a'])
    expect(headersAt(receiver, 'x-twice')).toEqual(['1'])
    expect(headersAt(receiver, 'x-bad')).toEqual([undefined])
    expect(defectsIn(told).map((text) => /the header (\S+)/.exec(text)?.[1])).toEqual([
      ...['X-Team', 'Host', 'X-Bad', 'x-twice', '[5]'],
    ])
  })

  it('is inside the limit of time, and put around a URL that update brings, in no context of its caller', async () => {
    const stores = new AsyncLocalStorage<string>()
    const [a, b] = [await receiverOf(), await receiverOf()]
    const around: string[] = []
    const layer: Layer = (sink) => {
      around.push(sink.name + (stores.getStore() ?? ''))
      return makeLayer(
        sink,
        (subscribe) => (item, attempt, observer) =>
          around.length > 1 ? subscribe(item, attempt, observer) : () => undefined,
      )
    }
    const clock = virtualClock()
    const { made, told } = destination([a.url], { layer, clock, timeout: 200 })
    await made.send(sold('m1'))
    await clock.advance(200)
    expect(told.find(({ _tag }) => _tag === 'Attempted')).toMatchObject({ result: { _tag: 'Left' } })
    stores.run(' of a request', () => made.update({ webhooks: [{ url: b.url }] }))
    // The retry. The time of its attempt stands still.
    await clock.advance(5)
    await made.idle()
    expect([around, b.received.length, a.received.length]).toEqual([[a.url, b.url], 1, 0])
  })
})

describe('meta', () => {
  it('of a destination survives a restart over lmdb', async () => {
    const receiver = await receiverOf()
    const path = newFolder()
    const before = destination(['http://127.0.0.1:9/'], { outbox: { path }, meta })
    await before.made.send(sold('m1'))
    const { bytes } = before.made.stats()
    await before.made.close({ timeout: 0 })
    const plain = destination(['http://127.0.0.1:9/'], { outbox: { path: newFolder() } })
    await plain.made.send(sold('m1'))
    expect(bytes - plain.made.stats().bytes).toBe('{"trace":"t-m1"}'.length)
    const { made } = destination([receiver.url], { outbox: { path }, layer: tracing })
    await made.idle()
    expect(headersAt(receiver, 'x-trace')).toEqual(['t-m1'])
  })

  it('of a client survives a restart over lmdb, beside messages without it', async () => {
    const receiver = await receiverOf()
    const path = newFolder()
    const open = (options: ClientOptions) =>
      createClient('k', { logger: false, drainOnExit: false, outbox: { path }, retry, ...options })
    const closed = { endpoint: 'http://127.0.0.1:9/', flushAfter: 60_000, size: 9 }
    for (const [id, more] of [['m1', { meta }] as const, ['m2', {}] as const]) {
      const before = open({ ...closed, ...more })
      before.send(sold(id))
      await before.persisted()
      await before.close({ timeout: 0 })
    }
    const after = open({ endpoint: receiver.url, layer: tracing, headers: { 'X-Team': 'a' } })
    expect(await after.flush()).toMatchObject({ accepted: 2, delivered: 2 })
    expect(headersAt(receiver, 'x-trace').join()).toBe('t-m1,none')
    expect(headersAt(receiver, 'x-team')[0]).toBe('a')
    await after.close()
    const text = '{"type":"page","messageId":"m3","userId":"u"}'
    const message = storedMessages.fromText(text)
    expect([message, storedMessages.toText({ ...message, meta: { a: 'b' } })]).toEqual([
      { id: 'm3', items: ['page'], text, byteLength: text.length },
      `{"meta":{"a":"b"}}\n${text}`,
    ])
  })

  it('of a collector gets the headers of the request, and from says whose the events are', async () => {
    const receiver = await receiverOf()
    const told: LogEvent[] = []
    const settings = {
      sources: [{ id: 'web', writeKey: 'wk' }],
      destinations: [{ name: 'CRM', sources: ['web'], webhooks: [{ url: receiver.url }] }],
    }
    const collector = createCollector(settings, {
      ...{ logger: false, onEvent: (each) => told.push(each), layer: tracing },
      meta: (_, headers) => ({ trace: headers.get('Traceparent') ?? 'none' }),
    })
    const post = (body: object) =>
      ask(collector, '/v1/track', { writeKey: 'wk', ...body }, { traceparent: '00-1' })
    expect([(await post(sold('m1'))).status, (await post({ userId: 7 })).status]).toEqual([200, 400])
    await collector.accept('web', sold('m2'))
    await collector.idle()
    expect(new Set(headersAt(receiver, 'x-trace'))).toEqual(new Set(['00-1', 'none']))
    const whose = told.map(({ _tag, from }) => `${from} ${_tag}`)
    const both = ['collector NotAccepted', 'CRM Accepted', 'CRM Attempted', 'CRM Ended']
    expect(whose).toEqual(expect.arrayContaining(both))
    await collector.close()
  })

  it.each([
    ['has more than 1,024 bytes', () => ({ a: 'x'.repeat(1_020) })],
    ['throws', () => JSON.parse('no') as Record<string, string>],
    ['is no object of texts', () => ({ a: 1 }) as unknown as Record<string, string>],
    ['is a promise', () => Promise.reject(new Error('planted')) as unknown as Record<string, string>],
  ])('that %s is left out', async (_, given) => {
    const { receiver, told } = await delivered({ layer: tracing, meta: given })
    expect(headersAt(receiver, 'x-trace')).toEqual(['none'])
    expect(told.find(({ _tag }) => _tag === 'Defect')).toMatchObject({ from: 'destination', where: 'meta' })
  })

  it('of exactly 1,024 bytes is kept, as a record does', async () => {
    const meta = () => ({ trace: 'x'.repeat(1_012) })
    const { receiver, told } = await delivered({ layer: tracing, meta })
    expect([headersAt(receiver, 'x-trace')[0], defectsIn(told)]).toEqual(['x'.repeat(1_012), []])
    const record =
      '{"id":"m1","meta":{"a":"b"}}\n{"type":"delete","userId":"u","timestamp":"2024-01-01T00:00:00.000Z"}'
    expect([recordToEvent(record).meta, toText(recordToEvent(record))]).toEqual([{ a: 'b' }, record])
  })
})
