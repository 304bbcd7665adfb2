import type { Commits } from './commit.ts'
import type { Bookmark, LmdbOutbox } from './contract.ts'
import type { Store } from './store.ts'

/** The bookmarks of a store. */
export interface StoredBookmarks extends Pick<
  LmdbOutbox<unknown>,
  'bookmark' | 'bookmarks' | 'remember' | 'forget'
> {
  /** Stores one, within a transaction. Answers what to do when that was synced. */
  readonly put: (bookmark: Bookmark) => () => void
  /** @throws TypeError when it is no bookmark. */
  readonly check: (bookmark: Bookmark) => void
}

export const storedBookmarks = (store: Store, commits: Commits): StoredBookmarks => {
  const values = new Map<string, string>()
  const keys = new Map<string, number>()
  let lastKey = 0
  for (const { key, value } of store.bookmarks.getRange()) {
    // Written by `put`.
    const [name, text] = JSON.parse(value) as [string, string]
    values.set(name, text)
    keys.set(name, key)
    lastKey = key
  }
  const keyOf = (name: string): number => {
    const key = keys.get(name) ?? ++lastKey
    keys.set(name, key)
    return key
  }
  const check = ({ name, value }: Bookmark): void => {
    // Not every caller has types.
    const given: ReadonlyArray<unknown> = [name, value]
    if (name === '' || !given.every((text) => typeof text === 'string'))
      throw new TypeError('a bookmark has a name and a value, which are strings, and a name is not empty')
  }
  const put = ({ name, value }: Bookmark): (() => void) => {
    store.bookmarks.putSync(keyOf(name), JSON.stringify([name, value]))
    return () => {
      values.set(name, value)
    }
  }
  return {
    check,
    put,
    bookmark: (name) => values.get(name),
    bookmarks: () => new Map(values),
    remember: async (bookmark) => {
      check(bookmark)
      await commits.write(1, true, () => put(bookmark))
    },
    forget: (name) =>
      commits.write(1, false, () => {
        store.bookmarks.removeSync(keyOf(name))
        return () => {
          values.delete(name)
        }
      }),
  }
}
