import { callOf } from '../../event/Call.ts'
import type { Event } from '../../event/Event.ts'
import type { EventPayload, Payload } from '../../event/Payload.ts'
import { lookup } from '../../internal/Lookup.ts'
import type { Subject } from '../output/Report.ts'

/** What stands in a payload: an event, or, when only its text is kept, the type of it. */
type Carried = Event | Event['type']

/** Who is who among the events of a run. */
export interface Register {
  /** What was read in this line has become this item. */
  readonly offered: (item: unknown, line: number) => void
  /** It was accepted. */
  readonly accepted: (item: unknown) => void
  /**
   * It has its outcome. What is told of it afterwards (a sibling's late answer) still finds its subject. Answers how to have the calls in it,
   * so that what was delivered is not spelt out for nobody.
   */
  readonly ended: (item: unknown) => () => ReadonlyArray<object>
  /** Its line is 0 if it was accepted by an earlier run. */
  readonly subjectOf: (item: unknown) => Subject | undefined
  /** Accepted and not ended. */
  readonly outstanding: () => ReadonlyArray<object>
}

const isPayload = (item: unknown): item is Payload<Carried> =>
  typeof item === 'object' && item !== null && 'id' in item && 'items' in item && Array.isArray(item.items)

const callIn = ({ items: [carried], text }: EventPayload<Carried>): object =>
  // What was sent is the JSON text of an object.
  typeof carried === 'string' ? (JSON.parse(text) as object) : callOf(carried)

const callsIn = (payload: Payload<Carried>): ReadonlyArray<object> =>
  payload.members === undefined ? [callIn(payload)] : payload.members.map(callIn)

const typeOf = (carried: Carried): string => (typeof carried === 'string' ? carried : carried.type)

/** A register. It holds on to what has not ended, and to nothing else. */
export const register = (): Register => {
  const lines = new WeakMap<object, number>()
  /** What comes back from a disk is another object with the same id. */
  const linesById = lookup<number>()
  const waiting = new Set<Payload<Carried>>()
  const lineOf = (payload: Payload<Carried>): number => {
    const first = payload.members?.[0] ?? payload
    return lines.get(first) ?? linesById.get(first.id) ?? 0
  }
  return {
    offered: (item, line) => {
      if (!isPayload(item)) return
      lines.set(item, line)
      linesById.set(item.id, line)
    },
    accepted: (item) => {
      if (isPayload(item)) waiting.add(item)
    },
    ended: (item) => {
      if (!isPayload(item)) return () => []
      waiting.delete(item)
      lines.set(item, lineOf(item))
      linesById.delete(item.id)
      return () => callsIn(item)
    },
    subjectOf: (item) => {
      if (!isPayload(item)) return undefined
      const { id, items } = item
      const line = lineOf(item)
      if (item.members !== undefined) return { line, id, type: 'batch', count: items.length }
      return { line, id, type: typeOf(item.items[0]) }
    },
    outstanding: () => [...waiting].flatMap(callsIn),
  }
}
