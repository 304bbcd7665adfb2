/**
 * A store in memory that several relays share, as a table in a database would be: each has a view of it, entries are leased to one view at
 * a time, and `watch` tells a view that another one changed something. A view that is killed keeps its leases until they run out.
 * It is written to be plain, so it is also what `outboxLaws` compares an outbox with.
 *
 * @module
 */
import { isRight, left, right } from 'fp-ts/lib/Either.js'
import type { Awaitable } from '../../core/awaitable.ts'
import type { Clock } from '../../core/clock.ts'
import { isDead, type Outcome } from '../../core/outcome.ts'
import { full } from '../../core/refusal.ts'
import { DEAD_PAGE, newEntry, type EndedDeadLetter, type Entry, type Outbox } from '../../outbox/outbox.ts'
import type { OutboxBounds } from './outboxWorld.ts'

interface Row<A> {
  readonly entry: Entry<A>
  /** 0: never put back. */
  readonly due: number
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
  /** What waits, leased or not, in the order of `enqueue`. */
  readonly entries: () => ReadonlyArray<Entry<A>>
  /** In the order of their acks. */
  readonly ended: ReadonlyArray<Outcome<A>>
  /** What it holds, as JSON. */
  readonly text: () => string
}

interface SharedStoreOptions<in A> extends Partial<OutboxBounds> {
  /** Milliseconds until an answer; 0 answers at once. Default 0. */
  readonly latency?: number
  /** Milliseconds. Default 30,000; with 0 the next view has all entries of a killed one at once. */
  readonly leaseTime?: number
  readonly sizeOf?: (item: A) => number
  /** Of retries that are due at the same time the lowest comes first. Default: in the order of `enqueue`. */
  readonly rank?: (item: A) => number
  /** The `text` of a store, to go on with. */
  readonly from?: string | undefined
}

export const sharedStore = <A>(clock: Clock, options: SharedStoreOptions<A> = {}): SharedStore<A> => {
  const { latency = 0, leaseTime = 30_000, sizeOf = () => 0, rank = () => 0 } = options
  const { maxCount = Infinity, maxBytes = Infinity, keepDead = 1_000 } = options
  const { from = '{ "ids": 0, "rows": [], "dead": [] }' } = options
  type Rows = Array<readonly [string, Row<A>]>
  // `text` wrote it.
  const stored = JSON.parse(from) as { ids: number; rows: Rows; dead: Array<EndedDeadLetter<A>> }
  let { ids, dead } = stored
  const rows = new Map(stored.rows)
  /** By entry: the view that has leased it, which belongs to its process and is not stored. */
  const owners = new Map<string, View<A>>()
  const ended: Array<Outcome<A>> = []
  let evictedDeadLetters = 0
  const watchers = new Map<View<A>, () => void>()

  const tellOthers = (self: View<A> | undefined): void => {
    for (const [view, lookAgain] of watchers) if (view !== self) lookAgain()
  }
  const bytes = (): number => [...rows.values()].reduce((sum, { entry }) => sum + sizeOf(entry.item), 0)
  const add = (item: A) => {
    if (rows.size >= maxCount) return left(full(item, 'count', maxCount))
    if (bytes() + sizeOf(item) > maxBytes) return left(full(item, 'bytes', maxBytes))
    const entry = newEntry(String(++ids), item)
    rows.set(entry.id, { entry, due: 0 })
    return right(entry)
  }
  const addDead = (entry: Entry<A>, outcome: Outcome<A>): void => {
    dead.push({ reason: 'ended', id: String(++ids), at: clock.now(), entry, outcome })
    evictedDeadLetters += dead.splice(0, dead.length - keepDead).length
  }
  const filterDead = (stays: (deadLetter: EndedDeadLetter<A>) => boolean): number => {
    const before = dead.length
    dead = dead.filter(stays)
    return before - dead.length
  }
  const rankOf = ({ due, entry }: Row<A>): number => (due === 0 ? 0 : rank(entry.item))
  const free = (): ReadonlyArray<Row<A>> =>
    [...rows.values()]
      .filter(({ entry }) => !owners.has(entry.id))
      .sort((a, b) => a.due - b.due || rankOf(a) - rankOf(b))

  const open = (): View<A> => {
    let isAlive = true
    /** Ends the lease of the entry. False: this view had none. */
    const release = (id: string): boolean => owners.get(id) === view && owners.delete(id)
    /** A killed view does nothing more, and answers nothing. */
    const answer = <T>(work: () => T): Awaitable<T> =>
      isAlive && latency === 0
        ? work()
        : new Promise((resolve) => {
            clock.schedule(latency, () => {
              if (isAlive) resolve(work())
            })
          })
    const change = <T>(work: () => T): Awaitable<T> =>
      answer(() => {
        const answered = work()
        tellOthers(view)
        return answered
      })

    const outbox: Outbox<A> = {
      durable: true,
      enqueue: (items) => change(() => items.map(add)),
      lease: (now, { count, retries, retriesOnly = false }) =>
        answer(() => {
          const due = free().filter((row) => row.due <= now)
          const old = due.filter((row) => row.due > 0).slice(0, Math.min(count, retries))
          const fresh = retriesOnly ? [] : due.filter((row) => row.due === 0).slice(0, count - old.length)
          const leased = [...old, ...fresh].map(({ entry }) => entry)
          for (const { id } of leased) owners.set(id, view)
          return leased
        }),
      nack: (list) =>
        change(() => {
          for (const { entry, due } of list) if (release(entry.id)) rows.set(entry.id, { entry, due })
        }),
      ack: (list) =>
        change(() => {
          for (const { entry, outcome } of list) {
            if (!release(entry.id)) continue
            rows.delete(entry.id)
            ended.push(outcome)
            if (isDead(outcome)) addDead(entry, outcome)
          }
        }),
      addDeadLetter: (item, outcome) => addDead(newEntry(String(++ids), item), outcome),
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
      stats: () => ({
        ...{ waiting: rows.size, bytes: bytes(), maxCount, maxBytes },
        ...{ dead: dead.length, evictedDeadLetters },
      }),
      close: () => Promise.resolve(),
    }
    const expire = (): void => {
      for (const id of owners.keys()) release(id)
      tellOthers(undefined)
    }
    const view: View<A> = {
      outbox,
      kill: () => {
        isAlive = false
        watchers.delete(view)
        if (leaseTime === 0) expire()
        else clock.schedule(leaseTime, expire)
      },
    }
    return view
  }

  const entries = () => [...rows.values()].map(({ entry }) => entry)
  return { open, entries, ended, text: () => JSON.stringify({ ids, rows: [...rows], dead }) }
}
