import { expect, it } from 'vitest'
import { envelope, jsonArrayFrame } from '../../src/event/payload.ts'

it('an envelope puts text around the members and knows its bytes', () => {
  const frame = envelope({ before: '{"é":[', after: ']}' })
  expect([frame.before(0), frame.after(0)]).toEqual(['{"é":[', ']}'])
  expect(frame.size).toBe(Buffer.byteLength('{"é":[]}'))
})

it('a JSON array is an envelope of two bytes', () => {
  expect([jsonArrayFrame.size, jsonArrayFrame.before(0), jsonArrayFrame.after(0)]).toEqual([2, '[', ']'])
})
