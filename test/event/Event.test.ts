import * as t from 'io-ts'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { Event, ParsedEvent, eventCodec } from '../../src/event/event.ts'
import type { EventCodecOptions } from '../../src/event/event.ts'
import type { Call } from '../../src/event/call.ts'
import type { Event as Model } from '../../src/event/kinds.ts'
import { faultsOf } from '../../src/event/codecFaults.ts'
import { faultsIn } from './faultsIn.ts'

const fixed: EventCodecOptions = { clock: { now: () => Date.UTC(2024, 1, 29) }, newId: () => 'new-id' }

describe('a call that is right', () => {
  it('becomes a canonical event, with time and id filled in', () => {
    const decoded = eventCodec(fixed).decode({
      type: 'track',
      userId: 'u1',
      event: 'Signed Up',
      integrations: { All: true },
    })
    expect(isRight(decoded) && decoded.right).toStrictEqual({
      type: 'track',
      userId: 'u1',
      event: 'Signed Up',
      properties: {},
      context: {},
      timestamp: '2024-02-29T00:00:00.000Z',
      messageId: 'new-id',
      integrations: { All: true },
    })
  })

  it('gets a random UUID and the time of the machine by default', () => {
    const decoded = Event.decode({ type: 'delete', userId: 'u1' })
    expect(isRight(decoded) && decoded.right.messageId).toMatch(/^[\da-f]{8}-([\da-f]{4}-){3}[\da-f]{12}$/)
    const age = isRight(decoded) ? Date.now() - Date.parse(decoded.right.timestamp) : -1
    expect(age >= 0 && age < 60_000).toBe(true)
  })

  it('may hold whatever JSON knows how to write', () => {
    class Money {
      readonly amount = 12
      toJSON(): string {
        return `CHF ${this.amount}`
      }
    }
    class Point {
      readonly x = 1
      readonly y = undefined
    }
    const bare: Record<string, unknown> = Object.assign(Object.create(null), { a: 1 })
    const decoded = Event.decode({
      type: 'track',
      userId: 'u',
      event: 'e',
      properties: {
        when: new Date(0),
        price: new Money(),
        at: new Point(),
        bare,
        f: () => 1,
        list: [, 1, () => 1],
      },
    })
    expect(isRight(decoded) && decoded.right.type === 'track' && decoded.right.properties).toStrictEqual({
      when: '1970-01-01T00:00:00.000Z',
      price: 'CHF 12',
      at: { x: 1 },
      bare: { a: 1 },
      list: [null, 1, null],
    })
  })

  it('names the keys that it loses', () => {
    const dropped: Array<ReadonlyArray<string>> = []
    const codec = eventCodec({
      onDropped: (keys) => {
        dropped.push(keys)
        throw new Error('a careless callback')
      },
    })
    expect(
      isRight(codec.decode({ type: 'identify', userId: 'u', sentAt: 1, event: 'x', writeKey: 'k' })),
    ).toBe(true)
    expect(isRight(codec.decode({ type: 'identify', userId: 'u', traits: {} }))).toBe(true)
    expect(dropped).toEqual([['sentAt', 'event', 'writeKey']])
  })

  it('is copied, unless it is owned', () => {
    const call = {
      type: 'track',
      userId: 'u',
      event: 'e',
      properties: { a: { b: 1 } },
      integrations: { All: true },
    }
    const [copied, owned] = [Event.decode(call), ParsedEvent.decode(call)]
    if (isLeft(copied) || isLeft(owned) || copied.right.type !== 'track' || owned.right.type !== 'track') {
      throw new Error('refused')
    }
    expect(copied.right.properties).not.toBe(call.properties)
    expect(copied.right.properties['a']).not.toBe(call.properties.a)
    expect(owned.right.properties).toBe(call.properties)
    expect(owned.right.integrations).toBe(call.integrations)
  })

  it('is copied even when owned, where it is not plain JSON data', () => {
    const decoded = ParsedEvent.decode(
      JSON.parse('{"type":"track","userId":"u","event":"e","properties":{"n":-0}}'),
    )
    expect(isRight(decoded) && decoded.right.type === 'track' && decoded.right.properties).toStrictEqual({
      n: 0,
    })
    expect(
      faultsIn(JSON.parse('{"type":"track","userId":"u","event":"e","properties":{"n":1e400}}'), ParsedEvent),
    ).toEqual([{ path: 'properties.n', message: 'is NaN or infinite: JSON has no such number' }])
  })
})

it('stands inside a codec of a host', () => {
  const envelope = t.type({ tenant: t.string, batch: t.array(Event) })
  const decoded = envelope.decode({
    tenant: 1,
    batch: [
      { type: 'delete', userId: 'u' },
      { type: 'track', userId: 'u' },
    ],
  })
  expect(isLeft(decoded) && faultsOf(decoded.left).map(({ path }) => path)).toEqual([
    'tenant',
    'batch[1].event',
  ])
})

it('says whether a value is a canonical event', () => {
  const decoded = Event.decode({ type: 'page', userId: 'u', traits: { a: 1 } })
  if (isLeft(decoded)) throw new Error('refused')
  const event = decoded.right
  expect(Event.is(event)).toBe(true)
  for (const off of [
    { ...event, userId: undefined, anonymousId: 'a' },
    { ...event, userId: '' },
    { ...event, timestamp: '2024-02-29T00:00:00Z' },
    { ...event, context: undefined },
    { ...event, context: { when: new Date(0) } },
    { ...event, traits: {} },
    { ...event, version: 1 },
    { type: 'delete', userId: 'u', timestamp: event.timestamp },
    undefined,
    [event],
  ]) {
    expect(Event.is(off)).toBe(false)
  }
})

it('is a type and a codec of the same name', () => {
  expectTypeOf<Event>().toEqualTypeOf<Model>()
  expectTypeOf<t.TypeOf<typeof Event>>().toEqualTypeOf<Event>()
  expectTypeOf<t.OutputOf<typeof Event>>().toEqualTypeOf<Call>()
  expectTypeOf<Event['messageId']>().toEqualTypeOf<string>()
  expectTypeOf<Extract<Event, { type: 'alias' }>['previousId']>().toEqualTypeOf<string>()
  const calls: ReadonlyArray<Call> = [
    // @ts-expect-error a track has an event
    { type: 'track', userId: 'u' },
    // @ts-expect-error an id is no number
    { type: 'identify', userId: 5 },
    { type: 'page', userId: 'u', timestamp: new Date(0), properties: { any: new Date(0) } },
  ]
  expect(calls.map((call) => isRight(Event.decode(call)))).toEqual([false, false, true])
})
