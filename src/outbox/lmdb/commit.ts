/**
 * The group commit of a store: each write is part of one transaction, and while one is synced, the writes that come wait for the next.
 *
 * @module
 */
import { messageOf } from '../../core/failure.ts'
import { queue } from '../../core/queue.ts'
import { storeLimit } from '../storeLimit.ts'
import { COUNTERS_KEY, NO_COUNTERS, countersIn, isNearlyFull } from './store.ts'
import type { Counters, Store } from './store.ts'

interface Write {
  readonly count: number
  readonly grows: boolean
  readonly apply: (counters: Counters) => () => unknown
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: Error) => void
}

/** A transaction holds the event loop, so it has at most about this many items. */
const MAX_ITEMS = 1_024

const ignore = (): void => undefined

const WAIT_FOR_ROOM = 'new items are refused until there is room'

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

export type Commits = ReturnType<typeof groupCommit>

export const groupCommit = (store: Store, timeout?: number) => {
  const { path, env, meta } = store
  const { inTime } = storeLimit(timeout)
  const pending = queue<Write>()
  const stored = (): Counters => countersIn(store) ?? { ...NO_COUNTERS }
  let counters = stored()
  let running: Promise<void> | undefined
  /** Writes of a failed transaction, each for a transaction of its own. */
  let again: ReadonlyArray<Write> = []
  let isEnded = false
  let hung: Error | undefined

  /** The writes for one transaction, collected when it starts. */
  const collect = (): ReadonlyArray<Write> => {
    const [first, ...others] = again
    again = others
    if (first !== undefined) return [first]
    const writes: Write[] = []
    let isTight: boolean | undefined
    for (let items = 0; items < MAX_ITEMS;) {
      const write = pending.shift()
      if (write === undefined) break
      items += write.count
      if (write.grows) isTight ??= isNearlyFull(path)
      if (!write.grows || isTight !== true) writes.push(write)
      else write.reject(new Error(`the disk of the outbox in ${path} is nearly full: ${WAIT_FOR_ROOM}`))
    }
    return writes
  }

  /** After a failed write of the last page lmdb answers nothing any more, also when the disk is sound again. */
  const hangs = (): void => {
    hung = new Error(`the outbox in ${path} stopped answering after a failed write: open it in a new process`)
    for (const write of pending.drain()) write.reject(hung)
  }

  /** One transaction: all of it or nothing. */
  const commitNext = async (): Promise<void> => {
    const draft = { ...counters }
    let writes: ReadonlyArray<Write> = []
    let synced: ReadonlyArray<() => unknown> = []
    try {
      // A child transaction, because only that is undone when something throws within.
      const committed = env.childTransaction(() => {
        writes = collect()
        synced = writes.map(({ apply }) => apply(draft))
        if (writes.length > 0) meta.putSync(COUNTERS_KEY, JSON.stringify(draft))
      })
      await inTime(committed, ignore, hangs)
      counters = draft
    } catch (thrown) {
      const cause = messageOf(await causeOf(thrown))
      // A commit that failed may still be on the disk.
      if (hung === undefined) counters = stored()
      const error = new Error(`the outbox in ${path} could not write (is its disk full?): ${cause}`)
      // What ends an item may still find room by itself: a small transaction needs fewer pages.
      const ending = hung === undefined && writes.length > 1 ? writes.filter(({ grows }) => !grows) : []
      for (const write of [...writes, ...again]) if (!ending.includes(write)) write.reject(error)
      again = ending
      return
    } finally {
      env.resetReadTxn()
    }
    for (const [at, { resolve }] of writes.entries()) resolve(synced[at]?.())
  }

  const run = async (): Promise<void> => {
    while (pending.size() + again.length > 0) await commitNext()
    running = undefined
  }

  return {
    /**
     * Calls `apply` within the next transaction, and once more if that fails; it must not throw. What `apply` returned is called when the
     * transaction was synced, and its value answers the promise. `count`: how many items it concerns. `grows`: the write is refused while
     * the disk is nearly full, so that the writes which end items find room.
     */
    write: <T>(count: number, grows: boolean, apply: (counters: Counters) => () => T): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        if (isEnded || hung !== undefined) {
          reject(hung ?? new Error(`the outbox in ${path} is closed`))
          return
        }
        // `resolve` is given only what this `apply` returned.
        pending.push({ count, grows, apply, resolve: resolve as (answer: unknown) => void, reject })
        running ??= run()
      }),
    /** As they were last synced. */
    counters: (): Readonly<Counters> => counters,
    /** Later writes reject. Resolves when all earlier ones are answered, and rejects if the environment hangs: its close would too. */
    end: async (): Promise<void> => {
      isEnded = true
      await running
      if (hung !== undefined) throw hung
    },
  }
}
