import * as fc from 'fast-check'
import * as t from 'io-ts'
import { describe, expect, it } from 'vitest'
import { Event, ParsedEvent, eventCodec, eventReader } from '../../src/event/event.ts'
import { decoded, pathsIn, textsIn } from '../support/decoded.ts'
import { forAll, throwing } from '../support/check.ts'

const eventIn = (input: unknown, codec: t.Type<Event, unknown> = Event): Event => decoded(codec, input)
const track = (properties: unknown) => ({ type: 'track', userId: 'u', event: 'e', properties })

describe('decoding a call', () => {
  it('gets a random UUID and the time of the machine by default', () => {
    const { messageId, timestamp } = eventIn({ type: 'delete', userId: 'u1' })
    expect(messageId).toMatch(/^[\da-f]{8}-([\da-f]{4}-){3}[\da-f]{12}$/)
    const age = Date.now() - Date.parse(timestamp)
    expect(age >= 0 && age < 60_000).toBe(true)
  })

  it('names the keys that it loses, if there are any', () => {
    const dropped: Array<ReadonlyArray<string>> = []
    const codec = eventCodec({ onUnknownKeys: (keys) => void dropped.push(keys) })
    eventIn({ type: 'identify', userId: 'u', sentAt: 1, event: 'x', writeKey: 'k' }, codec)
    eventIn({ type: 'identify', userId: 'u', traits: {} }, codec)
    expect(dropped).toEqual([['sentAt', 'event', 'writeKey']])
    const call = { type: 'track', userId: 'u', event: 'e' }
    eventIn({ cache: 1, toJSON: () => ({ ...call, propertes: {}, sentAt: undefined }) }, codec)
    expect(dropped[1]).toEqual(['propertes'])
    eventIn(new Proxy(call, { ownKeys: throwing('planted') }), codec)
    for (const later of [undefined, 1]) eventIn({ ...call, later }, codec)
    expect(dropped[2]).toEqual(['later'])
    const failing = eventCodec({ onUnknownKeys: throwing('planted') })
    expect(eventIn({ type: 'delete', userId: 'u', x: 1 }, failing)).toMatchObject({ userId: 'u' })
  })

  it.each([5, '', 'x'.repeat(257), undefined, {}])('has no id that is %j', (id) =>
    expect(() => eventCodec({ newId: () => id as string }).decode(track({}))).toThrow('1 to 256'),
  )

  it('is not copied if it is owned, but where it is not plain JSON data', () => {
    const call = { ...track({ a: { b: 1 } }), integrations: { All: true } }
    const owned = eventIn(call, ParsedEvent)
    expect(owned.type === 'track' && owned.properties).toBe(call.properties)
    expect(owned.type === 'track' && owned.integrations).toBe(call.integrations)
    expect(eventIn(track(JSON.parse('{"n":-0}')), ParsedEvent)).toHaveProperty('properties', { n: 0 })
    const infinite = track(JSON.parse('{"n":1e400}'))
    const fault = 'properties.n: is NaN or infinite: JSON has no such number'
    expect(textsIn(ParsedEvent, infinite)).toEqual([fault])
  })
})

it('stands inside a codec of a host', () => {
  const envelope = t.type({ tenant: t.string, batch: t.array(Event) })
  const batch = ['delete', 'track'].map((type) => ({ type, userId: 'u' }))
  expect(pathsIn(envelope, { tenant: 1, batch })).toEqual(['tenant', 'batch[1].event'])
})

it('says whether a value is a canonical event', () => {
  const event = eventIn({ type: 'page', userId: 'u', traits: { a: 1 } })
  expect(Event.is(event)).toBe(true)
  const changes = [
    ...[{ userId: undefined, anonymousId: 'a' }, { userId: '' }, { timestamp: '2024-02-29T00:00:00Z' }],
    ...[{ context: undefined }, { context: { when: new Date(0) } }, { traits: {} }, { version: 1 }],
  ].map((change) => ({ ...event, ...change }))
  const { messageId: _, ...bare } = eventIn({ type: 'delete', userId: 'u' })
  for (const off of [...changes, bare, undefined, [event]]) expect(Event.is(off)).toBe(false)
})

describe('decoding a wrong call', () => {
  it('names every fault at once, without values', () =>
    expect(
      textsIn(Event, {
        type: 'track',
        userId: 4711,
        timestamp: 'yesterday, hunter2',
        properties: { total: Number.NaN, items: [{ sku: 1n }], tags: new Set(['hunter2']) },
        integrations: { Warehouse: 'hunter2' },
      }),
    ).toEqual([
      'timestamp: must be a Date or an ISO 8601 date and time with a zone, such as 2024-02-29T12:00:00.000Z, on a day that exists, in the years 0000 to 9999',
      'event: is missing: it must be a string that is not empty',
      'properties.total: is NaN or infinite: JSON has no such number',
      'properties.items[0].sku: is a BigInt: write it as a string',
      'properties.tags: is a Set, which JSON cannot hold: use an array',
      'userId: must be a string, not a number',
      'integrations.Warehouse: must be true, false or an object, not a string',
    ]))

  it('refuses what is no event', () => {
    const example = 'must be an object, such as {"type":"track","userId":"u1","event":"Signed Up"}'
    const wrong = [undefined, [], 'track', new Map(), { type: 'Track', userId: 'u' }]
    expect(wrong.flatMap((each) => textsIn(Event, each))).toEqual([
      `: ${example}, not undefined`,
      `: ${example}, not an array`,
      `: ${example}, not a string`,
      `: ${example}, not a Map`,
      'type: must be one of page, screen, identify, track, alias, group, delete',
    ])
  })

  it('wants a userId of a page if the codec says so', () => {
    const codec = eventCodec({ pageNeedsUserId: true })
    const page = { type: 'page', anonymousId: 'a' }
    expect([pathsIn(codec, page), pathsIn(codec, { ...page, userId: 'u' })]).toEqual([['userId'], []])
    expect(pathsIn(Event, page)).toEqual([])
  })

  it('refuses a call without a timestamp while the clock is outside the years 0000 to 9999', () => {
    for (const now of [Number.NaN, 8.64e15, -8.64e15]) {
      const codec = eventCodec({ clock: { now: () => now } })
      expect(pathsIn(codec, { type: 'delete', userId: 'u' })).toEqual(['timestamp'])
    }
  })
})

describe('eventReader', () => {
  it('takes the kind from the method that was called', () => {
    const read = eventReader()
    expect(read({ userId: 'u' }, 'identify')).toMatchObject({ right: { type: 'identify', userId: 'u' } })
    expect(read({ type: 'track', userId: 'u' }, 'identify')).toMatchObject({ left: [{ steps: ['type'] }] })
    expect(read({ type: 'track', userId: 'u' })).toMatchObject({ left: [{ steps: ['event'] }] })
  })

  it('names the unknown keys of each call, whatever the keys of the call before', () => {
    const known = { delete: ['messageId'], identify: ['messageId', 'traits', 'context'] }
    const calls = fc.array(
      fc.record({
        type: fc.constantFrom<keyof typeof known>('delete', 'identify'),
        keys: fc.shuffledSubarray(['messageId', 'traits', 'context', 'extra', 'toString']),
      }),
    )
    forAll(calls, (list) => {
      const dropped: Array<ReadonlyArray<string>> = []
      const read = eventReader({ onUnknownKeys: (keys) => dropped.push(keys) })
      for (const { type, keys } of list) {
        const call = keys.map((key) => [key, key === 'messageId' ? 'm' : {}])
        read({ ...Object.fromEntries(call), type, userId: 'u' })
      }
      const unknown = list.map(({ type, keys }) => keys.filter((key) => !known[type].includes(key)))
      expect(dropped).toEqual(unknown.filter((keys) => keys.length > 0))
    })
  })

  it('looks for dropped keys only while there is a listener', () => {
    const dropped: Array<ReadonlyArray<string>> = []
    let isListening = false
    const read = eventReader({ onUnknownKeys: (keys) => dropped.push(keys) }, () => isListening)
    read({ type: 'delete', userId: 'u', extra: 1 })
    isListening = true
    read({ type: 'delete', userId: 'u', other: 1 })
    expect(dropped).toEqual([['other']])
  })
})
