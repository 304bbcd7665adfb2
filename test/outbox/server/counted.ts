/** What an adapter tells its relay: which entries are in the relay's books, by their ids, and what changed in that. */
import type { OutboxChange } from '../../../src/outbox/outbox.ts'

export interface Counted {
  readonly watch: (listener: (news?: OutboxChange) => void) => () => void
  /** How many listen. */
  readonly listeners: () => number
  /** The relay knows of it, because it appended or redrove it. */
  readonly appended: (id: string) => void
  /** It will be handed out: news, unless the relay knows of it. */
  readonly arrived: (ids: ReadonlyArray<string>) => void
  readonly ended: (id: string) => void
  /** Others have them. */
  readonly gone: (ids: ReadonlyArray<string>) => void
  /** Nothing that the relay counts, but a reason to look. */
  readonly lookAgain: () => void
  /** Ids of what the relay counts. */
  readonly ids: () => ReadonlyArray<string>
}

export const counted = (): Counted => {
  const known = new Set<string>()
  const listeners = new Set<(news?: OutboxChange) => void>()
  const onEvent = (news?: OutboxChange): void => {
    for (const listener of [...listeners]) listener(news)
  }
  return {
    watch: (listener) => {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
      }
    },
    listeners: () => listeners.size,
    appended: (id) => {
      known.add(id)
    },
    arrived: (ids) => {
      const unknown = ids.filter((id) => !known.has(id))
      for (const id of unknown) known.add(id)
      if (unknown.length > 0) onEvent({ arrived: unknown.length })
    },
    ended: (id) => {
      known.delete(id)
    },
    gone: (ids) => {
      const mine = ids.filter((id) => known.delete(id))
      if (mine.length > 0) onEvent({ gone: mine.length })
    },
    lookAgain: () => {
      onEvent()
    },
    ids: () => [...known],
  }
}
