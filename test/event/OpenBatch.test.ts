import { describe, expect, it } from 'vitest'
import { jsonArrayFrame, bodyOf } from '../../src/event/payload.ts'
import { closed, fullBy, hasRoomFor, opened, put } from '../../src/event/batch.ts'
import type { EventPayload } from '../../src/event/payload.ts'
const payload = (text: string): EventPayload<string> => ({
  id: text,
  items: [text],
  text,
  byteLength: Buffer.byteLength(text),
})
const limits = { maxCount: 3, maxBytes: 10, frame: jsonArrayFrame }

describe('an open batch', () => {
  it('counts its envelope and its commas', () => {
    const batch = opened(payload('"é"'), jsonArrayFrame)
    expect(batch.byteLength).toBe(6)
    put(batch, payload('12'))
    expect(batch.byteLength).toBe(9)
    expect(batch.byteLength).toBe(Buffer.byteLength(bodyOf(closed(batch, jsonArrayFrame, 'b', 'end'), 0)))
  })

  it('has room up to the last byte and the last member', () => {
    const batch = opened(payload('123'), jsonArrayFrame)
    expect(hasRoomFor(batch, payload('1234'), limits)).toBe(true)
    expect(hasRoomFor(batch, payload('12345'), limits)).toBe(false)
    expect(hasRoomFor(batch, payload('1'), { ...limits, maxCount: 1 })).toBe(false)
  })

  it('is full by its count first, then by its bytes', () => {
    const batch = opened(payload('12345678'), jsonArrayFrame)
    expect(fullBy(batch, { ...limits, maxCount: 1 })).toBe('count')
    expect(fullBy(batch, limits)).toBe('bytes')
    expect(fullBy(batch, { ...limits, maxBytes: 11 })).toBeUndefined()
  })

  it('becomes one payload that has its members as they are, and the first signer', () => {
    const [first, second] = [payload('1'), payload('2')]
    const [one, another] = [() => 'one', () => 'another']
    const batch = opened(first, jsonArrayFrame)
    put(batch, second, one)
    put(batch, payload('3'), another)
    const whole = closed(batch, jsonArrayFrame, 'b', 'end')
    expect(whole).toMatchObject({ id: 'b', items: ['1', '2', '3'], byteLength: 7, closedBy: 'end' })
    expect(whole.members[0]).toBe(first)
    expect(whole.members[1]).toBe(second)
    expect(whole.signer).toBe(one)
    expect(closed(opened(first, jsonArrayFrame), jsonArrayFrame, 'b', 'end')).not.toHaveProperty('signer')
  })
})
