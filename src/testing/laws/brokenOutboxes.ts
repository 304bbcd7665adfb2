import type { Awaitable } from '../../core/awaitable.ts'
import { memoryOutbox } from '../../outbox/memoryOutbox.ts'
import type { Entry, Outbox } from '../../outbox/outbox.ts'
import type { Broken } from './law.ts'
import type { MakeOutbox, OutboxItem, OutboxWorld } from './outboxWorld.ts'
import { sharedStore } from './sharedStore.ts'

/** The outbox in memory with a change. */
const inMemory =
  (change: (outbox: Outbox<OutboxItem>, world: OutboxWorld) => Partial<Outbox<OutboxItem>>): MakeOutbox =>
  (world) => {
    const outbox = memoryOutbox<OutboxItem>({ ...world.bounds, clock: world.clock })
    return { ...outbox, ...change(outbox, world) }
  }

/** How an outbox on a disk does its work. */
interface Habits {
  readonly syncs: boolean
  /** Leaves an item out of what it stores. */
  readonly isKept: (isLeased: boolean) => boolean
  /** Also reads a file whose end is not there. */
  readonly readsAll: boolean
}

/** A durable outbox: each change writes all that it holds to a new file, and is done when that is synced. The end of a file is a `;`. */
export const files =
  ({ syncs = true, isKept = () => true, readsAll = false }: Partial<Habits> = {}): MakeOutbox =>
  async ({ clock, bounds, disk }) => {
    let number = 0
    let from: string | undefined
    for (const path of await disk.list()) {
      const text = String(await disk.read(path))
      number = Math.max(number, Number(path))
      if (text.endsWith(';') || readsAll) from = text.replace(/;$/, '')
    }
    const sizeOf = ({ byteLength }: OutboxItem): number => byteLength
    const store = sharedStore<OutboxItem>(clock, { ...bounds, sizeOf, ...(from !== undefined && { from }) })
    const stored = async <T>(answer: Awaitable<T>): Promise<T> => {
      const given = await answer
      const path = String(++number).padStart(9, '0')
      await disk.append(path, `${store.text(isKept)};`)
      if (syncs) await disk.sync(path)
      for (const other of await disk.list()) if (other < path) await disk.remove(other)
      return given
    }
    const { outbox } = store.open()
    const { enqueue, lease, nack, ack, dead } = outbox
    return {
      ...outbox,
      enqueue: (items) => stored(enqueue(items)),
      lease: (now, limits) => stored(lease(now, limits)),
      nack: (list) => stored(nack(list)),
      ack: (list) => stored(ack(list)),
      dead: {
        list: dead.list,
        redrive: (matches) => stored(dead.redrive(matches)),
        purge: (matches) => stored(dead.purge(matches)),
      },
    }
  }

const withFirst = <T>(list: ReadonlyArray<T>, change: (first: T) => T): ReadonlyArray<T> =>
  list.map((each, at) => (at === 0 ? change(each) : each))

const leasesTwice = inMemory(({ lease, nack, ack }) => {
  let last: ReadonlyArray<Entry<OutboxItem>> = []
  return {
    nack: (list) => {
      last = []
      return nack(list)
    },
    ack: (list) => {
      last = []
      return ack(list)
    },
    lease: async (now, limits) => {
      const entries = await lease(now, limits)
      const again = entries.length < limits.count ? last.slice(0, 1) : []
      last = entries
      return [...again, ...entries]
    },
  }
})

/**
 * Outboxes with one bug each, to see a law find it: `outboxLaws(brokenOutboxes['leases twice'].make)`.
 *
 * @example
 * import { brokenOutboxes, outboxLaws, reportOf } from 'headrace/testing/laws'
 *
 * const { make, breaks } = brokenOutboxes['loses what it is given back']
 * const law = outboxLaws(make).find(({ id }) => id === breaks)
 * if (law !== undefined) console.log((await reportOf(law, { seed: 1 })).result) // => broken
 */
export const brokenOutboxes = {
  'loses what it is given back': {
    breaks: 'outbox/stats',
    make: inMemory(({ ack }) => ({
      nack: (list) =>
        ack(
          list.map(({ entry }) => ({
            entry,
            outcome: { _tag: 'Dropped', item: entry.item, attempts: 1, reason: 'dropOldest' },
          })),
        ),
    })),
  },
  'throws for an empty list': {
    breaks: 'outbox/answers',
    make: inMemory(({ enqueue }) => ({
      enqueue: (items) => {
        if (items.length === 0) throw new Error('nothing to insert')
        return enqueue(items)
      },
    })),
  },
  'hands out items of its own': {
    breaks: 'outbox/kept',
    make: inMemory(({ lease }) => ({
      lease: async (now, limits) => {
        const entries = await lease(now, limits)
        return withFirst(entries, (each) => ({ ...each, id: `${each.id}'`, item: { ...each.item, n: -1 } }))
      },
    })),
  },
  'leases twice': { breaks: 'outbox/once', make: leasesTwice },
  'leases before the due time': {
    breaks: 'outbox/order',
    make: inMemory(({ lease }) => ({ lease: (now, limits) => lease(now + 1_000, limits) })),
  },
  'leases more retries than allowed': {
    breaks: 'outbox/order',
    make: inMemory(({ lease }) => ({
      lease: (now, limits) => lease(now, { ...limits, retries: limits.count }),
    })),
  },
  'leases new entries in the wrong order': {
    breaks: 'outbox/order',
    make: inMemory(({ lease }) => ({
      lease: async (now, limits) => [...(await lease(now, limits))].reverse(),
    })),
  },
  'ignores retriesOnly': {
    breaks: 'outbox/retries-only',
    make: inMemory(({ lease }) => ({
      lease: (now, limits) => lease(now, { ...limits, retriesOnly: false }),
    })),
  },
  'counts new entries as retries': {
    breaks: 'outbox/retries-only',
    make: inMemory(({ nextDue }) => ({ nextDue: () => nextDue() })),
  },
  'forgets the progress': {
    breaks: 'outbox/remembers',
    make: inMemory(({ nack }) => ({
      nack: (list) =>
        nack(withFirst(list, (each) => ({ ...each, entry: { ...each.entry, progress: undefined } }))),
    })),
  },
  'says a wrong due time': {
    breaks: 'outbox/wakes',
    make: inMemory(({ nextDue }) => ({
      nextDue: (retriesOnly) => (retriesOnly === true ? nextDue(true) : undefined),
    })),
  },
  'takes one more than its bound': {
    breaks: 'outbox/bounds',
    make: (world) => {
      const maxCount = world.bounds.maxCount + 1
      return inMemory(({ stats }) => ({ stats: () => ({ ...stats(), maxCount: maxCount - 1 }) }))({
        ...world,
        bounds: { ...world.bounds, maxCount },
      })
    },
  },
  'answers for one item only': {
    breaks: 'outbox/bounds',
    make: inMemory(({ enqueue }) => ({ enqueue: (items) => enqueue(items.slice(0, 1)) })),
  },
  'counts wrongly': {
    breaks: 'outbox/stats',
    make: inMemory(({ stats }) => ({ stats: () => ({ ...stats(), waiting: Math.min(2, stats().waiting) }) })),
  },
  'lists dead letters backwards': {
    breaks: 'outbox/dead',
    make: inMemory(({ dead }) => ({
      dead: { ...dead, list: async (page) => [...(await dead.list(page))].reverse() },
    })),
  },
  'redrives nothing': {
    breaks: 'outbox/redrives',
    make: inMemory(({ dead }) => ({ dead: { ...dead, redrive: () => 0 } })),
  },
  'purges all': {
    breaks: 'outbox/purges',
    make: inMemory(({ dead }) => ({ dead: { ...dead, purge: () => dead.purge(() => true) } })),
  },
  'keeps what it should hand back': {
    breaks: 'outbox/remaining',
    make: inMemory(() => ({ takeRemaining: () => [] })),
  },
  'does not sync': { breaks: 'outbox/survives', make: files({ syncs: false }) },
  'treats a lease as an ack when it opens': {
    breaks: 'outbox/survives',
    make: files({ isKept: (isLeased) => !isLeased }),
  },
  'cannot read a file that a crash cut off': { breaks: 'outbox/answers', make: files({ readsAll: true }) },
} satisfies Readonly<Record<string, Broken<MakeOutbox>>>
