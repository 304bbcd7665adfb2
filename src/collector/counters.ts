import type { Refusal } from '../core/refusal.ts'
import type { CollectorStats, Source } from './collector.ts'

/** Counts what comes to a collector, for `stats`. */
export interface Tally {
  readonly accepted: (source: Source, count: number, unrouted: number) => void
  readonly refused: (source: Source, refusal: Refusal) => void
  readonly deletions: (count: number) => void
  readonly answered: (status: number) => void
  readonly counts: () => Omit<CollectorStats, 'destinations'>
}

/** A tally that starts at nothing. */
export const tally = (sources: ReadonlyArray<Source>): Tally => {
  const reasons = { Invalid: 0, TooLarge: 0, Full: 0, Disabled: 0, Closed: 0, NotStored: 0 }
  const answers = new Map<number, number>()
  let unrouted = 0
  let deletions = 0

  const sum = (of: (source: Source) => number): number =>
    sources.reduce((total, source) => total + of(source), 0)

  return {
    accepted: (source, count, unwanted) => {
      source.received += count
      source.accepted += count
      unrouted += unwanted
    },
    refused: (source, { _tag }) => {
      source.received++
      reasons[_tag]++
    },
    deletions: (count) => {
      deletions += count
    },
    answered: (status) => {
      answers.set(status, (answers.get(status) ?? 0) + 1)
    },
    counts: () => {
      const received = sum((source) => source.received)
      const accepted = sum((source) => source.accepted)
      return {
        received,
        accepted,
        refused: received - accepted,
        reasons: { ...reasons },
        unrouted,
        deletions,
        answers: Object.fromEntries(answers),
        sources: Object.fromEntries(
          sources.map((source) => [
            source.id,
            {
              received: source.received,
              accepted: source.accepted,
              refused: source.received - source.accepted,
            },
          ]),
        ),
      }
    },
  }
}
