/**
 * The account of a relay: how many items were accepted and how they ended, what listeners hear of it, and
 * which a flush waits for.
 *
 * @module
 */
import { steady, type Clock } from '../core/clock.ts'
import { constVoid } from '../core/either.ts'
import { counters, type Outcome, type Totals } from '../core/outcome.ts'
import { onceSoon, type OwnContext } from '../core/ownContext.ts'
import { serialQueue } from '../core/queue.ts'
import { callSafely } from '../log/listeners.ts'
import type { Listener, LogEvent } from '../log/logEvent.ts'
import { ages } from './ages.ts'
import type { Ack, Entry, Outbox } from './outbox.ts'

/** The entries accepted between two flushes. */
interface Segment {
  readonly number: number
  /** How many of them have not ended. */
  live: number
}

/**
 * Says when everything that was accepted before a flush has ended. Outcomes come out of order, so an entry
 * belongs to the segment in which it was accepted. Its id is remembered only while a flush waits; without
 * it, it belongs to the oldest segment.
 */
const flushBarrier = () => {
  /** The segments that a flush waits for, oldest first. */
  const flushing: Segment[] = []
  let current: Segment = { number: 0, live: 0 }
  const segments = new Map<string, Segment>()

  return {
    accepted: (id: string): void => {
      current.live++
      if (flushing.length > 0) segments.set(id, current)
    },
    /** Added to the oldest: their ends are counted there, and a flush must not end too early. */
    found: (entries: number) => ((flushing[0] ?? current).live += entries),
    /** An entry has another id: it was stored. */
    renamed: (from: string, to: string): void => {
      const segment = segments.size === 0 ? undefined : segments.get(from)
      if (segment === undefined) return
      segments.delete(from)
      segments.set(to, segment)
    },
    ended: (id: string): void => {
      // Looking up a new string costs more than all else here.
      const known = segments.size === 0 ? undefined : segments.get(id)
      const segment = known ?? flushing[0] ?? current
      segment.live = Math.max(0, segment.live - 1)
      if (flushing.length === 0) return
      segments.delete(id)
      while (flushing[0]?.live === 0) flushing.shift()
      if (flushing.length === 0) segments.clear()
    },
    /** A check whether everything accepted so far has ended. */
    flush: (): (() => boolean) => {
      if (current.live > 0) {
        flushing.push(current)
        current = { number: current.number + 1, live: 0 }
      }
      const last = flushing.at(-1)?.number ?? -1
      // By number: thousands of calls may wait, and each is checked at every change.
      return () => (flushing[0]?.number ?? Infinity) > last
    },
  }
}

/** The counters that a destination and a client have in common. @inline */
export interface RelayStats extends Totals {
  readonly enabled: boolean
  /**
   * Dead letters that the outbox keeps now, also those of earlier processes and of others that share it; 0 of
   * a client without an `outbox`.
   */
  readonly dead: number
  /**
   * Milliseconds since the oldest waiting item was accepted by this process. Known of those accepted while a
   * listener hears log events (`onEvent`, `events$`, `DEBUG`, a channel), and never of a shared outbox.
   */
  readonly oldest?: number
  /** True while an outbox opens later than its user: `waiting` lacks its items. Otherwise left out. */
  readonly opening?: true
}

/** How an item ended, and its entry if it had one. */
interface Ended<A> {
  readonly outcome: Outcome<A>
  readonly entry?: Entry<A> | undefined
}

export interface LedgerOptions<A> {
  readonly clock: Clock
  /** The name of the part: `from` of its log events. Default `deliver`. */
  readonly name?: string
  /** One of `listeners`: it never throws. */
  readonly onEvent?: Listener | undefined
  /** Whether anything listens to this kind of log event. Default: yes. */
  readonly hears?: (tag: LogEvent['_tag']) => boolean
  /** Called once for each item, after the outbox has stored its outcome. Calls never nest. */
  readonly ended: (outcome: Outcome<A>) => void
  /** The same for the items that have an entry, before it. It must not throw. */
  readonly settled?: (id: string, outcome: Outcome<A>) => void
  /** Whether a stored item is one of ours. Another one ends as a dead letter. Default: all are. */
  readonly isItem?: (item: unknown) => boolean
}

export type Ledger<A> = ReturnType<typeof ledger<A>>

/** What an outbox held at the start counts as accepted. `changed`: ends that calls caused were reported. */
export const ledger = <A>(
  outbox: Pick<Outbox<A>, 'stats' | 'watch'>,
  own: OwnContext,
  options: LedgerOptions<A>,
  changed: () => void,
) => {
  const { clock, name: from = 'deliver', onEvent: log = constVoid, hears = () => true } = options
  const { ended, settled, isItem = () => true } = options
  const now = steady(clock)
  /** Other processes change it, so only the store knows the number of waiting entries. */
  const isShared = outbox.watch !== undefined
  const counts = counters()
  const barrier = flushBarrier()
  /** Kept only while something listens: an entry costs as much as a log event. Not for a shared outbox. */
  const waits = ages()
  const reports = serialQueue()
  /** Ends that calls caused, and that are not reported yet. */
  const caused: Array<Ended<A>> = []
  let isReportingDrop = false
  /** `at` of the ends that are heard: one reading for a list. */
  let endedAt: number | undefined
  /** Entries that are leased: neither ended nor put back. */
  let leased = 0
  /** Items of calls that are not answered yet, and how many of them came out of the store and are counted. */
  let calls = 0
  let early = 0

  const defectIn = (where: string) => (error: unknown) =>
    log({ _tag: 'Defect', at: now(), from, where, error })
  const storeFailed = defectIn('outbox')
  const listenerFailed = defectIn('outcome listener')

  /** Counts entries of the outbox whose items are not known here. */
  const found = (entries: number): void => {
    counts.accept(entries)
    barrier.found(entries)
  }
  /** What it holds of earlier counts as accepted. */
  const opened = (): void => {
    const count = isShared ? 0 : Math.max(0, outbox.stats().waiting - counts.waiting())
    found(count)
    if (count > 0) log({ _tag: 'Restored', at: now(), from, count })
  }
  opened()

  const accept = (item: A, id: string | undefined): void => {
    counts.accept()
    if (id !== undefined) barrier.accepted(id)
    if (!hears('Accepted')) return
    const at = now()
    if (id !== undefined && !isShared) waits.accepted(id, at)
    log({ _tag: 'Accepted', at, from, item })
  }
  /** Listeners receive an end before a flush counts it. */
  const tell = ({ outcome, entry }: Ended<A>): void => {
    isReportingDrop = outcome._tag === 'Dropped'
    const isTold = outcome._tag !== 'Delivered' || hears('Ended')
    if (isTold) log({ _tag: 'Ended', at: (endedAt ??= now()), from, outcome })
    if (entry !== undefined) settled?.(entry.id, outcome)
    callSafely(ended, outcome, listenerFailed)
    isReportingDrop = false
    if (entry !== undefined) barrier.ended(entry.id)
    if (entry !== undefined) waits.ended(entry.id)
  }
  const reportSoon = onceSoon(own, () => {
    endedAt = undefined
    for (const end of caused.splice(0)) reports.take(tell, end)
    changed()
  })

  const endedCorrupt = (id: string): void => {
    counts.endCorrupt()
    barrier.ended(id)
    waits.ended(id)
    log({ _tag: 'Corrupt', at: now(), from, id })
  }

  return {
    now,
    log,
    defectIn,
    storeFailed,
    opened,
    /** A call that adds items waits for the store. Items that come out before its answer count with it. */
    asked: (items: number) => (calls += items),
    answered: (items: number): void => {
      calls -= items
      early = Math.min(early, calls)
    },
    isAsked: (): boolean => calls > 0,
    /** The store answered for an item. `id`: of its entry, if it has one. */
    accepted: (item: A, id?: string): void => {
      if (early === 0) return accept(item, id)
      early--
      if (hears('Accepted')) log({ _tag: 'Accepted', at: now(), from, item })
    },
    redriven: (ids: ReadonlyArray<string>): void => {
      const known = Math.min(early, ids.length)
      early -= known
      found(ids.length - known)
      if (ids.length > 0) own(log, { _tag: 'Redriven', at: now(), from, ids } as const)
    },
    /** Entries were leased. An item whose enqueue is late or failed counts as accepted when it comes out. */
    leased: (entries: ReadonlyArray<Entry<A>>): void => {
      leased += entries.length
      const uncounted = isShared ? 0 : leased - counts.waiting()
      if (uncounted <= 0) return
      // First those of calls that wait for their answer. A call that failed had stored the others.
      const ofCalls = Math.min(uncounted, calls - early)
      early += ofCalls
      found(ofCalls)
      const others = uncounted - ofCalls
      if (others > 0) for (const { id, item } of entries.slice(-others)) accept(item, id)
    },
    /** Leased entries were put back. */
    left: (entries: number) => (leased -= entries),
    /** Leased entries ended. Outcomes that a listener causes are reported after the one that it hears. */
    end: (acks: ReadonlyArray<Ack<A>>): void => {
      endedAt = undefined
      for (const ack of acks) {
        leased--
        if (ack.outcome._tag === 'Delivered' || isItem(ack.entry.item)) {
          counts.end(ack.outcome)
          reports.take(tell, ack)
        } else reports.take(endedCorrupt, ack.entry.id)
      }
    },
    /** Counts an end at once and reports it in a microtask: a call caused it. `entry`: it was leased. */
    endSoon: (outcome: Outcome<A>, entry?: Entry<A>): void => {
      if (entry !== undefined) leased--
      counts.end(outcome)
      caused.push({ outcome, entry })
      reportSoon()
    },
    endedCorrupt,
    isReporting: (): boolean => reports.busy() || caused.length > 0,
    isReportingDrop: (): boolean => isReportingDrop,
    afterReports: (task: () => void): void => reports.take(task, undefined),
    flush: barrier.flush,
    renamed: (from: string, to: string): void => {
      barrier.renamed(from, to)
      waits.renamed(from, to)
    },
    /** Accepted here and not ended; of an outbox that others use too, all that waits in it. */
    waiting: (): number => (isShared ? outbox.stats().waiting : counts.waiting()),
    /** The age of the oldest entry, for stats. Empty if it is not known. */
    oldest: (): { readonly oldest?: number } => {
      const at = waits.oldest()
      return at === undefined ? {} : { oldest: now() - at }
    },
    /** Once nothing is left to do: entries that left the outbox without an outcome. */
    lost: (): number => (isShared ? 0 : counts.waiting()),
    totals: (isWorking: boolean): Totals => {
      const counted = counts.totals()
      if (isWorking && !isShared) return counted
      // Records that cannot be read leave the store without an outcome.
      const { waiting } = outbox.stats()
      return { ...counted, waiting: isShared ? waiting : Math.min(counted.waiting, waiting) }
    },
  }
}
