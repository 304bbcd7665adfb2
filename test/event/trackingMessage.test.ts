import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { trackingText, type Tracked } from '../../src/event/trackingMessage.ts'
import { callOf, Event, ParsedEvent, toTrackingMessage, type Call } from '../../src/event/index.ts'
import { anyEvent } from '../../src/testing/laws/events.ts'
import { decoded } from '../support/decoded.ts'
import { forAll } from '../support/check.ts'

const library = { name: 'headrace-node', version: '1.2.3' }
const timestamp = '2024-02-29T12:00:00.000Z'
const isTracked = (each: Event): each is Tracked => each.type !== 'delete'

const tracked = (call: unknown): Tracked => {
  const event = decoded(Event, call)
  return isTracked(event) ? event : expect.unreachable()
}

const written = (call: Record<string, unknown>): string =>
  JSON.stringify(toTrackingMessage(tracked({ messageId: 'm', timestamp, ...call }), library))

const read = (call: Record<string, unknown>) => JSON.parse(written(call)) as Record<string, unknown>
const base = { messageId: 'm', timestamp, context: { library } }
const track = { type: 'track', anonymousId: 'a', event: 'E' }
const empty = { traits: {}, context: {} }

describe('a message of the convention', () => {
  it.each([
    [{ type: 'identify', userId: 'B' }, {}],
    [{ type: 'identify', userId: 'B', integrations: {} }, empty],
    [track, { properties: {} }],
    [{ type: 'group', userId: 'u', groupId: 'g' }, { traits: {} }],
  ])('clients/1: %j has no key that was not given, but for the library', (call, more) =>
    expect(read({ ...call, ...more })).toEqual({ ...base, ...call }),
  )

  it('clients/8: the library is always there; the own one of a caller stays', () => {
    const identify = { type: 'identify', userId: 'u' }
    const contextOf = (context: unknown): unknown => read({ ...identify, context })['context']
    expect(contextOf({ whatever: 'here' })).toEqual({ whatever: 'here', library })
    expect(contextOf(undefined)).toEqual({ library })
    expect(contextOf({ library: { name: 'mine' } })).toEqual({ library: { name: 'mine' } })
    for (const wiped of [null, 'none', [], false])
      expect(contextOf({ ip: '::1', library: wiped })).toEqual({ ip: '::1', library })
  })

  it('clients/14: has its keys in one order, and so the same bytes every time', async () => {
    const ids = { userId: 'u-1', anonymousId: 'anon-1' }
    const more = { context: { ip: '203.0.113.7' }, integrations: { All: false, Warehouse: true } }
    // In another order than the one on the wire.
    const url = 'https://a.example/?q=1'
    const calls: ReadonlyArray<Record<string, unknown>> = [
      { traits: { plan: 'pro', name: 'Zoë' }, ...ids, type: 'identify' },
      { properties: { price: 9.5, tags: ['a', '☕'] }, event: 'Order Completed', ...ids, type: 'track' },
      { properties: { url }, category: 'Docs', name: 'Start', ...ids, type: 'page' },
      { properties: {}, category: 'App', name: 'Home', ...ids, type: 'screen' },
      { traits: { seats: 3 }, groupId: 'g-1', ...ids, type: 'group' },
      { previousId: 'anon-1', ...ids, type: 'alias' },
    ]
    const text = calls.map((call, at) => written({ ...more, ...call, messageId: `m-${at}` })).join('\n')
    const golden = new URL('../fixtures/tracking/messages.ndjson', import.meta.url)
    await expect(`${text}\n`).toMatchFileSnapshot(golden.pathname)
  })

  it('decodes to the same event, but for the library', () =>
    forAll(anyEvent.filter(isTracked), (each) => {
      const message = toTrackingMessage(each, library)
      const { context } = message
      expect(callOf(decoded(ParsedEvent, JSON.parse(JSON.stringify(message))))).toEqual(
        callOf({ ...each, context } as Event) satisfies Call,
      )
    }))

  it('the spliced text is byte for byte that of JSON.stringify', () => {
    const odd = fc.constantFrom('', 'm-1', 'a"b', '\\', '\0', '\u001f', '\u007f', '\ud800', 'ü', '☕', ' ')
    const text = fc.oneof(odd, fc.string({ unit: 'binary', maxLength: 8 }))
    const left = fc.constantFrom(undefined, Symbol('left out'), () => 1)
    const data = fc.dictionary(text, fc.oneof(left, fc.jsonValue()), { maxKeys: 3 })
    const own = fc.record({ library: fc.oneof(left, fc.jsonValue(), fc.constant({ name: 'mine' })) })
    const both = fc.tuple(data, own, data).map((all) => Object.assign({}, ...all))
    const context = fc.oneof(data, own, both)
    const given = fc.record({ name: text, version: text })
    const fields = { messageId: text, userId: text, event: text, groupId: text, name: text, previousId: text }
    const changes = fc.record(fields, { requiredKeys: [] })
    const optional = { context, properties: data, traits: data, integrations: data }
    const parts = fc.record(optional, { requiredKeys: [] })
    forAll(anyEvent.filter(isTracked), changes, parts, given, (event, texts, parts, library) => {
      for (const each of [event, { ...event, ...texts }, { ...event, ...texts, ...parts }] as Tracked[])
        expect(trackingText(library)(each)).toBe(JSON.stringify(toTrackingMessage(each, library)))
    })
  })
})
