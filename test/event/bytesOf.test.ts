import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bytesOf, envelope, jsonArrayFrame, bodyOf } from '../../src/event/payload.ts'
import type { BatchPayload, EventPayload, Frame } from '../../src/event/payload.ts'
import { text } from '../arbitraries/event.ts'

const eventOf = (body: string): EventPayload<string> => ({
  id: 'm',
  items: [body],
  text: body,
  byteLength: Buffer.byteLength(body),
})

const batchOf = (
  members: ReadonlyArray<EventPayload<string>>,
  frame: Frame = jsonArrayFrame,
): BatchPayload<string> => ({
  id: 'b',
  items: members.flatMap(({ items }) => items),
  members,
  byteLength:
    frame.size + members.reduce((sum, each) => sum + each.byteLength, 0) + Math.max(0, members.length - 1),
  frame,
  closedBy: 'count',
})

const sentAt: Frame = {
  size: '{"é":[],"sentAt":"1970-01-01T00:00:00.000Z"}'.length + 1,
  before: () => '{"é":[',
  after: (now) => `],"sentAt":"${new Date(now).toISOString()}"}`,
}

const texts = fc.array(
  fc.oneof({ weight: 3, arbitrary: text }, fc.string(), fc.string({ unit: 'binary' }), fc.constant('')),
  { maxLength: 40, size: 'max' },
)

describe('the bytes of a payload', () => {
  it('are its body in UTF-8, as many as were said', () => {
    let mixed = 0
    fc.assert(
      fc.property(
        texts,
        fc.constantFrom(jsonArrayFrame, sentAt, envelope({ before: '', after: '' })),
        fc.date({ min: new Date(0), max: new Date(Date.UTC(9999, 11, 31)), noInvalidDate: true }),
        (bodies, frame, date) => {
          const now = date.getTime()
          const events = bodies.map(eventOf)
          const ascii = events.filter((each) => each.byteLength === each.text.length).length
          if (ascii > 0 && ascii < events.length) mixed++
          for (const payload of [batchOf(events, frame), ...events.slice(0, 1)]) {
            const bytes = bytesOf(payload, now)
            expect(bytes.length).toBe(payload.byteLength)
            expect(bytes).toEqual(Buffer.from(bodyOf(payload, now)))
          }
        },
      ),
      { numRuns: 1_000 },
    )
    expect(mixed).toBeGreaterThan(300)
  })

  it('are its own: what is written later does not change them', () => {
    const payload = batchOf([eventOf('{"a":1}')])
    const bytes = bytesOf(payload, 0)
    bytesOf(batchOf([eventOf('{"b":2}')]), 0)
    bytesOf(payload, 0).fill(0)
    expect(String(bytes)).toBe('[{"a":1}]')
  })

  const one = eventOf('{"a":1}')
  const accented = eventOf('{"é":1}')
  it.each([
    ['its own size is too small', { ...batchOf([one, one]), byteLength: 9 }],
    ['its own size is too small by a comma', { ...batchOf([one, one]), byteLength: 16 }],
    ['its own size is too large', { ...batchOf([one, one]), byteLength: 1_000 }],
    ['it has no room at all', { ...batchOf([one, one]), byteLength: 0 }],
    ['a member says too little', { ...batchOf([one, { ...accented, byteLength: 5 }]), byteLength: 17 }],
    ['a member says too much', batchOf([{ ...accented, byteLength: 80 }, one])],
    ['the last member says too much', batchOf([one, { ...one, byteLength: 8 }])],
    [
      'there is room for half an envelope',
      {
        ...batchOf([]),
        frame: { ...envelope({ before: 'x'.repeat(9), after: ']' }), size: 6 },
        byteLength: 6,
      },
    ],
    ['the envelope says too little', batchOf([one], { ...jsonArrayFrame, size: 1 })],
    ['the envelope says too much', batchOf([one], { ...jsonArrayFrame, size: 30 })],
    [
      'the envelope says too much where a member says too little',
      batchOf([{ ...accented, byteLength: 7 }, one], { ...jsonArrayFrame, size: 3 }),
    ],
  ])('are its body and never what lay in memory before, also when %s', (_, payload) => {
    Buffer.allocUnsafe(1_000).fill('secret')
    expect(String(bytesOf(payload, 0))).toBe(bodyOf(payload, 0))
  })
})
