import { isPromiseLike, whenAnswered, whenDone, type Awaitable } from '../core/awaitable.ts'
import { constVoid } from '../core/either.ts'
import { queue, type Queue } from '../core/queue.ts'
import { abandonedOf, type Entry, type Outbox } from './outbox.ts'

/** The entries of one key: the first is in flight or waits for its retry, the others wait behind it. */
interface Line<A> {
  readonly key: unknown
  readonly behind: Queue<Entry<A>>
}

/** The maximum number of new entries leased at a time: all of them may belong behind others. */
const MAX_LEASE = 1_000

/**
 * An outbox that keeps the order within a key: an entry is leased only when the one before it with the same
 * key has ended. While that one is retried its key waits, and other keys pass.
 *
 * What waits behind an entry is held in memory, at most `maxBehind` entries; then only retries are leased,
 * whatever their key. Of a shared outbox the order holds within each process. It is not for batches.
 *
 * @param keyOf the key of an item, compared as in a `Map`; an item with the key undefined has no order. It
 *   must not throw
 * @param failed receives the error of an `ack` that failed at the end
 */
export const ordered = <A>(
  outbox: Outbox<A>,
  keyOf: (item: A) => unknown,
  failed: (error: unknown) => void,
  maxBehind = 100_000,
): Outbox<A> => {
  const lines = new Map<unknown, Line<A>>()
  /** By the id of the first entry. */
  const lineOf = new Map<string, Line<A>>()
  /** Leased from the outbox and first of their line, but not handed out yet: retries, and new ones. */
  const again = queue<Entry<A>>()
  const ready = queue<Entry<A>>()
  let behind = 0

  const begin = (key: unknown, id: string): true => {
    const line = { key, behind: queue<Entry<A>>() }
    lines.set(key, line)
    lineOf.set(id, line)
    return true
  }

  /** Whether an entry is the first of its line. If not, it waits behind it. */
  const isFirst = (entry: Entry<A>): boolean => {
    if (lineOf.has(entry.id)) return true
    const key = keyOf(entry.item)
    if (key === undefined) return true
    const line = lines.get(key)
    if (line === undefined) return begin(key, entry.id)
    line.behind.push(entry)
    behind++
    return false
  }
  let isRestored = false
  /** The retries of an earlier process are the first of their keys. */
  const restore = (): void => {
    isRestored = true
    for (const entry of outbox.retries?.() ?? []) {
      const key = keyOf(entry.item)
      if (key !== undefined && !lines.has(key)) begin(key, entry.id)
    }
  }

  const leave = ({ id }: Entry<A>): void => {
    const line = lineOf.get(id)
    if (line === undefined) return
    lineOf.delete(id)
    const next = line.behind.shift()
    if (next === undefined) {
      lines.delete(line.key)
      return
    }
    behind--
    lineOf.set(next.id, line)
    ready.push(next)
  }

  const isFull = (): boolean => behind >= maxBehind

  const lease: Outbox<A>['lease'] = (now, { count, retries }) => {
    if (!isRestored) restore()
    const missing = (): number => count - again.size() - ready.size()

    /** Asks the outbox, and again: a lease may bring only entries that belong behind others. */
    const leaseMore = (): Awaitable<ReadonlyArray<Entry<A>>> => {
      const maxRetries = Math.max(0, Math.min(count, retries) - again.size())
      const noNew = missing() <= 0 || isFull()
      const maxNew = noNew ? 0 : Math.min(MAX_LEASE, missing() + maxBehind - behind)
      const limits = { count: Math.max(maxNew, maxRetries), retries: maxRetries, retriesOnly: noNew }
      const use = (entries: ReadonlyArray<Entry<A>>): Awaitable<ReadonlyArray<Entry<A>>> => {
        for (const entry of entries.filter(isFirst)) (entry.progress ? again : ready).push(entry)
        if (limits.count > 0 && entries.length === limits.count && missing() > 0) return leaseMore()
        const due = again.drain(count)
        return [...due, ...ready.drain(count - due.length)]
      }
      const answer = limits.count > 0 ? outbox.lease(now, limits) : []
      return isPromiseLike(answer) ? answer.then(use) : use(answer)
    }
    return leaseMore()
  }

  /** Adds the entries that are held here and not kept to those that the outbox gave back, in order. */
  const withHeld = (given: ReadonlyArray<Entry<A>>): ReadonlyArray<Entry<A>> => {
    const behindOthers = [...lines.values()].flatMap((line) => line.behind.drain())
    const held = [...again.drain(), ...ready.drain(), ...behindOthers].filter((entry) => !outbox.keeps(entry))
    const ended = held.map((entry) => ({ entry, outcome: abandonedOf(entry) }))
    whenAnswered(() => outbox.ack(ended), constVoid, failed)
    const isFirstOfLine = ({ id }: Entry<A>): boolean => lineOf.has(id)
    return [...given.filter(isFirstOfLine), ...held, ...given.filter((entry) => !isFirstOfLine(entry))]
  }

  return {
    ...(outbox.opened && { opened: outbox.opened.bind(outbox) }),
    keeps: (entry) => outbox.keeps(entry),
    ...(outbox.addDeadLetter && { addDeadLetter: outbox.addDeadLetter.bind(outbox) }),
    ...(outbox.watch && { watch: outbox.watch.bind(outbox) }),
    ...(outbox.allEnded && { allEnded: outbox.allEnded.bind(outbox) }),
    enqueue: (items) => outbox.enqueue(items),
    ...(outbox.enqueueIn && { enqueueIn: outbox.enqueueIn.bind(outbox) }),
    lease,
    nack: (list) => outbox.nack(list),
    ack: (list) => {
      const answer = outbox.ack(list)
      // The next entry does not wait for the store.
      for (const { entry } of list) leave(entry)
      return answer
    },
    nextDue: () => (again.size() + ready.size() > 0 ? 0 : outbox.nextDue(isFull())),
    takeRemaining: () => whenDone(outbox.takeRemaining(), withHeld),
    dead: outbox.dead,
    stats: () => outbox.stats(),
    close: (options) => outbox.close(options),
  }
}
