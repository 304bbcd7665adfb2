/**
 * A store in memory that several relays share, as a table in a database would be: each has a view of it, entries are leased to one view at
 * a time, and `watch` tells a view that another one changed something. A view that is killed keeps its leases until they run out.
 *
 * @module
 */
import { isRight, left, right } from 'fp-ts/lib/Either.js'
import type { Awaitable } from '../../core/awaitable.ts'
import type { Clock } from '../../core/clock.ts'
import { isDead } from '../../core/outcome.ts'
import type { Outcome } from '../../core/outcome.ts'
import { full } from '../../core/refusal.ts'
import { DEAD_PAGE, newEntry } from '../../outbox/outbox.ts'
import type { EndedDeadLetter, Entry, Outbox } from '../../outbox/outbox.ts'

interface Row<A> {
  readonly entry: Entry<A>
  /** 0: never put back. */
  readonly due: number
  /** The view that has leased it. */
  readonly owner?: View<A> | undefined
}

/** What one process sees of a store. */
export interface View<A> {
  readonly outbox: Outbox<A>
  /** As a crash of its process: nothing it writes counts any more, and its leases run out. */
  readonly kill: () => void
}

/** A store, as its tests see it. */
export interface SharedStore<A> {
  readonly open: () => View<A>
  /** In the order of their acks. */
  readonly ended: ReadonlyArray<Outcome<A>>
  /** What it holds, as JSON. */
  readonly text: () => string
  readonly size: () => number
}

interface SharedStoreOptions<in A> {
  /** Milliseconds until an answer; 0 answers at once. Default 0. */
  readonly latency?: number
  /** Milliseconds. Default 30,000; with 0 the next view has all entries of a killed one at once. */
  readonly leaseTime?: number
  readonly maxCount?: number
  readonly maxBytes?: number
  readonly keepDead?: number
  readonly sizeOf?: (item: A) => number
  /** The `text` of a store, to go on with. */
  readonly from?: string
}

interface Stored<A> {
  readonly ids: number
  readonly rows: ReadonlyArray<readonly [string, Row<A>]>
  readonly dead: ReadonlyArray<EndedDeadLetter<A>>
}

export const sharedStore = <A>(clock: Clock, options: SharedStoreOptions<A> = {}): SharedStore<A> => {
  const { latency = 0, leaseTime = 30_000, sizeOf = () => 0 } = options
  const { maxCount = Infinity, maxBytes = Infinity, keepDead = 1_000 } = options
  // `text` wrote it.
  const stored = JSON.parse(options.from ?? '{ "ids": 0, "rows": [], "dead": [] }') as Stored<A>
  const rows = new Map(stored.rows)
  const ended: Array<Outcome<A>> = []
  let dead = [...stored.dead]
  const watchers = new Map<View<A>, () => void>()
  let { ids } = stored

  const tellOthers = (self: View<A> | undefined): void => {
    for (const [view, lookAgain] of watchers) if (view !== self) lookAgain()
  }
  const bytes = (): number => [...rows.values()].reduce((sum, { entry }) => sum + sizeOf(entry.item), 0)
  const add = (item: A) => {
    if (rows.size >= maxCount) return left(full(item, 'count', maxCount))
    if (bytes() + sizeOf(item) > maxBytes) return left(full(item, 'bytes', maxBytes))
    const entry = newEntry(String(++ids), item)
    rows.set(entry.id, { entry, due: 0, owner: undefined })
    return right(entry)
  }
  const addDead = (entry: Entry<A>, outcome: Outcome<A>): void => {
    dead.push({ reason: 'ended', id: String(++ids), at: clock.now(), entry, outcome })
    dead.splice(0, dead.length - keepDead)
  }
  const filterDead = (stays: (deadLetter: EndedDeadLetter<A>) => boolean): number => {
    const before = dead.length
    dead = dead.filter(stays)
    return before - dead.length
  }

  const open = (): View<A> => {
    let isAlive = true
    const mine = (id: string): boolean => rows.get(id)?.owner === view
    /** A killed view does nothing more, and answers nothing. */
    const answer = <T>(work: () => T): Awaitable<T> =>
      isAlive && latency === 0
        ? work()
        : new Promise((resolve) => {
            clock.schedule(latency, () => {
              if (isAlive) resolve(work())
            })
          })
    const free = (): ReadonlyArray<Row<A>> =>
      [...rows.values()].filter(({ owner }) => owner === undefined).sort((a, b) => a.due - b.due)

    const outbox: Outbox<A> = {
      durable: true,
      enqueue: (items) =>
        answer(() => {
          const answers = items.map(add)
          tellOthers(view)
          return answers
        }),
      lease: (now, { count, retries, retriesOnly = false }) =>
        answer(() => {
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
            if (isDead(outcome)) addDead(entry, outcome)
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
      dead: {
        list: ({ after = '0', limit = DEAD_PAGE } = {}) =>
          dead.filter(({ id }) => Number(id) > Number(after)).slice(0, limit),
        redrive: (matches) => filterDead((each) => !matches(each) || !isRight(add(each.entry.item))),
        purge: (matches) => filterDead((each) => !matches(each)),
      },
      stats: () => ({ waiting: rows.size, bytes: bytes(), dead: dead.length, maxCount, maxBytes }),
      close: () => Promise.resolve(),
    }
    const release = (): void => {
      for (const [id, row] of rows) if (row.owner === view) rows.set(id, { ...row, owner: undefined })
      tellOthers(undefined)
    }
    const view: View<A> = {
      outbox,
      kill: () => {
        isAlive = false
        watchers.delete(view)
        if (leaseTime === 0) release()
        else clock.schedule(leaseTime, release)
      },
    }
    return view
  }

  // A view belongs to its process.
  const text = (): string =>
    JSON.stringify({ ids, rows: [...rows].map(([id, { entry, due }]) => [id, { entry, due }]), dead })

  return { open, ended, text, size: () => rows.size }
}
