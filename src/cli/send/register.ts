import type { Event } from '../../event/Event.ts'
import type { Payload } from '../../event/Payload.ts'
import type { Subject } from '../output/Report.ts'

/** Who is who among the events of a run. */
export interface Register {
  /** An event was accepted; it was read in this line. */
  readonly accepted: (item: unknown, line: number) => void
  /** It has its outcome. What is told of it afterwards (a sibling's late answer) still finds its subject. Answers the event. */
  readonly ended: (item: unknown) => ReadonlyArray<Event>
  readonly subjectOf: (item: unknown) => Subject | undefined
  /** Accepted and not ended. */
  readonly outstanding: () => ReadonlyArray<Event>
}

const isPayload = (item: unknown): item is Payload<Event> =>
  typeof item === 'object' && item !== null && 'id' in item && 'items' in item && Array.isArray(item.items)

/** A register. It holds on to what has not ended, and to nothing else. */
export const register = (): Register => {
  const lines = new WeakMap<object, number>()
  const waiting = new Set<Payload<Event>>()
  return {
    accepted: (item, line) => {
      if (!isPayload(item)) return
      lines.set(item, line)
      waiting.add(item)
    },
    ended: (item) => {
      if (!isPayload(item)) return []
      waiting.delete(item)
      return item.items
    },
    subjectOf: (item) => {
      if (!isPayload(item)) return undefined
      const { id, items } = item
      return { line: lines.get(item) ?? 0, id, type: items[0].type }
    },
    outstanding: () => [...waiting].flatMap(({ items }) => items),
  }
}
