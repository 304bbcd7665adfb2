import { right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../core/clock.ts'
import { newEntry } from '../../outbox/outbox.ts'
import type { Entry, Outbox } from '../../outbox/outbox.ts'
import type { Broken } from './law.ts'
import { sharedStore } from './sharedStore.ts'
import type { SharedStore } from './sharedStore.ts'
import type { OpenSharedOutbox } from './sharedOutboxLaws.ts'

/** A store in memory, by the clock of its run. `change` is done to each view. */
export const sharedInMemory = (
  change: (outbox: Outbox<number>, clock: Clock) => Outbox<number> = (outbox) => outbox,
): OpenSharedOutbox => {
  const stores = new WeakMap<Clock, SharedStore<number>>()
  return ({ clock, latency, leaseTime }) => {
    const store = stores.get(clock) ?? sharedStore<number>(clock, { latency, leaseTime })
    stores.set(clock, store)
    const { outbox, kill } = store.open()
    return { outbox: change(outbox, clock), kill }
  }
}

/** The entries that were handed out last, by run. */
const handedOut = new WeakMap<Clock, ReadonlyArray<Entry<number>>>()

/** Shared stores with one fault each, to see a law find it. */
export const brokenSharedOutboxes = {
  'tells no process that another one changed it': {
    breaks: 'shared-outbox/leaves-nothing',
    make: sharedInMemory(({ watch: _, ...outbox }) => outbox),
  },
  'forgets the progress': {
    breaks: 'shared-outbox/keeps-progress',
    make: sharedInMemory((outbox) => ({
      ...outbox,
      nack: (list) =>
        outbox.nack(list.map(({ entry, due }) => ({ entry: { ...entry, progress: undefined }, due }))),
    })),
  },
  'loses an item that it accepts': {
    breaks: 'shared-outbox/ends-once',
    make: sharedInMemory((outbox) => ({
      ...outbox,
      enqueue: (items) => items.map((item) => right(newEntry(`lost ${String(item)}`, item))),
    })),
  },
  'leases an entry to two processes': {
    breaks: 'shared-outbox/one-at-a-time',
    make: sharedInMemory((outbox, clock) => ({
      ...outbox,
      lease: async (now, limits) => {
        const entries = await outbox.lease(now, limits)
        const others = handedOut.get(clock) ?? []
        handedOut.set(clock, entries)
        return entries.length === 0 ? others.slice(0, limits.count) : entries
      },
    })),
  },
} satisfies Readonly<Record<string, Broken<OpenSharedOutbox>>>
