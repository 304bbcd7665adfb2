/**
 * What happened in a demo, told in the words of the library: validate, sign, fan out, retry, account.
 *
 * @module
 */

import type { Report } from './report.ts'
import { addsUp, show } from './summary.ts'
import type { Summary } from './summary.ts'

/** What was seen so far. */
export interface Story {
  readonly requests: number
  /** Requests whose signature the receiver found right. */
  readonly verified: number
  /** Events that both receivers failed at first. */
  readonly retried: ReadonlySet<string>
  /** Who was first to take an event, and how often. */
  readonly first: ReadonlyMap<string, number>
  /** Events that needed more than one round, and were delivered. */
  readonly rescued: number
}

export const beginning: Story = {
  requests: 0,
  verified: 0,
  retried: new Set(),
  first: new Map(),
  rescued: 0,
}

/** A receiver got a request. */
export const received = (story: Story, isAuthentic: boolean): Story => ({
  ...story,
  requests: story.requests + 1,
  verified: story.verified + (isAuthentic ? 1 : 0),
})

/** Something was reported. */
export const reported = (story: Story, report: Report): Story => {
  if (report.t === 'waiting') return { ...story, retried: new Set([...story.retried, report.id]) }
  if (report.t !== 'outcome' || report.url === undefined) return story
  const count = (story.first.get(report.url) ?? 0) + 1
  return {
    ...story,
    first: new Map([...story.first, [report.url, count]]),
    rescued: story.rescued + (report.n > 1 ? 1 : 0),
  }
}

/** Whether it ended as it should: everything accounted for, everything ended, every signature right. */
export const endedWell = (story: Story, summary: Summary): boolean =>
  addsUp(summary) &&
  summary.delivered > 0 &&
  summary.abandoned + summary.waiting + summary.expired === 0 &&
  story.verified === story.requests

/** The whole of it, a line for each thing that the library does. */
export const tell = (
  story: Story,
  summary: Summary,
  nameOf: (url: string) => string,
): ReadonlyArray<readonly [title: string, text: string]> => {
  const { read, accepted, refused, rejected } = summary
  const first = [...story.first].map(([url, count]) => `${nameOf(url)} was first ${String(count)} times`)
  return [
    [
      'validate',
      `${String(read)} lines read: ${String(accepted)} are events, ${String(refused)} were refused, each with what would be right`,
    ],
    ['sign', `${String(story.requests)} requests, of which the receivers verified ${String(story.verified)}`],
    ['fan out', `each event to both; the first 2xx delivers it: ${first.join(', ')}`],
    [
      'retry',
      `${String(story.retried.size)} events failed at both, waited, and were tried again: ${String(story.rescued)} came through`,
    ],
    ['give up', `${String(rejected)} was answered 422 by both, which no retry can change`],
    ['account', show(summary)],
  ]
}
