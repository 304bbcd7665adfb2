/** Moments as people write them. */
import * as fc from 'fast-check'
import * as arbitrary from './event.ts'

const pad = (value: number, width: number): string => String(value).padStart(width, '0')

/** A moment in some ISO 8601 form, and its instant, cut to milliseconds: worked out here from whole minutes. */
export const momentText: fc.Arbitrary<{ readonly text: string; readonly millis: number }> = fc
  .record({
    at: arbitrary.millis,
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
    const instant =
      (seconds ? whole + kept : Math.floor(at / 60_000) * 60_000) - offset * 60_000 * (sign === '-' ? -1 : 1)
    return {
      text: `${local.slice(0, seconds ? 19 : 16)}${seconds ? fraction : ''}${written}`,
      millis: instant,
    }
  })
