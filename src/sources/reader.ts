import { nextTurn, type Cancel, type Clock } from '../core/clock.ts'
import { callSafely } from '../log/listeners.ts'

/** Items between two turns of the event loop, at most: a source that never waits would block all I/O. */
const ITEMS_PER_TURN = 256

/** Milliseconds without room until there is a warning. */
const WARN_AFTER = 10_000

const iteratorOf = <T>(iterable: AsyncIterable<T> | Iterable<T>): AsyncIterator<T> | Iterator<T> =>
  typeof iterable === 'object' && Symbol.asyncIterator in iterable
    ? iterable[Symbol.asyncIterator]()
    : iterable[Symbol.iterator]()

interface Reading<T> {
  /** Also receives an item that arrives after `stop`. */
  readonly item: (item: T) => void
  /** The source has ended or failed, before `stop`. */
  readonly ended: (failure: { readonly error: unknown } | undefined) => void
  /** After 10 s without room: what to tell, once; undefined while items are under way. */
  readonly hint: () => string | undefined
  readonly defect: (where: string, error: unknown) => void
}

/** Reads a source, and takes the next item only while fewer than `window` are in use. */
export const reader = <T>(
  name: string,
  iterable: AsyncIterable<T> | Iterable<T>,
  window: number,
  clock: Clock,
  on: Reading<T>,
) => {
  const iterator = iteratorOf(iterable)
  let inUse = 0
  let isOver = false
  let hasRoom = (): void => undefined
  let fullSince = 0
  let cancelTurn: Cancel | undefined
  let cancelWarning: Cancel | undefined
  let isWarned = false

  /** One timer, and not one for each item that waits. */
  const watch = (): void => {
    cancelWarning = undefined
    if (inUse < window || isOver || isWarned) return
    const rest = fullSince + WARN_AFTER - clock.monotonic()
    const hint = rest > 0 ? undefined : on.hint()
    isWarned = hint !== undefined
    if (isWarned) on.defect(name, new Error(hint))
    else cancelWarning = clock.schedule(rest > 0 ? rest : WARN_AFTER, watch)
  }

  const nextItem = async (taken: number): Promise<IteratorResult<T, unknown>> => {
    while (inUse >= window) {
      fullSince = clock.monotonic()
      if (cancelWarning === undefined) watch()
      await new Promise<void>((resolve) => {
        hasRoom = resolve
      })
    }
    if (taken % ITEMS_PER_TURN === 0) {
      await new Promise<void>((resolve) => {
        cancelTurn = nextTurn(resolve)
      })
    }
    return isOver ? { done: true, value: undefined } : iterator.next()
  }

  const read = async (): Promise<void> => {
    let failure: { readonly error: unknown } | undefined
    try {
      for (let taken = 1; !isOver; taken++) {
        const { done, value } = await nextItem(taken)
        if (done === true) break
        inUse++
        on.item(value)
      }
    } catch (error) {
      failure = { error }
    }
    if (isOver) return
    isOver = true
    on.ended(failure)
  }

  return {
    start: (): void => void read(),
    isOver: (): boolean => isOver,
    release: (count: number): void => {
      inUse -= count
      hasRoom()
    },
    /** Calls `return` of a source that goes on. */
    stop: (): void => {
      cancelWarning?.()
      cancelTurn?.()
      if (isOver) return
      isOver = true
      const failed = (error: unknown): void => on.defect(`${name}: return of the source`, error)
      callSafely(() => iterator.return?.(), undefined, failed)
    },
  }
}
