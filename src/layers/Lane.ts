/**
 * Lanes and what stands in them.
 *
 * @module
 */
import type { Cancel } from '../clock/Clock.ts'
import { type Chain, chain, type Link } from '../internal/Chain.ts'
import type { Receiver } from '../sink/Run.ts'
import type { Attempt } from '../sink/Sink.ts'

/** A delivery in its lane: it waits, or it runs. */
export interface Held<A> extends Link<Held<A>> {
  readonly item: A
  readonly attempt: Attempt
  readonly lane: Lane<A>
  /** Who is told; undefined when the delivery is over or cancelled. */
  to: Receiver | undefined
  /** Undefined as long as it waits. */
  cancelInner: Cancel | undefined
}

/** Deliveries of which only so many run at a time. */
export interface Lane<A> {
  readonly key: unknown
  readonly waiting: Chain<Held<A>>
  running: number
  /** A loop is already starting deliveries of this lane, so a slot that becomes free is seen by it. */
  draining: boolean
}

/** Which lane an item takes. */
export interface Lanes<A> {
  readonly of: (item: A) => Lane<A>
  /** Lets go of a lane that nothing uses. */
  readonly forget: (lane: Lane<A>) => void
}

const emptyLane = <A>(key: unknown): Lane<A> => ({
  key,
  waiting: chain<Held<A>>(),
  running: 0,
  draining: false,
})

/** The same lane for all. */
export const oneLane = <A>(): Lanes<A> => {
  const lane = emptyLane<A>(undefined)
  return { of: () => lane, forget: () => undefined }
}

/** A lane for each key, as long as something is in it. */
export const lanesBy = <A>(by: (item: A) => unknown): Lanes<A> => {
  const lanes = new Map<unknown, Lane<A>>()
  return {
    of: (item) => {
      const key = by(item)
      const known = lanes.get(key)
      if (known !== undefined) return known
      const lane = emptyLane<A>(key)
      lanes.set(key, lane)
      return lane
    },
    forget: (lane) => {
      if (lane.running === 0 && lane.waiting.size() === 0 && !lane.draining) lanes.delete(lane.key)
    },
  }
}
