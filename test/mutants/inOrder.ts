/** Outboxes that keep the order wrongly on purpose. Each must break the law. */
import { inOrder } from '../../src/outbox/inOrder.ts'
import type { Outbox } from '../../src/sink/Outbox.ts'
import type { Keyed, MakeInOrder } from '../laws/inOrder.ts'

const ignore = (): void => undefined
const real: MakeInOrder = (outbox, keyOf) => inOrder(outbox, { keyOf, defect: ignore })

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
      void end(entry, { _tag: 'Abandoned', item: entry.item, attempts: 0, last: undefined })
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
