import { ring } from '../internal/Ring.ts'
import type { Ring } from '../internal/Ring.ts'
import { isPromiseLike, whenAnswered } from '../internal/Awaitable.ts'
import type { Awaitable } from '../internal/Awaitable.ts'
import type { Entry, Outbox } from '../sink/Outbox.ts'
import { abandonedOf } from './relay/abandonedOf.ts'

/** The entries of one key: the head is out or parked, the others wait behind it. */
interface Line<A> {
  readonly key: unknown
  readonly behind: Ring<Entry<A>>
}

/** How an order is kept. */
export interface InOrderOptions<in A> {
  /** The key of an item, told apart as in a `Map`. An item without one, undefined, waits for nobody. */
  readonly keyOf: (item: A) => unknown
  /** Is told what `keyOf` threw. Its item has no key then. */
  readonly defect: (error: unknown) => void
}

/** So many new entries are looked at in one go, for all of them may stand behind heads that are out. */
const GULP = 1_000

const ignore = (): void => undefined

/**
 * An outbox that keeps the order within a key: an entry is handed out only when the one before it with the same key has ended. So a
 * dead head holds its key for as long as its retries last (DE7), and entries of other keys pass by.
 *
 * It stands around any outbox, so it is outside retry: attempts, deadlines, bounds and what is stored are as without it. What waits
 * behind a head is held in memory. After a restart the order is that in which the outbox hands out. Of an outbox that several processes
 * share, it keeps the order within each of them.
 */
export const inOrder = <A>(outbox: Outbox<A>, { keyOf, defect }: InOrderOptions<A>): Outbox<A> => {
  const lines = new Map<unknown, Line<A>>()
  /** By the id of its head. */
  const heads = new Map<string, Line<A>>()
  /** What may go and was not handed out yet. */
  const ready = ring<Entry<A>>()

  const keyed = (item: A): unknown => {
    try {
      return keyOf(item)
    } catch (error) {
      defect(error)
      return undefined
    }
  }

  /** Whether it may go now; if not, it waits behind the head of its line. */
  const mayGo = (entry: Entry<A>): boolean => {
    if (heads.has(entry.id)) return true
    const key = keyed(entry.item)
    const line = lines.get(key)
    if (line !== undefined) {
      line.behind.push(entry)
      return false
    }
    if (key !== undefined) {
      const own = { key, behind: ring<Entry<A>>() }
      lines.set(key, own)
      heads.set(entry.id, own)
    }
    return true
  }

  /** The next in its line is the head now. */
  const leave = ({ id }: Entry<A>): void => {
    const line = heads.get(id)
    if (line === undefined) return
    heads.delete(id)
    const next = line.behind.shift()
    if (next === undefined) {
      lines.delete(line.key)
    } else {
      heads.set(next.id, line)
      ready.push(next)
    }
  }

  /** Sorts what the outbox handed out: retries that may go into `retries`, new ones that may go into `ready`. */
  const sift = (entries: ReadonlyArray<Entry<A>>, retries: Array<Entry<A>>): void => {
    for (const entry of entries) {
      if (!mayGo(entry)) continue
      if (entry.progress === undefined) ready.push(entry)
      else retries.push(entry)
    }
  }

  const take: Outbox<A>['take'] = (now, limit, mostParked) => {
    const retries: Array<Entry<A>> = []
    const isEnough = (): boolean => retries.length + ready.size() >= limit
    const handOut = (): ReadonlyArray<Entry<A>> => {
      const taken = [...retries]
      for (let next = ready.peek(); next !== undefined && taken.length < limit; next = ready.peek()) {
        taken.push(next)
        ready.shift()
      }
      return taken
    }
    const look = (most: number, parked: number): Awaitable<ReadonlyArray<Entry<A>>> => {
      const go = (entries: ReadonlyArray<Entry<A>>): Awaitable<ReadonlyArray<Entry<A>>> => {
        sift(entries, retries)
        return entries.length < most || isEnough() ? handOut() : look(GULP, 0)
      }
      const answer = outbox.take(now, most, parked)
      return isPromiseLike(answer) ? answer.then(go) : go(answer)
    }
    const parked = Math.min(mostParked, limit)
    return look(isEnough() ? parked : Math.max(GULP, parked), parked)
  }

  /** Takes out all that is held here, and puts it where it belongs among what the outbox gives back: each key in its order. */
  const withHeld = (given: ReadonlyArray<Entry<A>>): ReadonlyArray<Entry<A>> => {
    const held = [...ready.drain(), ...[...lines.values()].flatMap(({ behind }) => behind.drain())]
    for (const entry of held) whenAnswered(() => outbox.end(entry, abandonedOf(entry)), ignore, defect)
    const isHead = ({ id }: Entry<A>): boolean => heads.has(id)
    const all = [...given.filter(isHead), ...held, ...given.filter((entry) => !isHead(entry))]
    lines.clear()
    heads.clear()
    return all
  }

  return {
    durable: outbox.durable,
    // It was never let in, so nobody waits behind it.
    ...(outbox.bury === undefined ? {} : { bury: outbox.bury.bind(outbox) }),
    ...(outbox.watch === undefined ? {} : { watch: outbox.watch.bind(outbox) }),
    append: (item) => outbox.append(item),
    take,
    park: (entry, due) => outbox.park(entry, due),
    end: (entry, outcome) => {
      const ended = outbox.end(entry, outcome)
      if (!isPromiseLike(ended)) {
        leave(entry)
        return
      }
      return ended.then(() => {
        leave(entry)
      })
    },
    nextDue: () => (ready.size() > 0 ? 0 : outbox.nextDue()),
    abandon: () => {
      const given = outbox.abandon()
      if (outbox.durable) return given
      return isPromiseLike(given) ? given.then(withHeld) : withHeld(given)
    },
    dead: outbox.dead,
    stats: () => outbox.stats(),
    close: () => outbox.close(),
  }
}
