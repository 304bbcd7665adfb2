import { identity } from 'fp-ts/lib/function.js'
import { right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../core/clock.ts'
import { newEntry } from '../../outbox/outbox.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import { brokenVersions } from './law.ts'
import { sharedStore } from './sharedStore.ts'
import type { SharedStore } from './sharedStore.ts'
import type { OpenSharedOutbox } from './sharedOutboxLaws.ts'

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
