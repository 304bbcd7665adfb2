/** Moments: milliseconds, the timestamps of events, and ISO 8601 in any form. */
import * as fc from 'fast-check'

const [FIRST, LAST] = [-62_167_219_200_000, 253_402_300_799_999]
const LEAP_DAYS = ['0000-02-29', '1600-02-29', '2000-02-29', '2024-02-29', '9996-02-29'].map((day) =>
  Date.parse(day),
)
const EDGES = [FIRST, LAST, 0, -1, ...LEAP_DAYS, ...LEAP_DAYS.map((day) => day + 86_399_999)]

/** Milliseconds since 1970 in the years 0000 to 9999: both ends, leap days, whole seconds and the last of a second among them. */
export const instant: fc.Arbitrary<number> = fc.oneof(
  { weight: 1, arbitrary: fc.constantFrom(...EDGES) },
  { weight: 4, arbitrary: fc.integer({ min: FIRST, max: LAST }) },
  { weight: 4, arbitrary: fc.integer({ min: 946_684_800_000, max: 1_893_456_000_000 }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.integer({ min: 946_684_800, max: 1_893_456_000 }), fc.constantFrom(0, 999))
      .map(([seconds, millis]) => seconds * 1_000 + millis),
  },
)

/** Timestamps as events carry them: `YYYY-MM-DDTHH:MM:SS.mmmZ`, years 0000 to 9999. */
export const isoTimestamp: fc.Arbitrary<string> = instant.map((each) => new Date(each).toISOString())

const pad = (value: number, width: number): string => String(value).padStart(width, '0')

/** A moment in some form of ISO 8601, and its instant, cut to milliseconds: worked out here from whole minutes. */
export const momentText: fc.Arbitrary<{ readonly text: string; readonly millis: number }> = fc
  .record({
    at: instant,
    digits: fc.integer({ min: 0, max: 9 }),
    more: fc.nat({ max: 999_999 }),
    sign: fc.constantFrom('+', '-'),
    minutes: fc.oneof(fc.constantFrom(0, 60, 330, 23 * 60 + 59), fc.nat({ max: 23 * 60 + 59 })),
    zone: fc.constantFrom('Z', 'z', 'colon', 'plain', 'hours'),
    comma: fc.boolean(),
    seconds: fc.boolean(),
  })
  .map(({ at, digits, more, sign, minutes, zone, comma, seconds }) => {
    const local = new Date(at).toISOString()
    const micros = local.slice(20, 23) + pad(more, 6)
    const fraction = digits === 0 ? '' : (comma ? ',' : '.') + micros.slice(0, digits)
    const kept = digits === 0 ? 0 : Number(micros.slice(0, Math.min(3, digits)).padEnd(3, '0'))
    const hasOffset = zone === 'colon' || zone === 'plain' || zone === 'hours'
    const offset = hasOffset ? (zone === 'hours' ? minutes - (minutes % 60) : minutes) : 0
    const [hh, mm] = [pad(Math.floor(offset / 60), 2), pad(offset % 60, 2)]
    const written = {
      Z: 'Z',
      z: 'z',
      colon: `${sign}${hh}:${mm}`,
      plain: `${sign}${hh}${mm}`,
      hours: `${sign}${hh}`,
    }[zone]
    const whole = Math.floor(at / 1_000) * 1_000
    const local1970 = seconds ? whole + kept : Math.floor(at / 60_000) * 60_000
    return {
      text: `${local.slice(0, seconds ? 19 : 16)}${seconds ? fraction : ''}${written}`,
      millis: local1970 - offset * 60_000 * (sign === '-' ? -1 : 1),
    }
  })
