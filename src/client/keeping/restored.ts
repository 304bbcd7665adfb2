import type { Draft } from '../../outbox/lmdb/entering/Drafts.ts'
import type { MessageBatch } from '../Message.ts'
import { batchOf, openFromText } from './BatchRecord.ts'
import type { OpenMessages } from './BatchRecord.ts'
import type { Written } from './openParts.ts'

/** A closed batch that is to be written, and what is to be struck for it. */
export interface Closed {
  readonly batch: MessageBatch
  readonly parts: ReadonlyArray<Written>
}

const read = (draft: Draft): OpenMessages | undefined => {
  try {
    return openFromText(draft.text)
  } catch {
    return undefined
  }
}

/** What was found in a store. */
export interface Restored {
  readonly closed: ReadonlyArray<Closed>
  /** Parts that cannot be read. */
  readonly unreadable: ReadonlyArray<Draft>
}

/** What was open when an earlier life was cut off, each lane as one closed batch: its parts were within the limits together. */
export const restored = (left: ReadonlyArray<Draft>, newId: () => string): Restored => {
  const all = left.map((draft) => ({ draft, part: read(draft) }))
  const found = all.flatMap(({ draft, part }) => (part === undefined ? [] : [{ draft, part }]))
  const unreadable = all.flatMap(({ draft, part }) => (part === undefined ? [draft] : []))
  const lanes = new Set(found.map(({ part }) => part.lane))
  const closed = [...lanes].map((lane) => {
    const own = found.filter(({ part }) => part.lane === lane)
    return {
      batch: batchOf(
        `${String(lane)}.${newId()}`,
        'flush',
        own.flatMap(({ part }) => part.messages),
      ),
      parts: own.map(({ draft }) => ({ ...draft, isKept: true, isNeeded: true })),
    }
  })
  return { closed, unreadable }
}
