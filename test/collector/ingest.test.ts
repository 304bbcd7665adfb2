import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LogEvent } from '../../src/log/logEvent.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { ask, open, track, type Setting } from './kit.ts'

const NOW = '2026-01-01T00:00:00.000Z'
const start = (): Setting => open({ clock: virtualClock(), newId: () => 'made' })

const post = async ({ collector }: Setting, path: string, body: unknown): Promise<unknown> =>
  (await ask(collector, path, body)).json()

const sent = async (path: string, body: unknown): Promise<ReadonlyArray<Record<string, unknown>>> => {
  const setting = start()
  await post(setting, path, body)
  return setting.sink.items().map(({ text }) => JSON.parse(text ?? '') as Record<string, unknown>)
}

it.each([() => expect.fail('hunter2'), () => ''])('a failing newId: 503 and a Defect', async (newId) => {
  const events: LogEvent[] = []
  const call = { type: 'track', userId: 'u', event: 'e' }
  const { collector, sink } = open({ newId, onEvent: (event) => events.push(event) })
  for (const path of ['/v1/track', '/v1/batch', '/v1/delete']) {
    const body = path === '/v1/delete' ? { userId: 'u' } : { ...call, batch: [track('m'), call] }
    const response = await ask(collector, path, body)
    expect([response.status, await response.text()]).toEqual([503, expect.not.stringContaining('hunter2')])
  }
  expect(events.filter(({ _tag }) => _tag === 'Defect')).toHaveLength(3)
  expect(sink.items()).toEqual([])
})

const kinds = ['identify', 'track', 'page', 'screen', 'group', 'alias']
describe('a message', () => {
  it.each(kinds)('posted to /v1/%s, or to its first letter, is of that kind', async (type) => {
    const ids = { userId: 'u', event: 'e', groupId: 'g', previousId: 'p' }
    for (const path of [type, type.charAt(0)]) {
      const [event] = await sent(`/v1/${path}`, { type: 'track', ...ids })
      expect(event).toMatchObject({ type, version: 1, messageId: 'made', timestamp: NOW, context: {} })
    }
    expect(await sent('/v1/b', { batch: [{ type, ...ids }] })).toMatchObject([{ type }])
  })

  it('of a page may have either id, and its traits become properties', async () => {
    const page = { anonymousId: 'a', properties: { url: 'x' }, traits: { url: 'y', title: 't' } }
    const [event] = await sent('/v1/page', page)
    expect(event).toMatchObject({ anonymousId: 'a', properties: { url: 'x', title: 't' } })
    expect(event).not.toHaveProperty('userId')
  })

  it('has its own time, else the time of receipt', async () => {
    const then = '2020-02-29T12:00:00.000Z'
    const at = async (times: object): Promise<unknown> =>
      (await sent('/v1/batch', { batch: [track('m', times)], sentAt: 'whenever' }))[0]?.['timestamp']
    expect(await at({})).toBe(NOW)
    expect(await at({ originalTimestamp: then })).toBe(then)
    expect(await at({ originalTimestamp: then, timestamp: null })).toBe(then)
    const later = '2021-01-01T00:00:00.000Z'
    expect(await at({ originalTimestamp: then, timestamp: '2021-01-01T00:00:00Z' })).toBe(later)
    expect(await at({ originalTimestamp: 'never' })).toBeUndefined()
    expect(await at({ originalTimestamp: null })).toBe(NOW)
  })

  it('has the context and integrations of its batch, below its own', async () => {
    const setting = start()
    await post(setting, '/v1/batch', {
      context: { ip: '1', library: { name: 'go' } },
      integrations: { Own: false },
      batch: [
        track('a'),
        track('b', { context: { ip: '2' }, integrations: { Own: true } }),
        track('c', { context: null, integrations: { All: true } }),
      ],
    })
    const [only, ...others] = setting.sink.items()
    expect(others).toEqual([])
    const context = { ip: '2', library: { name: 'go' } }
    expect(JSON.parse(only?.text ?? '')).toMatchObject({ messageId: 'b', context })
    expect(setting.collector.stats()).toMatchObject({ accepted: 3, unrouted: 2 })
  })

  it('loses members that are null', async () => {
    const keys = ['anonymousId', 'context', 'integrations', 'properties', 'messageId', 'timestamp']
    const nulls = Object.fromEntries(keys.map((key) => [key, null]))
    const own = { userId: 'u', event: 'e' }
    const empty = { properties: {}, context: {} }
    const made = { version: 1, type: 'track', ...own, ...empty, timestamp: NOW, messageId: 'made' }
    expect(await sent('/v1/track', { ...own, ...nulls })).toEqual([made])
    const answer = await post(start(), '/v1/track', { userId: null, event: 'e' })
    expect(answer).toMatchObject({ ok: false, okEvents: 0 })
  })

  it.each([
    ['a prototype', ',"__proto__":{"x":1}}]}'],
    ['one in its context', ',"context":{"__proto__":1}}]}'],
    ['one in the context of its batch', '}],"context":{"__proto__":1}}'],
  ])('with %s is refused', async (_, rest) => {
    const text = `{"batch":[{"type":"track","userId":"u","event":"e"${rest}`
    expect((await ask(start().collector, '/v1/batch', text)).status).toBe(400)
    expect(Object.keys(Object.prototype)).toEqual([])
  })

  it('may have an id of 256 characters, and no longer one', async () => {
    const long = 'x'.repeat(257)
    expect(await post(start(), '/v1/batch', { batch: [track(long), track(long.slice(1))] })).toMatchObject({
      okEvents: 1,
      errors: [{ index: 0, messageId: long.slice(1), reason: 'messageId: must have at most 256 characters' }],
    })
  })

  it('from code is accepted as over HTTP, and copied', async () => {
    const { collector, sink } = start()
    const message = { ...track('a'), properties: { list: [1] } }
    expect(await collector.accept('web', message)).toEqual({ _tag: 'Right', right: { id: 'a' } })
    message.properties.list.push(2)
    const [event] = sink.items()[0]?.items ?? []
    expect(event).toMatchObject({ properties: { list: [1] } })
    const large = track('e', { properties: { text: 'x'.repeat(32_768) } })
    for (const [source, each, refusal] of [
      ['web', track('b', { userId: 5 }), { faults: [{ path: 'userId' }], input: { messageId: 'b' } }],
      ['web', { type: 'delete', userId: 'u' }, { _tag: 'Invalid' }],
      ['unknown', track('c'), { _tag: 'Invalid' }],
      ['off', track('d'), { _tag: 'Disabled' }],
      ['web', new Proxy({}, { get: () => expect.unreachable() }), { _tag: 'Invalid' }],
      ['web', large, { _tag: 'TooLarge', limit: 32_768, id: 'e' }],
    ] as const)
      expect(await collector.accept(source, each)).toMatchObject({ left: refusal })
    const self: Record<string, unknown> = { ...track('f') }
    self['unknown'] = self
    expect(await collector.accept('web', self)).toMatchObject({ _tag: 'Right' })
  })

  it.each([
    [16_400, 1],
    [300, 2],
  ])('with an unknown key %i levels deep takes nothing from the others', async (depth, accepted) => {
    const { collector, ids } = open()
    const junk = '['.repeat(depth) + ']'.repeat(depth)
    const body = `{"batch":[${JSON.stringify(track('a'))},{"type":"track","userId":"u","event":"p","messageId":"b","junk":${junk}}],"more":"${'x'.repeat(33_000)}"}`
    expect((await ask(collector, '/v1/batch', body)).status).toBe(200)
    expect(collector.stats()).toMatchObject({ received: 2, accepted })
    expect(ids()).toEqual(['a', 'b'].slice(0, accepted))
  })

  it('may begin with a byte order mark', async () => {
    const { collector } = open()
    expect((await ask(collector, '/v1/track', `\u{feff}${JSON.stringify(track('a'))}`)).status).toBe(200)
  })

  it('is logged without its write key', async () => {
    const events: LogEvent[] = []
    const setting = open({ onEvent: (event) => events.push(event) })
    const statusOf = async (path: string, body: object): Promise<number> =>
      (await ask(setting.collector, path, body, {})).status
    const writeKey = 'wk'
    expect(await statusOf('/v1/track', { writeKey, userId: 5 })).toBe(400)
    expect(await statusOf('/v1/delete', { writeKey, userId: 5 })).toBe(400)
    const batch = [{ ...track('a'), writeKey, userId: 5 }]
    expect(await statusOf('/v1/batch', { writeKey, batch })).toBe(400)
    expect(await statusOf('/v1/track', { writeKey, ...track('b') })).toBe(200)
    expect(events.filter(({ _tag }) => _tag === 'NotAccepted')).toHaveLength(3)
    expect(JSON.stringify(events)).not.toMatch(/wk|writeKey/)
  })
})

const LIMIT = 500
const message = fc
  .record({
    type: fc.constantFrom(...kinds),
    key: fc.constantFrom('properties', 'traits', 'context', 'integrations', 'other', 'name'),
    beside: fc.constantFrom({}, { properties: { a: 1 } }, { context: null }, { traits: { '\u2028': 'é"' } }),
    fill: fc.constantFrom('x', 'é', '\u0001', '"', '\u{1F600}'),
    off: fc.integer({ min: -3, max: 2 }),
  })
  .map(({ type, key, beside, fill, off }) => {
    const ids = { type, messageId: 'm', userId: 'u', event: 'e', groupId: 'g', previousId: 'p' }
    const of = (text: string) => ({ ...ids, ...beside, [key]: key === 'name' ? text : { Own: { text } } })
    const bytes = (text: string): number => Buffer.byteLength(JSON.stringify(of(text)))
    const text = fill.repeat(Math.floor((LIMIT + off - bytes('')) / (bytes(fill) - bytes(''))))
    return of(text + 'x'.repeat(LIMIT + off - bytes(text)))
  })

it('the bound of a message is that of its JSON, wherever its data stands', async () => {
  const seen = new Set<boolean>()
  const judged = fc.asyncProperty(message, async (one) => {
    const setting = open({ clock: virtualClock(), newId: () => 'made', maxMessageBytes: LIMIT })
    const fits = Buffer.byteLength(JSON.stringify(one)) <= LIMIT
    const { status } = await ask(setting.collector, '/v1/batch', { batch: [one, track('padding')] })
    const { accepted, reasons } = setting.collector.stats()
    seen.add(fits)
    expect([status, accepted, reasons.TooLarge]).toEqual(fits ? [200, 2, 0] : [200, 1, 1])
  })
  await fc.assert(judged, { numRuns: 300 })
  expect(seen.size).toBe(2)
})

describe('a deletion', () => {
  it('over HTTP concerns its source, and answers the number of notifications', async () => {
    const setting = start()
    const call = { userId: 'u', messageId: 'd', properties: { x: 1 }, integrations: { All: false } }
    expect(await post(setting, '/v1/delete', call)).toEqual({ ok: true, notifications: 1 })
    const [payload] = setting.sink.items()
    expect([payload?.id, payload?.text]).toEqual(['d', `{"type":"delete","userId":"u","timestamp":"${NOW}"}`])
    expect(setting.collector.stats()).toMatchObject({ received: 0, deletions: 1 })
  })

  it('from code concerns every source by default, also one that is off', async () => {
    const { collector, sink } = start()
    expect(await collector.requestDeletion('u')).toEqual({ _tag: 'Right', right: { notifications: 3 } })
    const right = { notifications: 1 }
    expect(await collector.requestDeletion('u', { sources: ['off'] })).toMatchObject({ right })
    const wrong = async (userId: string, path: string, sources: unknown = ['web'], more = {}) =>
      expect(await collector.requestDeletion(userId, { sources, ...more } as never)).toMatchObject({
        left: { _tag: 'Invalid', faults: [{ path }] },
      })
    await wrong('u', 'sources[1]', ['web', 'x'])
    await wrong('', 'userId')
    await wrong('u', 'sources', 'web')
    await wrong('u', 'sources', ['web'], { sources: undefined })
    await wrong('u', 'source', ['web'], { source: ['web'] })
    collector.disable('Own')
    expect(await collector.requestDeletion('u')).toMatchObject({ right: { notifications: 0 } })
    expect(sink.items()).toHaveLength(4)
  })
})
