/**
 * The account of a relay: how many items were accepted and how they ended, what listeners hear of it, and which a flush waits for.
 *
 * @module
 */
import { type Outcome, counters } from '../core/outcome.ts'
import { inMicrotask, type OwnContext } from '../core/ownContext.ts'
import { serialQueue } from '../core/queue.ts'
import { callSafely } from '../log/listeners.ts'
import type { Listener } from '../log/logEvent.ts'
import type { Ack } from './outbox.ts'

/** The entries accepted between two flushes. */
interface Segment {
  readonly number: number
  /** How many of them have not ended. */
  live: number
}

/**
 * Says when everything that was accepted before a flush has ended. Outcomes come out of order, so an entry belongs to the segment in which
 * it was accepted. Its id is remembered only while a flush waits; without it, it belongs to the oldest segment.
 */
const flushBarrier = (live: number) => {
  /** The segments that a flush waits for, oldest first. */
  const flushing: Segment[] = []
  let current: Segment = { number: 0, live }
  const segments = new Map<string, Segment>()

  return {
    accepted: (id: string): void => {
      current.live++
      if (flushing.length > 0) segments.set(id, current)
    },
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

export interface LedgerOptions<A> {
  readonly onEvent?: Listener | undefined
  /** Whether anything listens to this kind of log event. Default: yes. */
  readonly hears?: (tag: 'Accepted' | 'Ended') => boolean
  /** Called once for each item, after the outbox has stored its outcome. Calls never nest. */
  readonly ended: (outcome: Outcome<A>) => void
  /** Whether a stored item is one of ours. Another one ends as a dead letter. Default: all are. */
  readonly isItem?: (item: unknown) => boolean
}

const ignore = (): void => undefined

/**
 * @param found how many the outbox held at the start: they count as accepted
 * @param changed drops were reported
 */
export const ledger = <A>(
  found: number,
  now: () => number,
  own: OwnContext,
  { onEvent = ignore, hears = () => true, ended, isItem = () => true }: LedgerOptions<A>,
  changed: () => void,
) => {
  const counts = counters(found)
  const barrier = flushBarrier(found)
  const reports = serialQueue()
  const drops: Array<{ readonly outcome: Outcome<A>; readonly id: string | undefined }> = []
  let isReportingDrop = false
  /** Counted before the answer to their call. */
  let early = 0

  const log: Listener = (event) => callSafely(onEvent, event, ignore)
  const defect = (where: string, error: unknown): void => log({ _tag: 'Defect', at: now(), where, error })
  const listenerFailed = (error: unknown): void => defect('outcome listener', error)

  const count = (id: string | undefined): void => {
    counts.accept()
    if (id !== undefined) barrier.accepted(id)
  }
  const tellAccepted = (item: A): void => {
    if (hears('Accepted')) log({ _tag: 'Accepted', at: now(), item })
  }
  const tell = (outcome: Outcome<A>): void => {
    if (outcome._tag !== 'Delivered' || hears('Ended')) log({ _tag: 'Ended', at: now(), outcome })
    callSafely(ended, outcome, listenerFailed)
  }
  const countAndTell = (outcome: Outcome<A>): void => {
    counts.end(outcome)
    tell(outcome)
  }
  const tellDrop = (outcome: Outcome<A>): void => {
    isReportingDrop = true
    tell(outcome)
    isReportingDrop = false
  }
  /** Outcomes that a listener causes are reported after the one that it hears. */
  const report = (outcome: Outcome<A>): void => reports.take(countAndTell, outcome)

  const reportDrops = inMicrotask(own, () => {
    for (const { outcome, id } of drops.splice(0)) {
      reports.take(tellDrop, outcome)
      if (id !== undefined) barrier.ended(id)
    }
    changed()
  })

  const endedCorrupt = (id: string): void => {
    counts.endCorrupt()
    barrier.ended(id)
    defect('outbox', new Error(`The stored record ${id} cannot be read. It is a dead letter now.`))
  }

  return {
    log,
    defectIn:
      (where: string) =>
      (error: unknown): void =>
        defect(where, error),
    /** The store answered for an item. `id`: of its entry, if it has one. */
    accepted: (item: A, id?: string): void => {
      if (early === 0) count(id)
      else early--
      tellAccepted(item)
    },
    /** An item came out of the store for which no answer is open. */
    acceptedLate: (item: A, id: string): void => {
      count(id)
      tellAccepted(item)
    },
    /** Counts items that came out of the store before the answer to their call. */
    acceptedEarly: (items: number): void => {
      early += items
      counts.accept(items)
    },
    early: (): number => early,
    /** At most this number of answers is still to come. */
    limitEarly: (calls: number): void => {
      early = Math.min(early, calls)
    },
    /** Entries that came in by another way. */
    found: (entries: number): void => {
      const known = Math.min(early, entries)
      early -= known
      counts.accept(entries - known)
    },
    report,
    /** An entry ended. A flush hears of it after the report. */
    end: ({ entry, outcome }: Ack<A>): void => {
      if (!isItem(outcome.item)) return endedCorrupt(entry.id)
      report(outcome)
      barrier.ended(entry.id)
    },
    /** Counts a drop at once, and reports it in a microtask: a call of the host caused it. */
    drop: (outcome: Outcome<A>, id?: string): void => {
      counts.end(outcome)
      drops.push({ outcome, id })
      reportDrops()
    },
    endedCorrupt,
    isReporting: (): boolean => reports.busy() || drops.length > 0,
    isReportingDrop: (): boolean => isReportingDrop,
    afterReports: (task: () => void): void => reports.take(task, undefined),
    flush: barrier.flush,
    renamed: barrier.renamed,
    waiting: counts.waiting,
    totals: counts.totals,
  }
}
