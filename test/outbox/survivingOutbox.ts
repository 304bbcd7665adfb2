/**
 * A durable outbox as a test needs it: what was committed survives a crash of the process, and a write takes `latency`
 * milliseconds of the virtual clock until it is committed (0: at once, without a promise).
 */
import { left, right } from 'fp-ts/lib/Either.js'
import { newEntry } from '../../src/outbox/outbox.ts'
import type { Clock } from '../../src/core/clock.ts'
import type { Awaitable } from '../../src/core/awaitable.ts'
import { isDead, type Outcome } from '../../src/core/outcome.ts'
import { full } from '../../src/core/refusal.ts'
import type { DeadLetter, Entry, Outbox } from '../../src/outbox/outbox.ts'

export interface Disk<A> {
  readonly entries: Map<string, { entry: Entry<A>; due: number }>
  readonly dead: Array<DeadLetter<A>>
  readonly ended: Array<Outcome<A>>
  appended: number
  /** Crashes so far: a write that was started before one never commits. */
  generation: number
}

export const disk = <A>(): Disk<A> => ({
  entries: new Map(),
  dead: [],
  ended: [],
  appended: 0,
  generation: 0,
})

/** What the next process reads of it. Everything in it has been text, as in a table or a file of one's own. */
export const reread = <A>(on: Disk<A>): Disk<A> => {
  // It is what was written, as far as JSON can say it: that is what is tested.
  const read = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T
  return {
    ...disk<A>(),
    entries: new Map(read([...on.entries])),
    dead: read(on.dead),
    appended: on.appended,
  }
}

export const survivingOutbox = <A>(
  on: Disk<A>,
  clock: Clock,
  { latency = 0, maxCount = Infinity }: { latency?: number; maxCount?: number } = {},
): Outbox<A> => {
  const born = on.generation
  const taken = new Set<string>()

  const commit = <T>(write: () => T): Awaitable<T> =>
    latency === 0
      ? write()
      : new Promise((resolve) => {
          clock.schedule(latency, () => {
            if (on.generation === born) resolve(write())
          })
        })

  const ready = (): ReadonlyArray<{ entry: Entry<A>; due: number }> =>
    [...on.entries.values()].filter(({ entry }) => !taken.has(entry.id)).sort((a, b) => a.due - b.due)

  return {
    durable: true,
    enqueue: (items) =>
      commit(() =>
        items.map((item) => {
          if (on.entries.size >= maxCount) return left(full(item, 'count', maxCount))
          const entry = newEntry(String(++on.appended), item)
          on.entries.set(entry.id, { entry, due: 0 })
          return right(entry)
        }),
      ),
    lease: (now, { count, retries: maxRetries, retriesOnly = false }) => {
      const due = ready().filter((row) => row.due <= now)
      const retries = due.filter((row) => row.due > 0).slice(0, Math.min(count, maxRetries))
      const fresh = retriesOnly ? [] : due.filter((row) => row.due === 0).slice(0, count - retries.length)
      const rows = [...retries, ...fresh].map((row) => row.entry)
      for (const entry of rows) taken.add(entry.id)
      return rows
    },
    nack: (list) =>
      commit(() => {
        for (const { entry, due } of list) {
          on.entries.set(entry.id, { entry, due })
          taken.delete(entry.id)
        }
      }),
    ack: (list) =>
      commit(() => {
        for (const { entry, outcome } of list) {
          on.entries.delete(entry.id)
          taken.delete(entry.id)
          on.ended.push(outcome)
          if (isDead(outcome))
            on.dead.push({
              reason: 'ended',
              id: String(on.dead.length + 1),
              at: clock.now(),
              entry,
              outcome,
            })
        }
      }),
    nextDue: (retriesOnly = false) => ready().find(({ due }) => due > 0 || !retriesOnly)?.due,
    takeRemaining: () => [],
    dead: { list: () => on.dead, redrive: () => 0, purge: () => 0 },
    stats: () => ({ waiting: on.entries.size, bytes: 0, dead: on.dead.length, maxCount, maxBytes: Infinity }),
    close: () => Promise.resolve(),
  }
}
