import type { Commits, WriteKind } from './commits.ts'
import type { Draft } from './records/StoredTotals.ts'

/** A write whose answer is worked out within its transaction. */
export interface CommittedOptions<T> {
  /** As `Write.grows`. */
  readonly grows: boolean
  /** As `Write.apply`; the answer of its last call is the one. */
  readonly apply: (draft: Draft) => T
  /** Is told the answer at once when it has been synced: before anybody can see what was written. */
  readonly settle?: (answer: T) => void
}

/** Writes, and is fulfilled with the answer when it has been synced; rejects when it is not in the store. */
export const committed = <T>(commits: Commits, { grows, apply, settle }: CommittedOptions<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    let answer: T
    const kind: WriteKind<unknown> = {
      grows,
      apply: (_, draft) => {
        answer = apply(draft)
      },
      done: () => {
        settle?.(answer)
        resolve(answer)
      },
      fail: (_, error) => {
        reject(error)
      },
    }
    commits.put({ kind })
  })
