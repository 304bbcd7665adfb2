/**
 * The group commit of a store: each write is part of one transaction, and while one is synced, the writes that come wait for the next.
 *
 * @module
 */
import { statfsSync } from 'node:fs'
import { messageOf } from '../../core/awaitable.ts'
import { queue } from '../../core/queue.ts'
import type { Full } from '../../core/refusal.ts'
import { COUNTERS_KEY } from './store.ts'
import type { Store } from './store.ts'

/** The counters of a store. Each transaction stores them, so opening a store counts nothing. */
export interface Counters {
  waiting: number
  bytes: number
  dead: number
  evictedDeadLetters: number
  /** The number of the last item. No number is used again, so ids are unique in a store. */
  lastItem: number
  /** The number of the last dead letter. */
  lastDead: number
}

export const NO_COUNTERS: Readonly<Counters> = {
  waiting: 0,
  bytes: 0,
  dead: 0,
  evictedDeadLetters: 0,
  lastItem: 0,
  lastDead: 0,
}

/** The counters that a store holds; undefined if they are no counters. */
export const countersIn = ({ meta }: Pick<Store, 'meta'>): Counters | undefined => {
  try {
    // Each field is checked below. A missing one is not a number from 0.
    const counters = JSON.parse(meta.get(COUNTERS_KEY) ?? '') as Counters
    const { waiting, bytes, dead, evictedDeadLetters, lastItem, lastDead } = counters
    const all = [waiting, bytes, dead, evictedDeadLetters, lastItem, lastDead]
    return all.every((count) => count >= 0) ? counters : undefined
  } catch {
    return undefined
  }
}

/** An item leaves. Sizes may have fractions, so an empty store has 0 bytes by definition. */
export const uncount = (counters: Counters, size: number): void => {
  counters.waiting = Math.max(0, counters.waiting - 1)
  counters.bytes = counters.waiting === 0 ? 0 : Math.max(0, counters.bytes - size)
}

/** The bounds of a store. They count what is on its way into it, too. */
export interface Bounds {
  readonly maxCount: number
  readonly maxBytes: number
  /** Reserves room for one more item, or answers which bound it would break. */
  readonly reserve: (size: number) => Full['bound'] | undefined
  /** The item is stored, or never will be. */
  readonly release: (size: number) => void
}

export const boundsOf = (counters: () => Readonly<Counters>, maxCount: number, maxBytes: number): Bounds => {
  let comingCount = 0
  let comingBytes = 0
  return {
    maxCount,
    maxBytes,
    reserve: (size) => {
      const { waiting, bytes } = counters()
      if (waiting + comingCount >= maxCount) return 'count'
      if (bytes + comingBytes + size > maxBytes) return 'bytes'
      comingCount++
      comingBytes += size
      return undefined
    },
    release: (size) => {
      comingCount--
      // Sizes may have fractions, which leave a rest.
      comingBytes = comingCount === 0 ? 0 : comingBytes - size
    },
  }
}

interface Write {
  readonly count: number
  readonly grows: boolean
  readonly apply: (counters: Counters) => () => unknown
  readonly failed: (() => void) | undefined
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: Error) => void
  /** What `apply` returned. */
  synced: () => unknown
}

const notApplied = (): unknown => undefined

const fail = ({ failed, reject }: Write, error: Error): void => {
  failed?.()
  reject(error)
}

/** The writes of a store. */
export interface Commits {
  /**
   * Calls `apply` within the next transaction, and again in another one if that fails; it must not throw. What `apply` returned is called
   * when the transaction was synced, and its value answers the promise. `grows`: the write is refused while the disk is nearly full, so
   * that the writes which end items find room. `count`: how many items it concerns. `failed` is called before the promise rejects.
   */
  readonly write: <T>(
    count: number,
    grows: boolean,
    apply: (counters: Counters) => () => T,
    failed?: () => void,
  ) => Promise<T>
  /** As they were last synced. */
  readonly counters: () => Readonly<Counters>
  /** Later writes reject. Resolves when all earlier ones are answered. */
  readonly end: () => Promise<void>
}

/** A transaction holds the event loop, so it has at most about this many items. */
const MAX_ITEMS = 1_024

/** With less free space on the disk, in bytes, no new items are taken. */
export const RESERVED_SPACE: number = 8 * 1_048_576

/** The free bytes of the disk; undefined if the file system does not say. */
export const freeSpace = (path: string): number | undefined => {
  try {
    const { bavail, blocks, bsize } = statfsSync(path)
    return blocks > 0 ? bavail * bsize : undefined
  } catch {
    return undefined
  }
}

/** lmdb gives the cause in a promise of its own, which would be an unhandled rejection. */
const causeOf = async (error: unknown): Promise<unknown> => {
  if (!(error instanceof Error) || !('commitError' in error)) return error
  try {
    await error.commitError
    return error
  } catch (cause) {
    return cause
  }
}

export const groupCommit = (store: Store): Commits => {
  const { path, env, meta } = store
  const pending = queue<Write>()
  const stored = (): Counters => countersIn(store) ?? { ...NO_COUNTERS }
  let counters = stored()
  let running: Promise<void> | undefined
  let isEnded = false

  /** One transaction: all of it or nothing. */
  const transact = async (writesNow: () => ReadonlyArray<Write>): Promise<void> => {
    const draft = { ...counters }
    let writes: ReadonlyArray<Write> = []
    try {
      // A child transaction, because only that is undone when something throws within.
      await env.childTransaction(() => {
        writes = writesNow()
        for (const write of writes) write.synced = write.apply(draft)
        if (writes.length > 0) meta.putSync(COUNTERS_KEY, JSON.stringify(draft))
      })
    } finally {
      env.resetReadTxn()
    }
    counters = draft
    for (const write of writes) write.resolve(write.synced())
  }

  const tooFull = new Error(
    `the disk of the outbox in ${path} is nearly full: new items are refused until there is room`,
  )

  /** The writes for one transaction, collected when it starts. */
  const collect = (): ReadonlyArray<Write> => {
    const writes: Write[] = []
    let isTight: boolean | undefined
    for (let items = 0; items < MAX_ITEMS;) {
      const write = pending.shift()
      if (write === undefined) break
      items += write.count
      isTight ??= write.grows ? (freeSpace(path) ?? Infinity) < RESERVED_SPACE : undefined
      if (write.grows && isTight === true) fail(write, tooFull)
      else writes.push(write)
    }
    return writes
  }

  /** After a failed transaction: what ends an item may still find room by itself. */
  const salvage = async (writes: ReadonlyArray<Write>, error: Error): Promise<void> => {
    for (const [at, write] of writes.entries()) {
      try {
        await transact(() => [write])
      } catch (again) {
        await causeOf(again)
        for (const rest of writes.slice(at)) fail(rest, error)
        return
      }
    }
  }

  const commitNext = async (): Promise<void> => {
    let writes: ReadonlyArray<Write> = []
    try {
      await transact(() => (writes = collect()))
    } catch (thrown) {
      const cause = messageOf(await causeOf(thrown))
      // A commit that failed may still be on the disk.
      counters = stored()
      const error = new Error(`the outbox in ${path} could not write (is its disk full?): ${cause}`)
      for (const write of writes) if (write.grows) fail(write, error)
      await salvage(
        writes.filter(({ grows }) => !grows),
        error,
      )
    }
  }

  const run = async (): Promise<void> => {
    while (pending.size() > 0) await commitNext()
    running = undefined
  }

  return {
    write: <T>(count: number, grows: boolean, apply: (counters: Counters) => () => T, failed?: () => void) =>
      new Promise<T>((resolve, reject) => {
        // `resolve` is given only what this `apply` returned.
        const settle = resolve as (answer: unknown) => void
        const write = { count, grows, apply, failed, resolve: settle, reject, synced: notApplied }
        if (isEnded) {
          fail(write, new Error(`the outbox in ${path} is closed`))
          return
        }
        pending.push(write)
        running ??= run()
      }),
    counters: () => counters,
    end: async () => {
      isEnded = true
      await running
    },
  }
}
