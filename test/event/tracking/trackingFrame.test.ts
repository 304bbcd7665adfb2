import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { trackingFrame } from '../../../src/event/trackingMessage.ts'
import { millis } from '../../arbitraries/event.ts'

const { before, after, size } = trackingFrame

it('has the same size at every moment, whatever the clock shows', () => {
  const moment = fc.oneof(
    millis,
    fc.constantFrom(NaN, Infinity, -Infinity, 1e300, 253_402_300_800_000),
    fc.double(),
  )
  fc.assert(
    fc.property(moment, (now) => {
      expect(Buffer.byteLength(before(now) + after(now))).toBe(size)
      expect(JSON.parse(before(now) + after(now))).toEqual({ batch: [], sentAt: expect.any(String) })
    }),
    { numRuns: 1000 },
  )
})

it('says when it was sent', () => {
  expect(after(Date.UTC(2024, 1, 29, 12))).toBe('],"sentAt":"2024-02-29T12:00:00.000Z"}')
})
