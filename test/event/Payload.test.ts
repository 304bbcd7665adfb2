import { describe, expect, expectTypeOf, it } from 'vitest'
import { jsonArrayFrame, bodyOf } from '../../src/event/payload.ts'
import type { BatchPayload, EventPayload, Payload } from '../../src/event/payload.ts'

interface Track {
  readonly type: 'track'
}
const track: Track = { type: 'track' }
const one: EventPayload<Track> = { id: 'm', items: [track], text: '{"é":1}', byteLength: 8 }
const many: BatchPayload<Track> = {
  id: 'b',
  items: [track, track],
  members: [one, one],
  byteLength: 19,
  frame: jsonArrayFrame,
  closedBy: 'end',
}

describe('bodyOf', () => {
  it('is the text of an event, and the members of a batch in their envelope', () => {
    expect(bodyOf(one, 0)).toBe(one.text)
    expect(bodyOf(many, 0)).toBe('[{"é":1},{"é":1}]')
    expect(bodyOf({ ...many, members: [] }, 0)).toBe('[]')
  })
})

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
    const text = '{}'
    const { frame } = many
    // @ts-expect-error an event has no envelope
    const framed: Payload<Track> = { id: 'm', items: [track], text, byteLength: 2, frame }
    // @ts-expect-error an event has one item
    const crowded: Payload<Track> = { id: 'm', items: [track, track], text, byteLength: 2 }
    // @ts-expect-error a batch has members, not a text
    const textual: Payload<Track> = { ...many, text }
    // @ts-expect-error a batch closed for some reason
    const open: Payload<Track> = { id: 'b', items: [track], members: [one], byteLength: 10, frame }
    // @ts-expect-error a batch has events in it, not batches
    const nested: Payload<Track> = { ...many, members: [many] }
    expect([framed, crowded, textual, open, nested]).toHaveLength(5)
  })
})
