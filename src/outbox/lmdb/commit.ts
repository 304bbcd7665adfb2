/**
 * The group commit of a store: each write is part of one transaction, and while one is synced, later writes
 * wait for the next.
 *
 * @module
 */
import { isLeft, isRight, left, right, valueOr, type Either } from '../../core/either.ts'
import { isError, messageOf } from '../../core/failure.ts'
import { ShownError } from '../../core/refusal.ts'
import { batched } from '../batched.ts'
import { storeLimit } from '../storeLimit.ts'
import { OutboxError } from './contract.ts'
import { listMemory } from './records.ts'
import { COUNTERS_KEY, NO_COUNTERS, RESERVED_SPACE, countersIn, roomInFile, roomOnDisk } from './store.ts'
import type { Counts, Store } from './store.ts'

/** The dead letters that a list has removed so far: reads do not see it before it is written. */
export interface RemovedDead {
  readonly keys: Set<number>
  /** All up to this one made room. */
  evictedTo: number
}

/** Puts and removes records. Nothing undoes them, so what may throw comes before the first of them. */
type Apply<T> = (counters: Counts, removed: RemovedDead) => () => T

type Commit = Readonly<{ grows: boolean; apply: Apply<unknown> }>

type Done = Either<Error, unknown>

const answerOf = (done: Done): unknown => {
  if (isLeft(done)) throw done.left
  return done.right
}

/** More than a commit takes: a list has at most 1 MB. */
const COMMIT_BYTES = 4 * 1_048_576
const MAX_UNCHECKED = 15

const WAIT_FOR_ROOM = 'new items are refused until there is room'

/** lmdb gives the cause in a promise of its own, which would be an unhandled rejection. */
const causeOf = async (error: unknown): Promise<unknown> => {
  if (!isError(error) || !('commitError' in error)) return error
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
  const nearlyFull = `the disk of the outbox in ${path} is nearly full: ${WAIT_FOR_ROOM}`
  const { inTime } = storeLimit(timeout)
  let counters: Counts = countersIn(store) ?? { ...NO_COUNTERS }
  let isEnded = false
  let hung: Error | undefined
  const isHung = (): boolean => hung !== undefined
  /** Commits until the disk is asked for its room again. To ask took 1 % of a delivery. */
  let unchecked = 0
  const { reset, bytesFor } = listMemory()
  const isNearlyFull = (): boolean => {
    if (unchecked-- > 0) return false
    const onDisk = roomOnDisk(path)
    // Ended items leave free pages in the file. Writes of results need disk space too.
    const isTight = onDisk < 0 && onDisk > -RESERVED_SPACE / 2
    const room = isTight ? roomInFile(store) - RESERVED_SPACE : onDisk
    unchecked = Math.min(MAX_UNCHECKED, Math.floor(room / COMMIT_BYTES))
    return room < 0
  }

  /** After a failed write of the last page lmdb never answers again, even when the disk is sound. */
  const hangs = (): void => {
    hung = new ShownError(`the outbox in ${path} does not answer, as after a failed write: use a new process`)
  }

  /** Writes all of them in one transaction, or none. Those that find the disk nearly full are left out. */
  const commit = async (take: () => ReadonlyArray<Commit>): Promise<Either<Error, ReadonlyArray<Done>>> => {
    if (hung !== undefined) return left(hung)
    reset()
    const draft = { ...counters }
    const removed = { keys: new Set<number>(), evictedTo: 0 }
    let applied: ReadonlyArray<Either<Error, () => unknown>> = []
    const failed = left(new ShownError(`the outbox in ${path} failed after a write`))
    /** Also if lmdb answers too late, because the disk stood still: memory must know what the file has. */
    const written = (): ReadonlyArray<Done> => {
      hung = undefined
      counters = draft
      env.resetReadTxn()
      // One of these that threw would have the others asked again.
      return applied.map((each) => (isLeft(each) ? each : valueOr(failed, () => right(each.right()))))
    }
    try {
      // All that is asked in this turn is one list.
      const list = await Promise.resolve().then(take)
      let isTight: boolean | undefined
      // No function that lmdb calls in its transaction: process.exit() would wait for that without end.
      const committed = env.batch(() => {
        applied = list.map(({ grows, apply }) => {
          if (grows && (isTight ??= isNearlyFull())) return left(new OutboxError('noSpace', path, nearlyFull))
          try {
            return right(apply(draft, removed))
          } catch (error) {
            return left(new Error(`the outbox in ${path} could not write: ${messageOf(error)}`))
          }
        })
        if (applied.some(isRight)) void meta.put(COUNTERS_KEY, JSON.stringify(draft))
      })
      await inTime(committed, written, hangs)
    } catch (thrown) {
      const cause = messageOf(await causeOf(thrown))
      env.resetReadTxn()
      // A commit that failed may still be on the disk. After a failed write of the last page no read works.
      if (!isHung()) counters = countersIn(store) ?? counters
      return left(new ShownError(`the outbox in ${path} could not write (is its disk full?): ${cause}`))
    }
    return right(written())
  }

  // All writes are one kind: they share a transaction.
  const commits = batched<Commit, Done>(async (take) => {
    let writes: ReadonlyArray<Commit> = []
    const all = await commit(() => (writes = take()))
    if (isRight(all)) return all.right
    if (writes.length < 2) throw all.left
    // Writes that end items may still find room: a small transaction needs fewer pages.
    const answers: Done[] = []
    for (const write of writes) {
      const alone = write.grows ? all : await commit(() => [write])
      answers.push(isLeft(alone) ? alone : (alone.right[0] ?? all))
    }
    return answers
  })

  return {
    /**
     * Calls `apply` for the next transaction, and once more if that fails. The function that it returns runs
     * after the sync, and its value answers the promise. `count`, `bytes`: the items that it concerns.
     * `grows`: it is refused while the disk is nearly full, which leaves room for writes that end items.
     */
    write: <T>(count: number, grows: boolean, apply: Apply<T>, bytes = 0): Promise<T> =>
      isEnded || hung !== undefined
        ? Promise.reject(hung ?? new ShownError(`the outbox in ${path} is closed`))
        : // Only this `apply` answers at its place.
          (commits.ask({ grows, apply }, count, bytes).then(answerOf) as Promise<T>),
    /** Memory for a record, in `apply` alone. */
    bytesFor,
    isEnded: (): boolean => isEnded,
    /** As they were last synced. */
    counters: (): Readonly<Counts> => counters,
    /** Rejects later writes. Resolves after all earlier ones; rejects if lmdb hangs, as its close would. */
    end: async (): Promise<void> => {
      isEnded = true
      await commits.idle()
      if (hung !== undefined) throw hung
    },
  }
}
