/**
 * The account of a collector: received = accepted + refused in messages; then, for each destination, what became of its share.
 *
 * @module
 */
import type { CollectorStats } from '../../collector/Collector.ts'
import { DEAD, FINE, STOPPED } from '../ExitCode.ts'
import { summaryOf, show } from '../Summary.ts'
import type { Summary } from '../Summary.ts'

/** What became of the share of a destination. */
export interface Share extends Summary {
  /** Dead letters that made room for newer ones, in the folder of its outbox since it was made. */
  readonly forgotten: number
}

/** What became of everything that came. */
export interface Account {
  readonly received: number
  readonly accepted: number
  readonly refused: number
  /** Accepted, though no destination wanted them. */
  readonly unrouted: number
  readonly deletions: number
  /** By name. */
  readonly destinations: Readonly<Record<string, Share>>
}

export const accountOf = (stats: CollectorStats): Account => {
  const { received, accepted, refused, unrouted, deletions, destinations } = stats
  const summaries: Record<string, Share> = {}
  for (const [name, each] of Object.entries(destinations))
    summaries[name] = { ...summaryOf(each.refused, each), forgotten: each.forgotten }
  return {
    received,
    accepted,
    refused,
    unrouted,
    deletions,
    destinations: summaries,
  }
}

const gone = ({ forgotten }: Share): string =>
  forgotten === 0 ? '' : `; ${String(forgotten)} dead letters made room for newer ones, and are gone`

/** In lines. */
export const linesOf = ({
  received,
  accepted,
  refused,
  unrouted,
  destinations,
}: Account): ReadonlyArray<string> => [
  `${String(received)} received = ${String(accepted)} accepted + ${String(refused)} refused${unrouted === 0 ? '' : `; ${String(unrouted)} wanted by no destination`}`,
  ...Object.entries(destinations).map(([name, summary]) => `${name}: ${show(summary)}${gone(summary)}`),
]

/** The code that it ends with. */
export const exitCodeOf = ({ destinations }: Account): number => {
  const all = Object.values(destinations)
  if (all.some(({ abandoned, waiting }) => abandoned + waiting > 0)) return STOPPED
  return all.some(({ rejected, expired, dropped }) => rejected + expired + dropped > 0) ? DEAD : FINE
}
