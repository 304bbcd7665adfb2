import type { Clock } from '../core/clock.ts'

/** The messages accepted between two flushes. */
export interface Segment {
  /** How many of them have not ended. */
  live: number
}

interface Flush extends Segment {
  readonly done: Promise<void>
  readonly resolve: () => void
}

/** The flushes that wait for outcomes. */
export interface Flushes {
  /** Counts an accepted message. Answers its segment if `place` must be called with it. */
  readonly accepted: () => Segment | undefined
  /** Remembers the segment of an entry, because a flush waits. */
  readonly place: (entryId: string, segment: Segment | undefined) => void
  /** Counts a message that ended. Call it after its outcome was reported. */
  readonly ended: (entryId: string) => void
  /** Resolves when everything accepted so far has ended. */
  readonly flush: () => Promise<void> | undefined
  /** Resolves every flush: nothing that was accepted so far will end any more. */
  readonly release: () => void
}

const newFlush = (live: number): Flush => {
  let resolve: () => void = () => undefined
  const done = new Promise<void>((settle) => {
    resolve = settle
  })
  return { live, done, resolve }
}

/**
 * A message belongs to the segment in which it was accepted. Its entry id is remembered only while a flush waits; without an id, it
 * belongs to the oldest segment. So flushes cost nothing while none waits.
 *
 * @param waiting the messages that the outbox held at the start
 */
export const flushes = (waiting: number): Flushes => {
  /** The segments that a flush waits for, oldest first. */
  let pending: Flush[] = []
  let current = newFlush(waiting)
  const segments = new Map<string, Segment>()

  const releaseEnded = (): void => {
    const open = pending.findIndex(({ live }) => live > 0)
    for (const { resolve } of pending.splice(0, open < 0 ? pending.length : open)) resolve()
    if (pending.length === 0) segments.clear()
  }

  return {
    accepted: () => {
      current.live++
      return pending.length > 0 ? current : undefined
    },
    place: (entryId, segment) => {
      if (segment !== undefined && pending.length > 0) segments.set(entryId, segment)
    },
    ended: (entryId) => {
      const oldest = pending[0] ?? current
      const segment = segments.get(entryId) ?? oldest
      if (segments.size > 0) segments.delete(entryId)
      segment.live = Math.max(0, segment.live - 1)
      if (segment.live === 0 && segment !== current) releaseEnded()
    },
    flush: () => {
      if (current.live > 0) {
        pending.push(current)
        current = newFlush(0)
      }
      return pending.at(-1)?.done
    },
    release: () => {
      for (const { resolve } of pending) resolve()
      pending = []
      segments.clear()
      current = newFlush(0)
    },
  }
}

/** Waits for a promise, at most `timeout` milliseconds. Answers whether it was fulfilled by then. */
export const within = (
  clock: Clock,
  timeout: number | undefined,
  done: Promise<unknown>,
): Promise<boolean> => {
  if (timeout === undefined || timeout === Infinity) return done.then(() => true)
  return new Promise((resolve) => {
    const cancel = clock.schedule(timeout, () => resolve(false))
    void done.then(() => {
      cancel()
      resolve(true)
    })
  })
}
