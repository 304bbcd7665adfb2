import type { Commits } from './commits.ts'
import type { Draft } from './records/StoredTotals.ts'

/** A write whose answer is worked out within its transaction. */
export interface CommittedOptions<T> {
  /** As `Write.grows`. */
  readonly grows: boolean
  /** As `Write.apply`; the answer of its last call is the one. */
  readonly apply: (draft: Draft) => T
}

/** Writes, and is fulfilled with the answer when it has been synced; rejects when it is not in the store. */
export const committed = <T>(commits: Commits, { grows, apply }: CommittedOptions<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    let answer: T
    commits.put({
      grows,
      apply: (draft) => {
        answer = apply(draft)
      },
      done: () => {
        resolve(answer)
      },
      fail: reject,
    })
  })
