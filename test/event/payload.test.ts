import * as fc from 'fast-check'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { showRefusal as show } from '../../src/index.ts'
import { trackingFrame, toWebhookBody } from '../../src/event/index.ts'
import * as Limits from '../../src/event/limits.ts'
import { bodyOf, bytesOf, encodePayload, frameBytes, jsonArrayFrame } from '../../src/event/payload.ts'
import { metaBytes, newId } from '../../src/event/payload.ts'
import type { BatchPayload, EventPayload, Frame, Payload } from '../../src/event/payload.ts'
import { anyEvent } from '../../src/testing/laws/index.ts'
import { instant } from '../../src/testing/laws/jsonValues.ts'
import { anyInput } from '../arbitraries/unreadable.ts'
import { payloadOf } from '../sink/deliverOnce.ts'
import { character, sizedAround, textOfSize, utf16Text } from '../../src/testing/laws/texts.ts'
import { throwing, forAll } from '../support/check.ts'

type Track = Readonly<{ type: 'track' }>
const track: Track = { type: 'track' }
const one: EventPayload<Track> = { id: 'm', items: [track], text: '{"é":1}', byteLength: 8 }
const both = { items: [track, track], members: [one, one] }
const many: BatchPayload<Track> = { id: 'b', ...both, byteLength: 19, frame: jsonArrayFrame, closedBy: 'end' }

it('bodyOf is the text of an event, and the members of a batch in their frame', () => {
  expect(bodyOf(one, 0)).toBe(one.text)
  expect([bodyOf(many, 0), bodyOf({ ...many, members: [] }, 0)]).toEqual(['[{"é":1},{"é":1}]', '[]'])
})

it('makes random UUIDs of version 4, each digit of which takes all of its values', () => {
  const ids = Array.from({ length: 2_000 }, newId)
  expect(new Set(ids).size).toBe(ids.length)
  for (const id of ids) expect(id).toMatch(/^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/)
  const values = Array.from({ length: 36 }, (_, at) => new Set(ids.map((id) => id[at])).size)
  const fewer = values.flatMap((size, at) => (size === 16 ? [] : [[at, size]]))
  expect(Object.fromEntries(fewer)).toEqual({ 8: 1, 13: 1, 14: 1, 18: 1, 19: 4, 23: 1 })
})

it('counts the bytes of meta as its JSON has them', () =>
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' })), (meta) => {
      expect(metaBytes({ meta })).toBe(Buffer.byteLength(JSON.stringify(meta)))
    }),
    { examples: [[{ traceparent: '00-1-2-01' }], [{}], [{ a: '\u007f', b: '\\' }]] },
  ))

describe('the types of payloads', () => {
  const either = (payload: Payload<Track>): void => {
    if (payload.members === undefined) {
      expectTypeOf(payload).toEqualTypeOf<EventPayload<Track>>()
      expectTypeOf(payload.text).toEqualTypeOf<string>()
      expectTypeOf(payload.items[0]).toEqualTypeOf<Track>()
    } else {
      expectTypeOf(payload).toEqualTypeOf<BatchPayload<Track>>()
      expectTypeOf(payload.members[0]).toEqualTypeOf<EventPayload<Track> | undefined>()
    }
    // @ts-expect-error a batch has no text
    expectTypeOf(payload.text).toEqualTypeOf<string>()
  }

  it('tell one event from a batch', () => {
    either(one)
    either(many)
    expectTypeOf<Payload<Track>>().toExtend<Payload<unknown>>()
    expectTypeOf<Payload<unknown>>().not.toExtend<Payload<Track>>()
  })

  it('do not let what cannot be compile', () => {
    const { closedBy: _, ...open } = many
    const wrong: ReadonlyArray<Payload<Track>> = [
      // @ts-expect-error an event has no frame
      { ...one, frame: jsonArrayFrame },
      // @ts-expect-error an event has one item
      { ...one, items: [track, track] },
      // @ts-expect-error a batch has members, not a text
      { ...many, text: '{}' },
      // @ts-expect-error a batch closed for some reason
      open,
      // @ts-expect-error a batch has events in it, not batches
      { ...many, members: [many] },
    ]
    expect(wrong).toHaveLength(5)
  })
})

type Members = ReadonlyArray<EventPayload<unknown>>
const batchOf = (members: Members, frame: Frame = jsonArrayFrame): BatchPayload<unknown> => {
  const items = members.flatMap((one) => one.items)
  const commas = Math.max(0, members.length - 1)
  const byteLength = frameBytes(frame) + members.reduce((n, one) => n + one.byteLength, 0) + commas
  return { id: 'b', items, members, byteLength, frame, closedBy: 'count' }
}

const sentAt: Frame = { prefix: '{"é":[', suffix: ']}', sentAt: true }

const texts = fc.array(
  fc.oneof({ weight: 3, arbitrary: utf16Text }, fc.string(), fc.string({ unit: character }), fc.constant('')),
  { maxLength: 40, size: 'max' },
)

describe('bytesOf', () => {
  it('is the body in UTF-8, with as many bytes as the payload says', () =>
    forAll(
      texts,
      fc.constantFrom(jsonArrayFrame, sentAt, { prefix: '', suffix: '' }),
      fc.date({ min: new Date(0), max: new Date(Date.UTC(9999, 11, 31)), noInvalidDate: true }),
      (bodies, frame, date) => {
        const now = date.getTime()
        const events = bodies.map((body) => payloadOf(body))
        for (const payload of [batchOf(events, frame), ...events.slice(0, 1)]) {
          const bytes = bytesOf(payload, now)
          expect(bytes.length).toBe(payload.byteLength)
          expect(bytes).toEqual(Buffer.from(bodyOf(payload, now)))
        }
      },
    ))

  it('makes a new buffer each time', () => {
    const payload = batchOf([payloadOf('{"a":1}')])
    const bytes = bytesOf(payload, 0)
    bytesOf(batchOf([payloadOf('{"b":2}')]), 0)
    bytesOf(payload, 0).fill(0)
    expect(String(bytes)).toBe('[{"a":1}]')
  })

  const one = payloadOf('{"a":1}')
  const accented = payloadOf('{"é":1}')
  it.each([
    ['its own size is too small', { ...batchOf([one, one]), byteLength: 9 }],
    ['its own size is too small by a comma', { ...batchOf([one, one]), byteLength: 16 }],
    ['its own size is too large', { ...batchOf([one, one]), byteLength: 1_000 }],
    ['it has no room at all', { ...batchOf([one, one]), byteLength: 0 }],
    ['a member says too little', { ...batchOf([one, { ...accented, byteLength: 5 }]), byteLength: 17 }],
    ['a member says too much', batchOf([{ ...accented, byteLength: 80 }, one])],
    ['the last member says too much', batchOf([one, { ...one, byteLength: 8 }])],
    ['half a frame fits', { ...batchOf([]), frame: { prefix: 'x'.repeat(9), suffix: '' }, byteLength: 6 }],
  ])('is the body, and never old memory, also when %s', (_, payload) => {
    Buffer.allocUnsafe(1_000).fill('secret')
    expect(String(bytesOf(payload, 0))).toBe(bodyOf(payload, 0))
  })
})

const bomb = throwing('hunter2')

it.each<readonly [string, unknown, string]>([
  ['undefined', undefined, 'could not be written as JSON'],
  ['a function', () => 1, 'could not be written as JSON'],
  ['a number', 5, 'the body must be an object or an array'],
  ['null', null, 'the body must be an object or an array'],
  ['a string', 'text', 'the body must be an object or an array'],
  ['a BigInt', { a: [1n] }, 'a[0]: is a BigInt: write it as a string'],
  ['a toJSON that throws', { a: { toJSON: bomb } }, 'a: could not be read: looking at it throws an error'],
])('refuses what is no body, and says why: %s', (_, body, reason) => {
  const payload = encodePayload('m', 'the item', body)
  expect(isLeft(payload) && show(payload.left)).toBe(reason)
})

it('takes a body of exactly the limit, and not one byte more', () =>
  forAll(
    anyEvent,
    fc
      .constantFrom(Limits.bodyBytes, Limits.callBytes, 20_000)
      .chain((limit) => fc.tuple(fc.constant(limit), sizedAround(limit))),
    (each, [limit, size]) => {
      const over = size.bytes - limit
      const start = { ...toWebhookBody(each), pad: '' }
      const bytes = size.bytes - Buffer.byteLength(JSON.stringify(start))
      const body = { ...start, pad: textOfSize({ ...size, bytes }) }
      const payload = encodePayload('m', each, body, limit)
      expect(isRight(payload)).toBe(over <= 0)
      const taken = { id: 'm', items: [each], text: JSON.stringify(body), byteLength: size.bytes }
      if (isRight(payload)) expect(payload.right).toEqual(taken)
      else expect(payload.left).toEqual({ _tag: 'TooLarge', limit, size: limit + over, id: 'm', input: each })
    },
  ))

it('never throws, and what it writes is a fixed point whose bytes are its text', () =>
  forAll(anyInput, (make) => {
    const payload = encodePayload('m', 'the item', make())
    if (isLeft(payload)) return
    const { text: sent, byteLength } = payload.right
    expect(JSON.stringify(JSON.parse(sent))).toBe(sent)
    expect(Buffer.from(sent).toString()).toBe(sent)
    expect(Buffer.byteLength(sent)).toBe(byteLength)
  }))

it('a frame with sentAt has the same size at every time of sending', () => {
  const empty = (now: number): string => bodyOf({ ...batchOf([]), frame: trackingFrame }, now)
  const time = fc.oneof(instant, fc.constantFrom(NaN, Infinity, 1e300, 253_402_300_800_000), fc.double())
  forAll(time, (now) => {
    expect(Buffer.byteLength(empty(now))).toBe(frameBytes(trackingFrame))
    expect(JSON.parse(empty(now))).toEqual({ batch: [], sentAt: expect.any(String) })
  })
  expect(empty(Date.UTC(2024, 1, 29, 12))).toBe('{"batch":[],"sentAt":"2024-02-29T12:00:00.000Z"}')
  expect([frameBytes(jsonArrayFrame), frameBytes({ prefix: '{"é":[', suffix: ']}' })]).toEqual([2, 9])
})
