import type { Awaitable } from '../../core/awaitable.ts'
import { memoryOutbox } from '../../outbox/memoryOutbox.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import { brokenVersions } from './law.ts'
import type { MakeOutbox, OutboxItem, OutboxWorld } from './outboxWorld.ts'
import { sharedStore } from './sharedStore.ts'

/** The outbox in memory with a change. */
const inMemory =
  (change: (outbox: Outbox<OutboxItem>, world: OutboxWorld) => Partial<Outbox<OutboxItem>>): MakeOutbox =>
  (world) => {
    const outbox = memoryOutbox<OutboxItem>({ ...world.bounds, clock: world.clock })
    return { ...outbox, ...change(outbox, world) }
  }

/** A durable outbox: each change writes all that it holds to a new file, and is done when that is synced. The end of a file is a `;`. */
export const files =
  (syncs = true): MakeOutbox =>
  async ({ clock, bounds, disk }) => {
    let number = 0
    let from: string | undefined
    for (const path of await disk.list()) {
      const text = String(await disk.read(path))
      number = Math.max(number, Number(path))
      if (text.endsWith(';')) from = text.slice(0, -1)
    }
    const sizeOf = ({ byteLength }: OutboxItem): number => byteLength
    const store = sharedStore<OutboxItem>(clock, { ...bounds, sizeOf, ...(from !== undefined && { from }) })
    const stored = async <T>(answer: Awaitable<T>): Promise<T> => {
      const given = await answer
      const path = String(++number).padStart(9, '0')
      await disk.append(path, `${store.text()};`)
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
export const brokenOutboxes = brokenVersions<MakeOutbox>()({
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
  'leases twice': {
    breaks: 'outbox/once',
    make: inMemory(({ lease }) => ({
      lease: async (now, limits) => {
        const entries = await lease(now, limits)
        return [...entries, ...entries.slice(0, 1)]
      },
    })),
  },
  'leases before the due time': {
    breaks: 'outbox/order',
    make: inMemory(({ lease }) => ({ lease: (now, limits) => lease(now + 1_000, limits) })),
  },
  'ignores retriesOnly': {
    breaks: 'outbox/order',
    make: inMemory(({ lease }) => ({
      lease: (now, limits) => lease(now, { ...limits, retriesOnly: false }),
    })),
  },
  'forgets the progress': {
    breaks: 'outbox/remembers',
    make: inMemory(({ nack }) => ({
      nack: (list) => nack(list.map(({ entry, due }) => ({ entry: { ...entry, progress: undefined }, due }))),
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
    breaks: 'outbox/dead',
    make: inMemory(({ dead }) => ({ dead: { ...dead, purge: () => dead.purge(() => true) } })),
  },
  'keeps what it should hand back': {
    breaks: 'outbox/remaining',
    make: inMemory(() => ({ takeRemaining: () => [] })),
  },
  'does not sync': { breaks: 'outbox/survives', make: files(false) },
})
