/**
 * A plain outbox in memory, the reference of `outboxLaws`. It holds plain data, so a test can store it.
 *
 * @module
 */
import { partition } from 'fp-ts/lib/ReadonlyArray.js'
import { isRight, left, right } from '../../core/either.ts'
import type { Clock } from '../../core/clock.ts'
import { isDead, type Outcome } from '../../core/outcome.ts'
import { full } from '../../core/refusal.ts'
import { DEAD_PAGE, newEntry, type EndedDeadLetter, type Entry, type Outbox } from '../../outbox/outbox.ts'
import type { OutboxBounds } from './outboxWorld.ts'

interface Row<A> {
  entry: Entry<A>
  /** 0: never put back. */
  due: number
}

/** All that it keeps, as plain data. Rows are in the order of `enqueue`. */
export interface Held<A> {
  ids: number
  rows: Array<Row<A>>
  dead: Array<EndedDeadLetter<A>>
}

/** `rank`: of retries that are due at the same time the lowest comes first. */
export const plainOutbox = <A>(
  clock: Clock,
  { maxCount, maxBytes, keepDead }: OutboxBounds,
  sizeOf: (item: A) => number,
  rank: (item: A) => number = () => 0,
  held: Held<A> = { ids: 0, rows: [], dead: [] },
) => {
  /** The ids of leased entries. Delete one to end its lease. */
  const leased = new Set<string>()
  let evictedDeadLetters = 0
  const bytes = (): number => held.rows.reduce((sum, { entry }) => sum + sizeOf(entry.item), 0)
  const add = (item: A) => {
    if (held.rows.length >= maxCount) return left(full(item, 'count', maxCount))
    if (bytes() + sizeOf(item) > maxBytes) return left(full(item, 'bytes', maxBytes))
    const entry = newEntry(String(++held.ids), item)
    held.rows.push({ entry, due: 0 })
    return right(entry)
  }
  const addDead = (entry: Entry<A>, outcome: Outcome<A>): void => {
    held.dead.push({ reason: 'ended', id: String(++held.ids), at: clock.now(), entry, outcome })
    evictedDeadLetters += held.dead.splice(0, held.dead.length - keepDead).length
  }
  /** Answers the ids of those that go. */
  const removeDead = (goes: (deadLetter: EndedDeadLetter<A>) => boolean): ReadonlyArray<string> => {
    const { left: rest, right: gone } = partition(goes)(held.dead)
    held.dead = [...rest]
    return gone.map(({ id }) => id)
  }
  const rankOf = ({ due, entry }: Row<A>): number => (due === 0 ? 0 : rank(entry.item))
  const isFree = ({ entry }: Row<A>): boolean => !leased.has(entry.id)
  const free = () => held.rows.filter(isFree).sort((a, b) => a.due - b.due || rankOf(a) - rankOf(b))

  const outbox = {
    keeps: () => true,
    enqueue: (items) => items.map(add),
    lease: (now, { count, retries, retriesOnly = false }) => {
      const due = free().filter((row) => row.due <= now)
      const old = due.filter((row) => row.due > 0).slice(0, Math.min(count, retries))
      const fresh = retriesOnly ? [] : due.filter((row) => row.due === 0).slice(0, count - old.length)
      const entries = [...old, ...fresh].map(({ entry }) => entry)
      for (const { id } of entries) leased.add(id)
      return entries
    },
    nack: (list) => {
      for (const put of list)
        if (leased.delete(put.entry.id))
          Object.assign(held.rows.find(({ entry }) => entry.id === put.entry.id) ?? {}, put)
    },
    ack: (list) => {
      for (const { entry, outcome } of list) {
        if (!leased.delete(entry.id)) continue
        held.rows = held.rows.filter((row) => row.entry.id !== entry.id)
        if (isDead(outcome)) addDead(entry, outcome)
      }
    },
    addDeadLetter: (item, outcome) => addDead(newEntry(String(++held.ids), item), outcome),
    takeRemaining: () => [],
    nextDue: (retriesOnly = false) => free().find(({ due }) => due > 0 || !retriesOnly)?.due,
    dead: {
      list: ({ after = '0', limit = DEAD_PAGE } = {}) =>
        held.dead.filter(({ id }) => Number(id) > Number(after)).slice(0, limit),
      redrive: (matches) => removeDead((each) => matches(each) && isRight(add(each.entry.item))),
      purge: (matches) => removeDead(matches).length,
    },
    stats: () => ({
      waiting: held.rows.length,
      bytes: bytes(),
      maxCount,
      maxBytes,
      dead: held.dead.length,
      evictedDeadLetters,
    }),
    close: () => Promise.resolve(),
  } satisfies Outbox<A>
  return { outbox, leased, held }
}
