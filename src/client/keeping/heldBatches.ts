import { linkedList } from '../../core/linkedList.ts'
import type { Link } from '../../core/linkedList.ts'
import type { Closed } from './restored.ts'

/** A closed batch that is in memory. */
export interface Held extends Closed, Link<Held> {
  /** Its place in the order of all closings. */
  readonly number: number
  /** Whether it still is. */
  isHere: boolean
}

/** Closed batches that are in memory, and neither on the disk nor at their end. */
export interface HeldBatches {
  readonly enter: (closed: Closed) => Held
  /** Does nothing if it is not in. */
  readonly leave: (held: Held) => void
  readonly isAny: () => boolean
  /** The messages in them. */
  readonly messages: () => number
  /** The number of the oldest; infinity if there is none. */
  readonly oldest: () => number
  /** The number of the one that entered last, wherever it is by now; 0 before the first. */
  readonly newest: () => number
  /** Takes out all, oldest first. */
  readonly drain: () => ReadonlyArray<Held>
}

/** None yet. */
export const heldBatches = (): HeldBatches => {
  const all = linkedList<Held>()
  let closings = 0
  let messages = 0

  return {
    enter: (closed) => {
      const held: Held = { ...closed, older: undefined, newer: undefined, number: ++closings, isHere: true }
      all.push(held)
      messages += held.batch.members.length
      return held
    },
    leave: (held) => {
      if (!held.isHere) return
      held.isHere = false
      all.remove(held)
      messages -= held.batch.members.length
    },
    isAny: () => all.size() > 0,
    messages: () => messages,
    oldest: () => all.oldest()?.number ?? Infinity,
    newest: () => closings,
    drain: () => {
      const drained = all.drain()
      for (const held of drained) held.isHere = false
      messages = 0
      return drained
    },
  }
}
