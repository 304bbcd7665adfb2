import { isPromiseLike, whenAnswered } from '../core/awaitable.ts'
import type { Awaitable } from '../core/awaitable.ts'
import { queue } from '../core/queue.ts'
import type { Queue } from '../core/queue.ts'
import type { Entry, Outbox } from './outbox.ts'
import { abandonedOf } from './relay.ts'

/** The entries of one key: the head is out or parked, the others wait behind it. */
interface Line<A> {
  readonly key: unknown
  readonly behind: Queue<Entry<A>>
}

/** How an order is kept. */
export interface OrderedOptions<in A> {
  /** The key of an item, told apart as in a `Map`. An item without one, undefined, waits for nobody. */
  readonly keyOf: (item: A) => unknown
  /**
   * So many may be held in memory behind heads, if the outbox can leave them where they are (`parked`): then no new ones are taken until a
   * head has ended, whatever their keys. Default 100,000 (DE9). 0 is for a single key.
   */
  readonly mostBehind?: number
  /** Is told what `keyOf` threw. Its item has no key then. */
  readonly defect: (error: unknown) => void
}

/** So many new entries are looked at in one go, for all of them may stand behind heads that are out. */
const GULP = 1_000

/** So many may wait in memory by default (DE9). */
const MOST_BEHIND = 100_000

const ignore = (): void => undefined

/**
 * An outbox that keeps the order within a key: an entry is handed out only when the one before it with the same key has ended. So a
 * dead head holds its key for as long as its retries last (DE7), and entries of other keys pass by.
 *
 * It stands around any outbox, so it is outside retry: attempts, deadlines, bounds and what is stored are as without it. What waits
 * behind a head is held in memory. After a restart the order is that in which the outbox hands out. Of an outbox that several processes
 * share, it keeps the order within each of them.
 */
export const ordered = <A>(
  outbox: Outbox<A>,
  { keyOf, mostBehind = MOST_BEHIND, defect }: OrderedOptions<A>,
): Outbox<A> => {
  const lines = new Map<unknown, Line<A>>()
  /** By the id of its head. */
  const heads = new Map<string, Line<A>>()
  /** What may go and was not handed out yet. */
  const ready = queue<Entry<A>>()
  /** How many wait behind heads. */
  let heldBehind = 0

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
      heldBehind++
      return false
    }
    if (key !== undefined) {
      const own = { key, behind: queue<Entry<A>>() }
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
      heldBehind--
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

  /** Whether so many are held that new ones stay where they are. */
  const isFull = (): boolean => outbox.parked !== undefined && lines.size > 0 && heldBehind >= mostBehind

  const take: Outbox<A>['take'] = (now, limit, mostParked) => {
    const mostRetries = Math.min(mostParked, limit)
    const retries: Array<Entry<A>> = []
    const mayGoNow = (): number => retries.length + ready.size()
    const isEnough = (): boolean => mayGoNow() >= limit
    /** How many more may be asked for: as many as may go, and as may be held behind them. */
    const gulp = (): number =>
      outbox.parked === undefined ? GULP : Math.min(GULP, limit - mayGoNow() + mostBehind - heldBehind)
    const handOut = (): ReadonlyArray<Entry<A>> => {
      const taken = [...retries]
      for (let next = ready.peek(); next !== undefined && taken.length < limit; next = ready.peek()) {
        taken.push(next)
        ready.shift()
      }
      return taken
    }
    /** Of an earlier life there may be many that stand behind others here, before one that may go: so no call within a call. */
    const lookForRetries = (): Awaitable<ReadonlyArray<Entry<A>>> => {
      const isOver = (entries: ReadonlyArray<Entry<A>>): boolean => {
        sift(entries, retries)
        return entries.length === 0 || mayGoNow() > 0
      }
      for (;;) {
        const answer = outbox.parked?.take(now, mostRetries) ?? []
        if (isPromiseLike(answer))
          return answer.then((entries) => (isOver(entries) ? handOut() : lookForRetries()))
        if (isOver(answer)) return handOut()
      }
    }
    /** Asks for so many, of which so many may be retries, and again for as long as that may bring one that may go. */
    const look = (most: number, parked: number): Awaitable<ReadonlyArray<Entry<A>>> => {
      const go = (entries: ReadonlyArray<Entry<A>>): Awaitable<ReadonlyArray<Entry<A>>> => {
        sift(entries, retries)
        if (entries.length === most && !isEnough() && !isFull()) return look(gulp(), 0)
        return entries.length > 0 && mayGoNow() === 0 ? lookForRetries() : handOut()
      }
      const answer = outbox.take(now, most, parked)
      return isPromiseLike(answer) ? answer.then(go) : go(answer)
    }
    if (isFull()) return lookForRetries()
    return look(isEnough() ? mostRetries : Math.max(gulp(), mostRetries), mostRetries)
  }

  /** Takes out all that is held here, and puts it where it belongs among what the outbox gives back: each key in its order. */
  const withHeld = (given: ReadonlyArray<Entry<A>>): ReadonlyArray<Entry<A>> => {
    const held = [...ready.drain(), ...[...lines.values()].flatMap(({ behind }) => behind.drain())]
    for (const entry of held) whenAnswered(() => outbox.end(entry, abandonedOf(entry)), ignore, defect)
    const isHead = ({ id }: Entry<A>): boolean => heads.has(id)
    const all = [...given.filter(isHead), ...held, ...given.filter((entry) => !isHead(entry))]
    lines.clear()
    heads.clear()
    heldBehind = 0
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
      // Its round is over, so the next one need not wait for the store.
      leave(entry)
      return ended
    },
    nextDue: () => {
      if (ready.size() > 0) return 0
      return isFull() ? outbox.parked?.nextDue() : outbox.nextDue()
    },
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
