import { committed } from '../committed.ts'
import type { Commits } from '../commits.ts'
import type { Mapping } from '../mapping.ts'

/** A record that cannot be read. */
export interface BadRecord {
  readonly find: () => Buffer | undefined
  readonly remove: () => void
  /** What it counts for, as far as its bytes tell. */
  readonly countIn: (bytes: Buffer) => number
  /** It is no longer where it was. */
  readonly gone?: () => void
}

/** What is put aside. */
export interface PuttingAside {
  readonly put: (record: BadRecord) => void
  /** What those count for that are not put aside yet. */
  readonly going: () => number
}

/** Puts aside what cannot be read, as it is. It was accepted and has not ended, so it counts as waiting. */
export const puttingAside = ({ store }: Pick<Mapping, 'store'>, commits: Commits): PuttingAside => {
  let going = 0

  return {
    put: ({ find, remove, countIn, gone }) => {
      const found = find()
      if (found === undefined) return
      const count = countIn(found)
      going += count
      committed(commits, {
        grows: false,
        apply: (draft) => {
          const record = find()
          if (record === undefined) return
          store.aside.putSync(++draft.quarantined, record)
          remove()
          draft.unreadable += count
        },
        settle: () => {
          going -= count
          gone?.()
        },
      }).catch(
        // It stays where it is, and is found again when the outbox is opened anew.
        () => undefined,
      )
    },
    going: () => going,
  }
}
