import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  decodeRecord,
  encodeRecord,
  sizeIn,
  withAbout,
} from '../../../src/outbox/lmdb/records/StoredRecord.ts'
import type { StoredRecord } from '../../../src/outbox/lmdb/records/StoredRecord.ts'
import { noTotals, totalsFromText, totalsToText } from '../../../src/outbox/lmdb/records/StoredTotals.ts'

const text = fc.string({ unit: 'grapheme', maxLength: 60 })
const record = fc.record({ size: fc.nat(), about: text, text })

/** The next record may take the memory of this one. */
const written = (one: StoredRecord): Buffer => Buffer.from(encodeRecord(one))

describe('records', () => {
  it('say what was written, and what is known of them changes without their body', () => {
    const run = fc.property(record, text, (one, about) => {
      const bytes = written(one)
      expect(decodeRecord(bytes)).toEqual(one)
      expect(decodeRecord(withAbout(bytes, about))).toEqual({ ...one, about })
      expect(sizeIn(bytes)).toBe(one.size)
      // Looking changes nothing.
      expect(bytes.equals(encodeRecord(one))).toBe(true)
    })
    fc.assert(run, { numRuns: 1_000 })
  })

  it('say nothing when a bit of them is another one, or an end is missing', () => {
    const run = fc.property(record, fc.nat(), fc.nat(7), (one, at, bit) => {
      const bytes = written(one)
      const place = at % bytes.length
      const flipped = Buffer.from(bytes)
      flipped.writeUInt8(flipped.readUInt8(place) ^ (1 << bit), place)
      expect(decodeRecord(flipped)).toBe(undefined)
      expect(decodeRecord(bytes.subarray(0, place))).toBe(undefined)
    })
    fc.assert(run, { numRuns: 1_000 })
  })

  it.each(['x', 'é', '€'])('may be longer than the memory that they share, of %s', (character) => {
    for (const length of [21_835, 21_840, 21_845, 32_760, 65_510, 65_536, 200_000]) {
      const long = { size: length, about: '{}', text: character.repeat(length) }
      const bytes = written(long)
      expect(written({ size: 1, about: '', text: 'short' }).length).toBe(21)
      expect(decodeRecord(bytes)).toEqual(long)
      expect(bytes.length).toBe(18 + Buffer.byteLength(long.text))
    }
  })

  it('lie in a store as they always did', () => {
    expect(written({ size: 3, about: '{"since":1}', text: 'é€' }).toString('hex')).toBe(
      '95f4100000000000000008400b0000007b2273696e6365223a317dc3a9e282ac',
    )
  })
})

it('counters come back as they were written, and from nothing else', () => {
  const totals = { ...noTotals, waiting: 3, bytes: 1.5, items: 2 ** 53 }
  expect(totalsFromText(totalsToText(totals))).toEqual(totals)
  const { unreadable: _, ...older } = totals
  expect(totalsFromText(JSON.stringify(older))).toEqual(totals)
  for (const wrong of [
    '',
    'null',
    '[]',
    '{}',
    JSON.stringify({ ...totals, dead: -1 }),
    JSON.stringify({ ...totals, dead: '1' }),
  ])
    expect(totalsFromText(wrong)).toBe(undefined)
})
