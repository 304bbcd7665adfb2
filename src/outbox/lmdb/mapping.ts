import type { Awaitable } from '../../core/awaitable.ts'
import type { Store } from './oldStore.ts'

/** What a mapping works with. */
export interface MappingOptions {
  /** An open store. */
  readonly store: Store
  /** Opens it anew after it was closed. */
  readonly open: () => Store
  /** Whether so much of the file is mapped into memory that it should be let go of; asked after so many writes. */
  readonly isWorn: (writes: number) => boolean
}

/**
 * A store whose file does not stay in memory. lmdb maps the file, and what was read of it once stays mapped and counts as memory of the
 * process, up to all of it. So from time to time, between two writes, the store is closed and opened anew, within a few milliseconds.
 */
export interface Mapping {
  /** Its trees. They are others after a renewal, so no part of it may be kept. */
  readonly store: Store
  /** Has `task` called each time before it is closed to be opened anew: while it can still be read. */
  readonly beforeRenewal: (task: () => void) => void
  /** Whether it may be read at this moment. */
  readonly isReadable: () => boolean
  /** Reads it now, or as soon as it is open again. */
  readonly read: <T>(use: () => T) => Awaitable<T>
  /** To be awaited before writes, after so many others; rejects if the store cannot be opened again, and tries once more the next time. */
  readonly ready: (writes: number) => Promise<void>
  readonly close: () => Promise<void>
}

/** Lets go of the memory of a store's file when there is too much of it. */
export const mapping = ({ store: first, open, isWorn }: MappingOptions): Mapping => {
  const store = { ...first }
  let isOpen = true
  let isClosed = false
  let renewing: Promise<void> | undefined
  const before: Array<() => void> = []

  const renew = async (): Promise<void> => {
    if (isOpen) {
      for (const task of before) task()
      isOpen = false
      await store.env.close()
    }
    Object.assign(store, open())
    isOpen = true
  }

  const ready = async (writes: number): Promise<void> => {
    if (isClosed) throw new Error('the outbox is closed')
    if (isOpen && !isWorn(writes)) return
    renewing = renew()
    try {
      await renewing
      // So that what is mapped from here on is held against what is mapped now.
      isWorn(0)
    } finally {
      renewing = undefined
    }
  }

  const read = <T>(use: () => T): Awaitable<T> =>
    isOpen ? use() : (renewing ?? ready(0)).then(() => read(use))

  return {
    store,
    beforeRenewal: (task) => {
      before.push(task)
    },
    isReadable: () => isOpen,
    read,
    ready,
    close: async () => {
      isClosed = true
      if (!isOpen) return
      isOpen = false
      await store.env.close()
    },
  }
}
