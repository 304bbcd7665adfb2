import { describe, expect, it } from 'vitest'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { basic } from './mounts.ts'
import { open, track } from './setting.ts'
import type { Setting } from './setting.ts'

const NOW = '2026-01-01T00:00:00.000Z'

const start = (): Setting => open({ clock: virtualClock(), newId: () => 'made' })

const post = async ({ collector }: Setting, path: string, body: unknown): Promise<unknown> => {
  const request = new Request(`http://x${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { Authorization: basic('wk:') },
  })
  return (await collector.handle(request)).json()
}

/** What a body leads to at a destination. */
const sent = async (path: string, body: unknown): Promise<ReadonlyArray<Record<string, unknown>>> => {
  const setting = start()
  await post(setting, path, body)
  return setting.sink.items().map(({ text }) => JSON.parse(text ?? '') as Record<string, unknown>)
}

describe('a message', () => {
  it.each(['identify', 'track', 'page', 'screen', 'group', 'alias'])(
    'posted to /v1/%s is of that kind',
    async (type) => {
      const [event] = await sent(`/v1/${type}`, {
        type: 'track',
        userId: 'u',
        event: 'e',
        groupId: 'g',
        previousId: 'p',
      })
      expect(event).toMatchObject({ type, version: 1, messageId: 'made', timestamp: NOW, context: {} })
    },
  )

  it('may come with either id for a page, and its traits fill its properties', async () => {
    const [event] = await sent('/v1/page', {
      anonymousId: 'a',
      properties: { url: 'x' },
      traits: { url: 'y', title: 't' },
    })
    expect(event).toMatchObject({ anonymousId: 'a', properties: { url: 'x', title: 't' } })
    expect(event).not.toHaveProperty('userId')
  })

  it('has the time when it happened, else the time of receipt', async () => {
    const then = '2020-02-29T12:00:00.000Z'
    const at = async (times: object): Promise<unknown> =>
      (await sent('/v1/batch', { batch: [track('m', times)], sentAt: 'whenever' }))[0]?.['timestamp']
    expect(await at({})).toBe(NOW)
    expect(await at({ originalTimestamp: then })).toBe(then)
    expect(await at({ originalTimestamp: then, timestamp: null })).toBe(then)
    expect(await at({ originalTimestamp: then, timestamp: '2021-01-01T00:00:00Z' })).toBe(
      '2021-01-01T00:00:00.000Z',
    )
    expect(await at({ originalTimestamp: 'never' })).toBeUndefined()
    expect(await at({ originalTimestamp: null })).toBe(NOW)
  })

  it('has the context and the integrations of its batch, under its own', async () => {
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
    expect(JSON.parse(only?.text ?? '')).toMatchObject({
      messageId: 'b',
      context: { ip: '2', library: { name: 'go' } },
    })
    expect(setting.collector.stats()).toMatchObject({ accepted: 3, unrouted: 2 })
  })

  it('whose members are null has none of them: so senders in other languages say that they do not know', async () => {
    const nulls = {
      anonymousId: null,
      context: null,
      integrations: null,
      properties: null,
      messageId: null,
      timestamp: null,
    }
    expect(await sent('/v1/track', { userId: 'u', event: 'e', ...nulls })).toEqual([
      {
        version: 1,
        type: 'track',
        userId: 'u',
        event: 'e',
        properties: {},
        context: {},
        timestamp: NOW,
        messageId: 'made',
      },
    ])
    const setting = start()
    expect(await post(setting, '/v1/track', { userId: null, event: 'e' })).toMatchObject({
      ok: false,
      okEvents: 0,
    })
  })

  it.each([
    ['a prototype', '{"batch":[{"type":"track","userId":"u","event":"e","__proto__":{"x":1}}]}'],
    ['one in its context', '{"batch":[{"type":"track","userId":"u","event":"e","context":{"__proto__":1}}]}'],
    [
      'one in the context of its batch',
      '{"batch":[{"type":"track","userId":"u","event":"e"}],"context":{"__proto__":1}}',
    ],
  ])('with %s is refused', async (_, text) => {
    const { collector } = start()
    const request = new Request('http://x/v1/batch', {
      method: 'POST',
      body: text,
      headers: { Authorization: basic('wk:') },
    })
    expect((await collector.handle(request)).status).toBe(400)
    expect(Object.keys(Object.prototype)).toEqual([])
  })

  it('may have an id of 256 characters, and no longer one', async () => {
    const setting = start()
    const long = 'x'.repeat(257)
    expect(await post(setting, '/v1/batch', { batch: [track(long), track(long.slice(1))] })).toMatchObject({
      okEvents: 1,
      errors: [{ index: 0, messageId: long.slice(1), reason: 'messageId: must have at most 256 characters' }],
    })
  })

  it('from code is taken as if it were posted, is copied, and may come from no other source', async () => {
    const { collector, sink } = start()
    const message = { ...track('a'), properties: { list: [1] } }
    expect(await collector.accept('web', message)).toEqual({ _tag: 'Right', right: { id: 'a' } })
    message.properties.list.push(2)
    const [event] = sink.items()[0]?.items ?? []
    expect(event).toMatchObject({ properties: { list: [1] } })
    expect(await collector.accept('web', track('b', { userId: 5 }))).toMatchObject({
      left: { _tag: 'Invalid', faults: [{ path: 'userId' }], input: { messageId: 'b' } },
    })
    expect(await collector.accept('web', { type: 'delete', userId: 'u' })).toMatchObject({
      left: { _tag: 'Invalid' },
    })
    expect(await collector.accept('nobody', track('c'))).toMatchObject({ left: { _tag: 'Invalid' } })
    expect(await collector.accept('off', track('d'))).toMatchObject({ left: { _tag: 'Disabled' } })
    const large = track('e', { properties: { text: 'x'.repeat(32_768) } })
    expect(await collector.accept('web', large)).toMatchObject({
      left: { _tag: 'TooLarge', limit: 32_768, id: 'e' },
    })
    const self: Record<string, unknown> = { ...track('f') }
    self['unknown'] = self
    expect(await collector.accept('web', self)).toMatchObject({ _tag: 'Right' })
  })
})

describe('a deletion', () => {
  it('posted concerns the source that posts, and says how many were told', async () => {
    const setting = start()
    expect(
      await post(setting, '/v1/delete', {
        userId: 'u',
        messageId: 'd',
        properties: { x: 1 },
        integrations: { All: false },
      }),
    ).toEqual({
      ok: true,
      notifications: 1,
    })
    const [payload] = setting.sink.items()
    expect([payload?.id, payload?.text]).toEqual(['d', `{"type":"delete","userId":"u","timestamp":"${NOW}"}`])
    expect(setting.collector.stats()).toMatchObject({ received: 0, deletions: 1 })
  })

  it('from code concerns every source unless it is said, also one that is off', async () => {
    const { collector, sink } = start()
    expect(await collector.requestDeletion('u')).toEqual({ _tag: 'Right', right: { notifications: 3 } })
    expect(await collector.requestDeletion('u', { sources: ['off'] })).toMatchObject({
      right: { notifications: 1 },
    })
    expect(await collector.requestDeletion('u', { sources: ['web', 'x'] })).toMatchObject({
      left: { _tag: 'Invalid', faults: [{ path: 'sources[1]' }] },
    })
    expect(await collector.requestDeletion('')).toMatchObject({
      left: { _tag: 'Invalid', faults: [{ path: 'userId' }] },
    })
    collector.disable('Own')
    expect(await collector.requestDeletion('u')).toMatchObject({ right: { notifications: 0 } })
    expect(sink.items()).toHaveLength(4)
  })
})
