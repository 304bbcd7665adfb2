/**
 * The meaning of an HTTP status for a delivery: a table that a host may replace.
 *
 * @module
 */

import { left, right } from '../core/either.ts'
import { refused, retryable, type Verdict } from '../core/failure.ts'
import { list, oneOf, strict, wholeNumber, type Option } from '../core/options.ts'
import { MAX_HOLD } from './retryAfterGate.ts'

/**
 * How long a `Retry-After` header asks to wait, in milliseconds; undefined if it cannot be understood.
 *
 * It is whole seconds of 1 to 10 digits, or a date as HTTP writes it (`Sun, 06 Nov 1994 08:49:37 GMT`), and
 * counts for an hour at most: a daily quota must not end an item. All else is ignored, because `Date.parse`
 * would read `120` as the year 120.
 *
 * @param now The wall clock, milliseconds since 1970. A date in the past gives 0.
 */
export const retryAfter = (header: string | ReadonlyArray<string> | undefined, now: number) => {
  const text = (typeof header === 'string' ? header : header?.[0])?.trim()
  if (text === undefined) return undefined
  if (/^\d{1,10}$/.test(text)) return Math.min(Number(text) * 1_000, MAX_HOLD)
  const at = Date.parse(text)
  const hold = Math.min(Math.max(0, at - now), MAX_HOLD)
  return !Number.isNaN(at) && new Date(at).toUTCString() === text ? hold : undefined
}

/** `delivered`; `refused` and `redirect` for good; `retry` later, not before `Retry-After`. @inline */
export type StatusMeaning = 'delivered' | 'refused' | 'redirect' | 'retry'

/** The meaning of the statuses from `from` to `to`, both included. */
export interface StatusRule {
  readonly from: number
  readonly to: number
  readonly means: StatusMeaning
}

/** The first rule with a status decides; one without a rule has its default meaning. Plain data. */
export type StatusTable = ReadonlyArray<StatusRule>

const rule = (from: number, to: number, means: StatusMeaning): StatusRule => ({ from, to, means })

/**
 * The default: 2xx is delivered; 3xx is a redirect, final and never followed; 408, 425, 429 and every 5xx are
 * retried; any other status is refused for good. Rules of `statuses` come before these.
 *
 * @example
 * import { webhook } from 'headrace/sinks/webhook'
 * const sink = webhook({
 *   url: 'http://127.0.0.1:9/hook',
 *   statuses: [{ from: 409, to: 409, means: 'delivered' }],
 * })
 * console.log(sink.name) // => http://127.0.0.1:9/hook
 */
export const statusTable: StatusTable = [
  rule(200, 299, 'delivered'),
  rule(300, 399, 'redirect'),
  rule(408, 408, 'retry'),
  rule(425, 425, 'retry'),
  rule(429, 429, 'retry'),
  rule(500, 599, 'retry'),
  rule(400, 499, 'refused'),
]

export const meaningOf = (table: StatusTable, status: number): StatusMeaning => {
  const holds = ({ from, to }: StatusRule): boolean => status >= from && status <= to
  return (table.find(holds) ?? statusTable.find(holds))?.means ?? 'refused'
}

const NEVER_FOLLOWED = 'redirects are never followed: give the URL that it leads to'

/** The verdict on an answer. `wall` is the wall clock, for a date in `Retry-After`; `now` the steady time. */
export const verdictOf = (
  table: StatusTable,
  sink: string,
  answer: { readonly status: number; readonly retryAfter: string | ReadonlyArray<string> | undefined },
  wall: number,
  now: number,
): Verdict => {
  const { status } = answer
  switch (meaningOf(table, status)) {
    case 'delivered':
      return right({ sink, status })
    case 'redirect':
      return left(refused('redirect', { status, detail: NEVER_FOLLOWED }))
    case 'refused':
      return left(refused('status', { status }))
    case 'retry': {
      const wait = retryAfter(answer.retryAfter, wall)
      return left(retryable('status', wait === undefined ? { status } : { status, notBefore: now + wait }))
    }
  }
}

export const statusesOption: Option<StatusTable> = list(
  '{ from, to, means }',
  0,
  Infinity,
  strict(
    {
      from: wholeNumber('', 0),
      to: wholeNumber('', 0),
      means: oneOf('delivered', 'refused', 'redirect', 'retry'),
    },
    ({ from, to }) => (from > to ? [{ path: 'from', message: 'must not be above to' }] : []),
  ),
)
