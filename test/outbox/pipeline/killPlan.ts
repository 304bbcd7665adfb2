import type { Random } from '../../../src/core/clock.ts'

/** When a process is killed. */
export type Kill =
  /** When so many different messages were delivered in all. */
  | { readonly when: 'delivered'; readonly count: number }
  /** Then it is asked to end, and killed so many milliseconds later, while it closes. */
  | { readonly when: 'closing'; readonly count: number; readonly after: number }
  /** So many milliseconds after it was started: while it starts, or a little later. */
  | { readonly when: 'started'; readonly after: number }

/** How many kills, and how many messages come to how many places. */
export interface KillPlanOptions {
  readonly kills: number
  readonly deliveries: number
  readonly random: Random
}

/** Every so many of those that come by count is a close. */
const CLOSES = 4

/** A close that has nothing to wait for is over sooner. */
const MOST_CLOSING = 30

/** Starting takes some 300 ms; some of these come before the outbox is open, some soon after. */
const MOST_AFTER = 500

/**
 * A third of them while the process starts, one with hardly a moment after the one before; the others over the whole way, some of them
 * while it closes. The last one comes when most is delivered.
 */
export const killPlan = ({ kills, deliveries, random }: KillPlanOptions): ReadonlyArray<Kill> => {
  const early = Math.floor(kills / 3)
  const counts = Array.from({ length: kills - early }, () => Math.ceil(random() * deliveries * 0.9))
  const plan: Kill[] = counts
    .sort((one, other) => one - other)
    .map((count, at): Kill =>
      at % CLOSES === 1
        ? { when: 'closing', count, after: Math.floor(random() * MOST_CLOSING) }
        : { when: 'delivered', count },
    )
  for (let number = 0; number < early; number++) {
    const after = number === 0 ? random() * 5 : random() * MOST_AFTER
    plan.splice(Math.floor(random() * (plan.length - 1)), 0, { when: 'started', after: Math.floor(after) })
  }
  return plan
}
