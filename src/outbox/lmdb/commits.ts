import { statfsSync } from 'node:fs'
import { messageOf } from '../../core/awaitable.ts'
import { queue } from '../../core/queue.ts'
import type { Mapping } from './mapping.ts'
import { TOTALS_KEY } from './oldStore.ts'
import { noTotals, totalsFromText, totalsToText } from './records/StoredTotals.ts'
import type { Draft, StoredTotals } from './records/StoredTotals.ts'
import { unreadableIn } from './records/unreadableIn.ts'

/** How writes of one kind are made. It is given what differs from write to write, for functions of its own for each write would be felt. */
export interface WriteKind<in W> {
  /** Whether the store is larger after it. Such a one is turned away while the disk is nearly full, so that the others find room. */
  readonly grows: boolean
  /** Writes, within a transaction; again in another one if that fails. Must not throw but for the store's own reasons. */
  readonly apply: (write: W, draft: Draft) => void
  /** It has been synced. */
  readonly done: (write: W) => void
  /** It is not in the store. */
  readonly fail: (write: W, error: Error) => void
}

/** Something to be written. */
export interface Write<in W> {
  readonly kind: WriteKind<W>
}

/** The writes of a store, many in one transaction. */
export interface Commits {
  /** Writes with the next transaction. Callbacks, because a promise more for each write would be felt. */
  readonly put: <W extends Write<W>>(write: W) => void
  /** So many records were read beside the writes, and mapped into memory: if that is too much by now, the file is let go of. */
  readonly looked: (records: number) => void
  /** The counters as they were last synced. */
  readonly totals: () => StoredTotals
  /** Resolves when all that was asked before is answered. From now on every write rejects. */
  readonly end: () => Promise<void>
}

/** A write of some kind. */
type AnyWrite = Write<never>

// What `put` takes is what its kind is for.
const itself = (write: AnyWrite): never => write as never

const failed = (write: AnyWrite, error: Error): void => {
  write.kind.fail(itself(write), error)
}

/** At most so many writes in one transaction: the event loop stands still while they are made. */
const MOST_AT_ONCE = 1_024

/** While less is free on the disk, nothing new is taken: what ends needs some pages too. */
const RESERVE = 8 * 1_048_576

const NO_SPACE = 'no space is left on the disk of the outbox: nothing new is taken until there is'

/** lmdb names the cause in a promise of its own, which must not go unheard. */
const causeOf = async (error: unknown): Promise<unknown> => {
  if (!(error instanceof Error) || !('commitError' in error)) return error
  try {
    await error.commitError
    return error
  } catch (cause) {
    return cause
  }
}

const failureOf = (cause: unknown): Error =>
  new Error(
    `the outbox could not write, and goes on as soon as it can: is its disk full? (${messageOf(cause)})`,
  )

/** The group commit of a store: while one transaction is written and synced, what comes in waits for the next. */
export const commits = ({ store, ready }: Pick<Mapping, 'store' | 'ready'>, path: string): Commits => {
  const pendingWrites = queue<AnyWrite>()
  const stored = (): StoredTotals => totalsFromText(store.own.get(TOTALS_KEY) ?? '') ?? noTotals
  let totals = stored()
  let running: Promise<void> | undefined
  let closed = false
  /** With the last transaction. */
  let written = 0
  /** Since the file was last let go of, or was found not to be worn. */
  let seen = 0

  const isTight = (): boolean => {
    try {
      const { bavail, blocks, bsize } = statfsSync(path)
      // Some file systems do not tell.
      return blocks > 0 && bavail * bsize < RESERVE
    } catch {
      return false
    }
  }

  /** One transaction: all of it or nothing. */
  const transact = async (writes: () => ReadonlyArray<AnyWrite>): Promise<void> => {
    const draft = { ...totals }
    let made: ReadonlyArray<AnyWrite> = []
    // As a child, because only that is undone when something throws within.
    await store.env.childTransaction(() => {
      made = writes()
      for (const write of made) write.kind.apply(itself(write), draft)
      if (draft.unreadable > 0) draft.unreadable = unreadableIn(store, draft)
      if (made.length > 0) store.own.putSync(TOTALS_KEY, totalsToText(draft))
    })
    totals = draft
    // What is read from here on is read after this commit.
    store.env.resetReadTxn()
    for (const write of made) write.kind.done(itself(write))
  }

  /** Takes what waits, as late as it can. What would grow a store that has no room is turned away. */
  const gather = (batch: AnyWrite[]): ReadonlyArray<AnyWrite> => {
    let tight: boolean | undefined
    for (
      let next = pendingWrites.shift();
      next !== undefined;
      next = batch.length < MOST_AT_ONCE ? pendingWrites.shift() : undefined
    ) {
      if (next.kind.grows && (tight ??= isTight())) failed(next, new Error(NO_SPACE))
      else batch.push(next)
    }
    return batch
  }

  /** After a transaction that failed: what ends an item may still find room, in smaller parts. Gives up at the first that finds none. */
  const salvage = async (writes: ReadonlyArray<AnyWrite>, error: Error): Promise<boolean> => {
    try {
      await transact(() => writes)
      return true
    } catch (again) {
      await causeOf(again)
    }
    if (writes.length < 2) {
      for (const write of writes) failed(write, error)
      return false
    }
    const middle = writes.length >> 1
    const rest = writes.slice(middle)
    if (await salvage(writes.slice(0, middle), error)) return salvage(rest, error)
    for (const write of rest) failed(write, error)
    return false
  }

  const commitSome = async (): Promise<void> => {
    const batch: AnyWrite[] = []
    try {
      await transact(() => gather(batch))
      written = batch.length
    } catch (thrown) {
      const error = failureOf(await causeOf(thrown))
      store.env.resetReadTxn()
      totals = stored()
      for (const write of batch) if (write.kind.grows) failed(write, error)
      await salvage(
        batch.filter(({ kind }) => !kind.grows),
        error,
      )
    }
  }

  const failAll = (error: Error): void => {
    for (const write of pendingWrites.drain()) failed(write, error)
  }

  const readied = (): Promise<void> => {
    const touched = written + seen
    written = seen = 0
    return ready(touched)
  }

  const run = async (): Promise<void> => {
    do {
      try {
        await readied()
      } catch (error) {
        failAll(error instanceof Error ? error : failureOf(error))
        continue
      }
      if (pendingWrites.size() > 0) await commitSome()
    } while (pendingWrites.size() > 0 || seen > 0)
    running = undefined
  }

  return {
    put: (write) => {
      if (closed) {
        failed(write, new Error('the outbox is closed'))
        return
      }
      pendingWrites.push(write)
      running ??= run()
    },
    looked: (records) => {
      seen += records
      if (!closed) running ??= run()
    },
    totals: () => totals,
    end: async () => {
      closed = true
      await running
    },
  }
}
