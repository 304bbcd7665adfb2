/** Timestamps as events carry them: `YYYY-MM-DDTHH:MM:SS.mmmZ`, years 0000 to 9999. */
import { isDate } from 'node:util/types'
import { kindOf } from '../core/json.ts'

/** The form of events, on every day but the 29th of February: most timestamps need no more than this test. */
const DAY = /(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31/
const CANONICAL = new RegExp(`^\\d{4}-(?:${DAY.source})T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d\\.\\d{3}Z$`)

/** ISO 8601, extended form, with a zone. Digits after the milliseconds are cut off, not rounded. */
const TIME = /T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:[.,](\d{1,3})\d*)?)?/
const ZONE = /(?:Z|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?)/
const ISO = new RegExp(`^(\\d{4})-(\\d{2})-(\\d{2})${TIME.source}${ZONE.source}$`, 'i')

/** 0000-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z. */
const FIRST = -62_167_219_200_000
const LAST = 253_402_300_799_999

/** The timestamp of a time in milliseconds since 1970; undefined outside the years 0000 to 9999. */
export const fromMillis = (millis: number): string | undefined =>
  millis >= FIRST && millis <= LAST ? new Date(millis).toISOString() : undefined

const parseTimestamp = (text: string): string | undefined => {
  const parts = ISO.exec(text)
  if (parts === null) return undefined
  const number = (at: number): number => Number(parts[at] ?? 0)
  const moment = new Date(0)
  // Date.UTC would take the years 0 to 99 for 1900 to 1999.
  moment.setUTCFullYear(number(1), number(2) - 1, number(3))
  // A day that does not exist has become one of the next month.
  if (moment.getUTCMonth() !== number(2) - 1 || moment.getUTCDate() !== number(3)) return undefined
  const offset = (number(9) * 60 + number(10)) * (parts[8] === '-' ? -1 : 1)
  const millis = Number((parts[7] ?? '').padEnd(3, '0'))
  return fromMillis(moment.setUTCHours(number(4), number(5) - offset, number(6), millis))
}

/** The instant of a real `Date`, NaN if it has none; undefined for everything else. */
const millisOf = (value: unknown) => (isDate(value) ? Date.prototype.getTime.call(value) : undefined)

/** The timestamp of a `Date` or an ISO 8601 string with a zone; else undefined. Never throws. */
export const toTimestamp = (value: unknown): string | undefined => {
  if (typeof value === 'string') return CANONICAL.test(value) ? value : parseTimestamp(value)
  const millis = millisOf(value)
  return millis === undefined ? undefined : fromMillis(millis)
}

export const notATimestamp = (value: unknown): string => {
  const wanted = 'must be a Date or an ISO 8601 date and time with a zone, such as 2024-02-29T12:00:00.000Z'
  if (value === undefined) return `is missing: it ${wanted}`
  return typeof value === 'string' || millisOf(value) !== undefined
    ? `${wanted}, on a day that exists, in the years 0000 to 9999`
    : `${wanted}, not ${kindOf(value)}`
}
