/** A durable store in memory that several relays share, as a table in a database. A view is what one process sees of it. */
import type { Awaitable } from '../../src/core/awaitable.ts'
import type { Clock, Outcome } from '../../src/index.ts'
import type { Entry, Outbox } from '../../src/outbox/index.ts'
import type { OutboxBounds } from '../../src/testing/laws/outboxWorld.ts'
import { plainOutbox, type Held } from '../../src/testing/laws/plainOutbox.ts'

interface View<A> {
  readonly outbox: Outbox<A>
  /** As a crash of its process: it writes nothing more, and its leases run out. */
  readonly kill: () => void
}

interface SharedStoreOptions<in A> extends Partial<OutboxBounds> {
  readonly latency?: number
  /** Milliseconds. With 0 the next view has all entries of a killed one at once. */
  readonly leaseTime?: number
  readonly sizeOf?: (item: A) => number
  /** The `text` of a store, to go on with. */
  readonly from?: string | undefined
}

export const sharedStore = <A>(clock: Clock, options: SharedStoreOptions<A> = {}) => {
  const { latency = 0, leaseTime = 30_000, sizeOf = () => 0, from, ...bounds } = options
  const limits = { maxCount: Infinity, maxBytes: Infinity, keepDead: 1_000, ...bounds }
  // `text` wrote it.
  const stored = from === undefined ? undefined : (JSON.parse(from) as Held<A>)
  const { outbox: inner, leased, held } = plainOutbox<A>(clock, limits, sizeOf, undefined, stored)
  /** The view of each leased entry. */
  const owners = new Map<string, View<A>>()
  const ended: Array<Outcome<A>> = []
  const watchers = new Map<View<A>, () => void>()
  const tellOthers = (self?: View<A>): void => {
    for (const [view, lookAgain] of watchers) if (view !== self) lookAgain()
  }

  const open = (): View<A> => {
    const openedAt = clock.monotonic()
    let isAlive = true
    const answer = <T>(work: () => T): Awaitable<T> =>
      isAlive && latency === 0
        ? work()
        : new Promise((resolve) => clock.schedule(latency, () => isAlive && resolve(work())))
    const change = <T>(work: () => T): Awaitable<T> =>
      answer(() => {
        const answered = work()
        tellOthers(view)
        return answered
      })
    const owned = <Each extends { readonly entry: Entry<A> }>(list: ReadonlyArray<Each>) =>
      list.filter(({ entry }) => owners.get(entry.id) === view && owners.delete(entry.id))
    const outbox: Outbox<A> = {
      ...inner,
      enqueue: (items) => change(() => inner.enqueue(items)),
      lease: (now, asked) =>
        answer(() => {
          const entries = inner.lease(now, asked)
          for (const { id } of entries) owners.set(id, view)
          return entries
        }),
      nack: (list) => change(() => inner.nack(owned(list))),
      ack: (list) =>
        change(() => {
          const mine = owned(list)
          ended.push(...mine.map(({ outcome }) => outcome))
          return inner.ack(mine)
        }),
      async allEnded() {
        const waiting = new Set(held.rows.map(({ entry }) => entry.id))
        while (this.stats().waiting > 0 && held.rows.some(({ entry }) => waiting.has(entry.id)))
          await new Promise<void>((resolve) => clock.schedule(100, resolve))
      },
      nextDue: (retriesOnly) => (isAlive ? inner.nextDue(retriesOnly) : undefined),
      watch: (lookAgain) => (watchers.set(view, lookAgain), () => void watchers.delete(view)),
    }
    const expire = (): void => {
      for (const [id, owner] of owners) if (owner === view && owners.delete(id)) leased.delete(id)
      tellOthers()
    }
    const view: View<A> = {
      outbox,
      kill: () => {
        isAlive = false
        watchers.delete(view)
        if (leaseTime === 0) expire()
        // It was renewed at each half of its time.
        else clock.schedule(leaseTime - ((clock.monotonic() - openedAt) % (leaseTime / 2)), expire)
      },
    }
    return view
  }
  return { open, entries: () => held.rows.map(({ entry }) => entry), ended, text: () => JSON.stringify(held) }
}
export type SharedStore<A> = ReturnType<typeof sharedStore<A>>
