/**
 * The account of a receiver: requests = authentic + not authentic + not checked.
 *
 * @module
 */

import type { Judgement } from './listen.ts'

/** How many requests came, and what was found. */
export interface Tally {
  readonly requests: number
  readonly authentic: number
  readonly notAuthentic: number
  readonly notChecked: number
}

export const empty: Tally = { requests: 0, authentic: 0, notAuthentic: 0, notChecked: 0 }

/** One more. */
export const count = (tally: Tally, verdict: Judgement['verdict']): Tally => ({
  requests: tally.requests + 1,
  authentic: tally.authentic + (verdict === 'authentic' ? 1 : 0),
  notAuthentic: tally.notAuthentic + (verdict === 'not authentic' ? 1 : 0),
  notChecked: tally.notChecked + (verdict === 'not checked' ? 1 : 0),
})

/** In one line. */
export const show = ({ requests, authentic, notAuthentic, notChecked }: Tally): string =>
  `${String(requests)} requests = ${String(authentic)} authentic + ${String(notAuthentic)} not authentic + ${String(notChecked)} not checked`
