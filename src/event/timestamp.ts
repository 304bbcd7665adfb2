/**
 * Timestamps as events carry them: `YYYY-MM-DDTHH:MM:SS.mmmZ`, years 0000 to 9999.
 *
 * @module
 */

import { kindOf } from '../core/json.ts'

/** ISO 8601, extended form, with a zone. Digits after the milliseconds are cut off, not rounded. */
const ISO =
  /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,3})\d*)?)?(?:Z|([+-])(\d{2})(?::?(\d{2}))?)$/i

/** 0000-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z. */
const FIRST = -62_167_219_200_000
const LAST = 253_402_300_799_999

const ZERO = 48

const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

const isLeap = (year: number): boolean => year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)

/** Whether such a day exists; NaN is none. */
const isDay = (year: number, month: number, day: number): boolean =>
  year >= 0 && day >= 1 && (day <= (DAYS[month - 1] ?? 0) || (month === 2 && day === 29 && isLeap(year)))

/** Two digits as a number; NaN if one of them is none. */
const twoDigits = (text: string, at: number): number => {
  const tens = text.charCodeAt(at) - ZERO
  const ones = text.charCodeAt(at + 1) - ZERO
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN
}

const hasMarks = (text: string): boolean =>
  text.length === 24 &&
  text[4] === '-' &&
  text[7] === '-' &&
  text[10] === 'T' &&
  text[13] === ':' &&
  text[16] === ':' &&
  text[19] === '.' &&
  text[23] === 'Z'

/** Whether a string is a timestamp in its one form. Without a regular expression, because it is called for every event. */
export const isCanonical = (text: string): boolean =>
  hasMarks(text) &&
  isDay(twoDigits(text, 0) * 100 + twoDigits(text, 2), twoDigits(text, 5), twoDigits(text, 8)) &&
  twoDigits(text, 11) <= 23 &&
  twoDigits(text, 14) <= 59 &&
  twoDigits(text, 17) <= 59 &&
  twoDigits(text, 20) + twoDigits(text, 21) >= 0

/** The timestamp of a time in milliseconds since 1970; undefined outside the years 0000 to 9999. */
export const fromMillis = (millis: number): string | undefined =>
  millis >= FIRST && millis <= LAST ? new Date(millis).toISOString() : undefined

const fromText = (text: string): string | undefined => {
  const parts = ISO.exec(text)
  if (parts === null) return undefined
  const number = (at: number): number => Number(parts[at] ?? 0)
  const [year, month, day] = [number(1), number(2), number(3)]
  const [hour, minute, second] = [number(4), number(5), number(6)]
  if (!isDay(year, month, day) || hour > 23 || minute > 59 || second > 59) return undefined
  const [zoneHour, zoneMinute] = [number(9), number(10)]
  if (zoneHour > 23 || zoneMinute > 59) return undefined
  const offset = (zoneHour * 60 + zoneMinute) * (parts[8] === '-' ? -1 : 1)
  const millis = Number((parts[7] ?? '').padEnd(3, '0'))
  const moment = new Date(0)
  // Date.UTC would take the years 0 to 99 for 1900 to 1999.
  moment.setUTCFullYear(year, month - 1, day)
  moment.setUTCHours(hour, minute - offset, second, millis)
  return fromMillis(moment.getTime())
}

/** The instant of a `Date`, NaN if it has none; undefined for everything else, such as an object with the prototype of a Date. */
const millisOf = (value: unknown): number | undefined => {
  try {
    return value instanceof Date ? Date.prototype.getTime.call(value) : undefined
  } catch {
    return undefined
  }
}

/** The timestamp of a `Date` or of an ISO 8601 string with a zone; undefined for everything else. Never throws. */
export const toTimestamp = (value: unknown): string | undefined => {
  if (typeof value === 'string') return isCanonical(value) ? value : fromText(value)
  const millis = millisOf(value)
  return millis === undefined ? undefined : fromMillis(millis)
}

/** What is wrong with a value that is no timestamp. */
export const notATimestamp = (value: unknown): string => {
  const millis = millisOf(value)
  if (millis !== undefined) {
    return Number.isNaN(millis) ? 'is an invalid Date' : 'is a Date outside the years 0000 to 9999'
  }
  const wanted = 'must be a Date or an ISO 8601 date and time with a zone, such as 2024-02-29T12:00:00.000Z'
  if (value === undefined) return `is missing: it ${wanted}`
  return typeof value === 'string'
    ? `${wanted}, on a day that exists, in the years 0000 to 9999`
    : `${wanted}, not ${kindOf(value)}`
}
