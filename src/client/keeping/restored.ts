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

/**
 * What was open when an earlier life was cut off, each lane as one closed batch: its parts were within the limits together. A part that cannot be
 * read stays where it is, and counts as waiting.
 */
export const restored = (left: ReadonlyArray<Draft>, newId: () => string): ReadonlyArray<Closed> => {
  const found = left.flatMap((draft) => {
    const part = read(draft)
    return part === undefined ? [] : [{ draft, part }]
  })
  const lanes = new Set(found.map(({ part }) => part.lane))
  return [...lanes].map((lane) => {
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
}
