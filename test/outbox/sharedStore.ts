/**
 * A store that several relays share, as a table in a database would be: each has a view of it, entries are leased to one view at a
 * time, and `watch` tells a view that another one changed something. A view that is killed keeps its leases until they run out.
 */
import { left, right } from 'fp-ts/lib/Either.js'
import { newEntry } from '../../src/outbox/outbox.ts'
import type { Awaitable } from '../../src/core/awaitable.ts'
import type { Clock } from '../../src/core/clock.ts'
import type { Outcome } from '../../src/core/outcome.ts'
import { full } from '../../src/core/refusal.ts'
import type { Entry, Outbox } from '../../src/outbox/outbox.ts'

interface Row<A> {
  readonly entry: Entry<A>
  readonly due: number
  /** The view that has leased it. */
  readonly owner: View<A> | undefined
}

export interface View<A> {
  readonly outbox: Outbox<A>
  /** As a crash of its process: nothing it writes counts any more, and its leases run out. */
  readonly kill: () => void
}

export interface SharedStore<A> {
  readonly open: () => View<A>
  readonly ended: ReadonlyArray<Outcome<A>>
  readonly size: () => number
}

/** `latency`: milliseconds until an answer; 0 answers at once. */
export const sharedStore = <A>(
  clock: Clock,
  { latency = 0, leaseTime = 30_000, maxCount = Infinity } = {},
): SharedStore<A> => {
  let rows = new Map<string, Row<A>>()
  const ended: Array<Outcome<A>> = []
  const watchers = new Map<View<A>, () => void>()
  let ids = 0

  const tellOthers = (self: View<A> | undefined): void => {
    for (const [view, lookAgain] of watchers) if (view !== self) lookAgain()
  }
  const answer = <T>(work: () => T): Awaitable<T> =>
    latency === 0
      ? work()
      : new Promise((resolve) => {
          clock.schedule(latency, () => resolve(work()))
        })

  const open = (): View<A> => {
    let isAlive = true
    const mine = (id: string): boolean => isAlive && rows.get(id)?.owner === view
    const free = (): ReadonlyArray<Row<A>> =>
      [...rows.values()].filter(({ owner }) => owner === undefined).sort((a, b) => a.due - b.due)

    const outbox: Outbox<A> = {
      durable: true,
      enqueue: (items) =>
        answer(() => {
          const answers = items.map((item) => {
            if (rows.size >= maxCount) return left(full(item, 'count', maxCount))
            const entry = newEntry(String(++ids), item)
            rows.set(entry.id, { entry, due: 0, owner: undefined })
            return right(entry)
          })
          tellOthers(view)
          return answers
        }),
      lease: (now, { count, retries, retriesOnly = false }) =>
        answer(() => {
          if (!isAlive) return []
          const due = free().filter((row) => row.due <= now)
          const old = due.filter((row) => row.due > 0).slice(0, Math.min(count, retries))
          const fresh = retriesOnly ? [] : due.filter((row) => row.due === 0).slice(0, count - old.length)
          const leased = [...old, ...fresh]
          for (const row of leased) rows.set(row.entry.id, { ...row, owner: view })
          return leased.map(({ entry }) => entry)
        }),
      nack: (list) =>
        answer(() => {
          for (const { entry, due } of list)
            if (mine(entry.id)) rows.set(entry.id, { entry, due, owner: undefined })
          tellOthers(view)
        }),
      ack: (list) =>
        answer(() => {
          for (const { entry, outcome } of list) {
            if (!mine(entry.id)) continue
            rows.delete(entry.id)
            ended.push(outcome)
          }
          tellOthers(view)
        }),
      takeRemaining: () => [],
      nextDue: (retriesOnly = false) =>
        isAlive ? free().find(({ due }) => due > 0 || !retriesOnly)?.due : undefined,
      watch: (lookAgain) => {
        watchers.set(view, lookAgain)
        return () => {
          watchers.delete(view)
        }
      },
      dead: { list: () => [], redrive: () => 0, purge: () => 0 },
      stats: () => ({ waiting: rows.size, bytes: 0, dead: 0, maxCount, maxBytes: Infinity }),
      close: () => Promise.resolve(),
    }
    const view: View<A> = {
      outbox,
      kill: () => {
        isAlive = false
        watchers.delete(view)
        clock.schedule(leaseTime, () => {
          rows = new Map(
            [...rows].map(([id, row]) => [id, row.owner === view ? { ...row, owner: undefined } : row]),
          )
          tellOthers(undefined)
        })
      },
    }
    return view
  }

  return { open, ended, size: () => rows.size }
}
