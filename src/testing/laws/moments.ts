import * as fc from 'fast-check'

const [EARLIEST, LATEST] = [-62_167_219_200_000, 253_402_300_799_999]
const LEAP_DAYS = ['0000-02-29', '1600-02-29', '2000-02-29', '2024-02-29', '9996-02-29'].map(Date.parse)

/** Milliseconds since 1970 in the years 0000 to 9999, with ends, leap days, and ends of seconds. */
export const instant: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(EARLIEST, LATEST, 0, -1, ...LEAP_DAYS, ...LEAP_DAYS.map((day) => day + 86_399_999)),
  fc.integer({ min: EARLIEST, max: LATEST }),
  fc
    .tuple(fc.integer({ min: 946_684_800, max: 1_893_456_000 }), fc.nat(999))
    .map(([seconds, millis]) => seconds * 1_000 + millis),
)

/** Timestamps as events carry them: `YYYY-MM-DDTHH:MM:SS.mmmZ`, years 0000 to 9999. */
export const isoTimestamp: fc.Arbitrary<string> = instant.map((each) => new Date(each).toISOString())
