import { expect, it } from 'vitest'
import { envelope, jsonArrayFrame } from '../../src/event/Frame.ts'

it('an envelope puts text around the members and knows its bytes', () => {
  const frame = envelope({ before: '{"é":[', after: ']}' })
  expect(frame.wrap('1,2', 0)).toBe('{"é":[1,2]}')
  expect(frame.size).toBe(Buffer.byteLength(frame.wrap('', 0)))
})

it('a JSON array is an envelope of two bytes', () => {
  expect([jsonArrayFrame.size, jsonArrayFrame.wrap('1,2', 0)]).toEqual([2, '[1,2]'])
})
