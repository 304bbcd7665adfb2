import { right } from 'fp-ts/lib/Either.js'
import { identity } from 'fp-ts/lib/function.js'
import type { Awaitable } from '../../core/awaitable.ts'
import type { Clock } from '../../core/clock.ts'
import { dropped } from '../../core/outcome.ts'
import { memoryOutbox } from '../../outbox/memoryOutbox.ts'
import { newEntry, type Outbox } from '../../outbox/outbox.ts'
import { brokenVersions, type Broken } from './law.ts'
import type { MakeOutbox, OutboxItem } from './outboxWorld.ts'
import type { OpenSharedOutbox } from './sharedOutboxLaws.ts'
import { sharedStore, type SharedStore } from './sharedStore.ts'

/** The outbox in memory with a change that breaks a law. */
export const inMemory = (
  law: string,
  change: (outbox: Outbox<OutboxItem>) => Partial<Outbox<OutboxItem>>,
): Broken<MakeOutbox> => ({
  breaks: `outbox/${law}`,
  make: ({ clock, bounds }) => {
    const outbox = memoryOutbox<OutboxItem>({ ...bounds, clock })
    return { ...outbox, ...change(outbox) }
  },
})

/** A durable outbox: each change writes all that it holds to a new file, which replaces the old one when it is synced. */
export const files =
  (syncs = true): MakeOutbox =>
  async ({ clock, bounds, disk }) => {
    const paths = await disk.list()
    if (paths.includes('new')) await disk.remove('new')
    const from = paths.includes('store') ? String(await disk.read('store')) : undefined
    const sizeOf = ({ byteLength }: OutboxItem): number => byteLength
    const store = sharedStore<OutboxItem>(clock, { ...bounds, sizeOf, from })
    const { outbox } = store.open()
    const stored = async <T>(answer: Awaitable<T>): Promise<T> => {
      const given = await answer
      await disk.append('new', store.text())
      if (syncs) await disk.sync('new')
      await disk.rename('new', 'store')
      return given
    }
    return {
      ...outbox,
      enqueue: (items) => stored(outbox.enqueue(items)),
      nack: (list) => stored(outbox.nack(list)),
      ack: (list) => stored(outbox.ack(list)),
      addDeadLetter: (item, outcome) => stored(outbox.addDeadLetter?.(item, outcome)),
      dead: {
        list: outbox.dead.list,
        redrive: (matches) => stored(outbox.dead.redrive(matches)),
        purge: (matches) => stored(outbox.dead.purge(matches)),
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
  'loses what it is given back': inMemory('stats', ({ ack }) => ({
    nack: (list) => ack(list.map(({ entry }) => ({ entry, outcome: dropped(entry.item, 1, 'dropOldest') }))),
  })),
  'throws for an empty list': inMemory('answers', ({ enqueue }) => ({
    enqueue: (items) => (items.length > 0 ? enqueue(items) : Promise.reject(new Error('nothing to insert'))),
  })),
  'leases twice': inMemory('once', ({ lease }) => ({
    lease: async (...args) => (await lease(...args)).flatMap((entry) => [entry, entry]),
  })),
  'leases before the due time': inMemory('order', ({ lease }) => ({
    lease: (now, limits) => lease(now + 1_000, limits),
  })),
  'forgets the progress': inMemory('remembers', ({ nack }) => ({
    nack: (list) => nack(list.map(({ entry, due }) => ({ entry: { ...entry, progress: undefined }, due }))),
  })),
  'takes one more than its bound': {
    breaks: 'outbox/bounds',
    make: ({ clock, bounds }) => {
      const outbox = memoryOutbox<OutboxItem>({ ...bounds, maxCount: bounds.maxCount + 1, clock })
      return { ...outbox, stats: () => ({ ...outbox.stats(), maxCount: bounds.maxCount }) }
    },
  },
  'lists dead letters backwards': inMemory('dead', ({ dead }) => ({
    dead: { ...dead, list: async (page) => [...(await dead.list(page))].reverse() },
  })),
  'redrives nothing': inMemory('redrives', ({ dead }) => ({ dead: { ...dead, redrive: () => 0 } })),
  'does not sync': { breaks: 'outbox/survives', make: files(false) },
})

/** A store in memory, by the clock of its run. `change` is done to each view. `leaseTime`: other than it should be. */
export const sharedInMemory = (
  change: (outbox: Outbox<number>) => Outbox<number> = identity,
  leaseTime?: number,
): OpenSharedOutbox => {
  const stores = new WeakMap<Clock, SharedStore<number>>()
  return ({ clock, ...world }) => {
    const options = { ...world, ...(leaseTime !== undefined && { leaseTime }) }
    const store = stores.get(clock) ?? sharedStore<number>(clock, options)
    stores.set(clock, store)
    const { outbox, kill } = store.open()
    return { outbox: change(outbox), kill }
  }
}

/** Shared stores with one fault each, to see a law find it. */
export const brokenSharedOutboxes = brokenVersions<OpenSharedOutbox>()({
  'tells no process that another one changed it': {
    breaks: 'shared-outbox/leaves-nothing',
    make: sharedInMemory(({ watch: _, ...outbox }) => outbox),
  },
  'forgets the progress': {
    breaks: 'shared-outbox/keeps-progress',
    make: sharedInMemory((outbox) => ({
      ...outbox,
      nack: (list) =>
        outbox.nack(list.map((each) => ({ ...each, entry: { ...each.entry, progress: undefined } }))),
    })),
  },
  'loses an item that it accepts': {
    breaks: 'shared-outbox/ends-once',
    make: sharedInMemory((outbox) => ({
      ...outbox,
      enqueue: (items) => items.map((item) => right(newEntry(`lost ${String(item)}`, item))),
    })),
  },
  'ends the leases of a killed process too soon': {
    breaks: 'shared-outbox/one-at-a-time',
    make: sharedInMemory(identity, 1_000),
  },
})
