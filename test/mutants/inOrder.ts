/** Outboxes that keep the order wrongly on purpose. Each must break the law. */
import { ordered } from '../../src/outbox/ordered.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import type { Keyed, MakeInOrder } from '../laws/inOrder.ts'
import type { MakeBounded } from '../laws/inOrderBounded.ts'

const ignore = (): void => undefined
const real: MakeInOrder = (outbox, keyOf) => ordered(outbox, { keyOf, defect: ignore })

const changed =
  (change: (outbox: Outbox<Keyed>) => Partial<Outbox<Keyed>>): MakeInOrder =>
  (outbox, keyOf) => {
    const made = real(outbox, keyOf)
    return { ...made, ...change(made) }
  }

export const inOrderMutants: Readonly<Record<string, MakeInOrder>> = {
  'keeps none': (outbox) => outbox,
  'keeps one for all': (outbox) => real(outbox, () => 'the same'),
  'lets the next go when its head is parked': changed(({ park, end, append }) => ({
    park: (entry, due) => {
      void park(entry, due)
      void end(entry, { _tag: 'Abandoned', item: entry.item, attempts: 0, lastFailure: undefined })
      void append(entry.item)
    },
  })),
  'is never due while something stands in line': changed(({ nextDue, stats }) => ({
    nextDue: () => (stats().waiting > 3 ? undefined : nextDue()),
  })),
  'forgets what waits behind a head when it hands back': (outbox, keyOf) => ({
    ...real(outbox, keyOf),
    abandon: () => outbox.abandon(),
  }),
  'hands back the newest first': changed(({ abandon }) => ({
    abandon: () => [...(abandon() as ReadonlyArray<never>)].reverse(),
  })),
}

const bounded: MakeBounded = (outbox, options) => ordered(outbox, { ...options, defect: ignore })

const boundedOver =
  (change: (outbox: Outbox<Keyed>, under: Outbox<Keyed>) => Partial<Outbox<Keyed>>): MakeBounded =>
  (outbox, options) => {
    const made = bounded(outbox, options)
    return { ...made, ...change(made, outbox) }
  }

/** Over an outbox that holds more than memory does. */
export const boundedMutants: Readonly<Record<string, MakeBounded>> = {
  'keeps none': (outbox) => outbox,
  'holds all that stands behind': ({ parked: _, ...outbox }, options) => bounded(outbox, options),
  'holds more than it may': (outbox, { keyOf, mostBehind }) =>
    bounded(outbox, { keyOf, mostBehind: mostBehind + 2 }),
  'forgets the retries while it is full': ({ parked, ...outbox }, options) =>
    bounded(
      { ...outbox, ...(parked === undefined ? {} : { parked: { ...parked, take: () => [] } }) },
      options,
    ),
  'is due while all that is new must wait': boundedOver((_, { nextDue }) => ({ nextDue })),
  'lets the next go when its head is parked': boundedOver(({ park, end, append }) => ({
    park: async (entry, due) => {
      await park(entry, due)
      await end(entry, { _tag: 'Abandoned', item: entry.item, attempts: 0, lastFailure: undefined })
      await append(entry.item)
    },
  })),
  'never lets the next of a key go': boundedOver((_, { end }) => ({ end })),
  'takes twice as much as it was asked for': boundedOver(({ take }) => ({
    take: (now, limit, most) => take(now, limit * 2, most),
  })),
}
