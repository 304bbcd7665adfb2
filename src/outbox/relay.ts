/**
 * The relay delivers the entries of an outbox to a sink. A take says which entries make the next delivery, and when.
 *
 *     outbox.lease ─▶ held ─▶ take ─▶ sink.deliver ─▶ step ─┬─▶ outbox.ack    final: delivered, rejected or expired
 *                                                           └─▶ outbox.nack   waits for its retry
 *
 * An outcome is counted and reported after the outbox has stored it. So a crash can repeat a delivery, and never loses one.
 *
 * @module
 */
import { isLeft, left, right, type Either } from 'fp-ts/lib/Either.js'
import { Subject } from 'rxjs'
import type { Awaitable } from '../core/awaitable.ts'
import { alarm, isTurnOver, nextTurn, steady } from '../core/clock.ts'
import { refused, type Failure } from '../core/failure.ts'
import * as Outcome from '../core/outcome.ts'
import { inMicrotask, ownContext } from '../core/ownContext.ts'
import { closed, type Closed, type Full } from '../core/refusal.ts'
import { deadlineOf } from '../policy/retryPolicy.ts'
import { lateEnd } from './decide.ts'
import { deliveries, type DeliveriesOptions } from './deliveries.ts'
import { handBack } from './handBack.ts'
import { Estimate, Held } from './held.ts'
import { leases } from './leases.ts'
import { ledger, type LedgerOptions } from './ledger.ts'
import { abandonedOf, type EndedDeadLetter, type Entry, type Outbox } from './outbox.ts'
import { storeLimit, type StoreLimit } from './storeLimit.ts'
import { STORE_RETRY_DELAY, isAcks, nextDueOf, storeWrites, type Write } from './storeWrites.ts'
import type { Moment, Next, Start } from './take.ts'

export interface RelayOptions<A, D = A> extends LedgerOptions<A>, DeliveriesOptions<A, D> {
  readonly outbox: Outbox<A>
  /** Whether an item starts before `offer` returns. Default: in a microtask, with the others of its turn. */
  readonly isSynchronous?: boolean
  /** Called a turn after the outbox reported changes made by others (`watch`). */
  readonly storeChanged?: () => void
  /** Whether there may be no room for one more item. Default: there is room. */
  readonly isFull?: () => boolean
  /** Whether accepted items are on their way into the store, which tells `added` of each. Default: none is. */
  readonly isStoring?: () => boolean
  /** The limit of time for the calls of the store. */
  readonly limit?: StoreLimit
}

/** Lists of results that may be unsaved while deliveries go on. A crash repeats their deliveries. */
const MAX_UNSAVED = 16

export type Relay<A, D = A> = ReturnType<typeof relay<A, D>>

/** Delivers the entries of an outbox to a sink, with retries, in the async context in which it is made. It starts at once with those it finds. */
export const relay = <A, D = A>(options: RelayOptions<A, D>) => {
  const { outbox, shape, retry, clock, isSynchronous = false, limit = storeLimit() } = options
  const { isFull = () => false, isItem = () => true, isStoring } = options
  const { take, sizeOf, isBatch } = shape
  const isShared = outbox.watch !== undefined
  const now = steady(clock)
  const window = deadlineOf(retry)
  const own = ownContext()
  const changes = new Subject<void>()
  const changed = (): void => {
    if (changes.observed) changes.next()
  }
  const found = isShared ? 0 : outbox.stats().waiting
  const book = ledger<A>(found, now, own, options, changed)
  const { log, end } = book
  const storeFailed = book.defectIn('outbox')
  const dueIn = (retriesOnly: boolean) => (): number =>
    nextDueOf(outbox, retriesOnly, now, storeFailed) ?? Infinity
  const start = now()
  /** What the take reads. One record for all steps: a new one for each costs more than the take. */
  const at = {
    now: start,
    retries: new Held(sizeOf),
    fresh: new Held(sizeOf),
    unleased: new Estimate(isShared || found > 0 ? Infinity : 0),
    inFlight: 0,
    retriesInFlight: 0,
    running: 0,
    behind: 0,
    nacking: 0,
    mayLease: false,
    mayLeaseRetries: false,
    lastStart: start,
    freshSince: start,
    heldUntil: -Infinity,
    flushing: undefined as Moment['flushing'],
    nextDue: dueIn(false),
    nextRetry: dueIn(true),
    isFull,
  }
  /** Not put back, because the store failed until the stop. */
  const leftOver: Array<Entry<A>> = []
  let state: 'open' | 'closed' | 'stopped' | 'aborted' = 'open'
  /** A pass runs, or goes on after the answer to a lease, or in the next turn of the event loop. */
  let pass: 'none' | 'runs' | 'leases' | 'rests' = 'none'

  const isStopped = (): boolean => state === 'stopped' || state === 'aborted'
  /** Whether the store does not hand the entry out again after a restart. */
  const isLost = (entry: Entry<A>): boolean => !outbox.keeps(entry)

  const saved = (write: Write<A>): void => {
    if (isAcks(write)) for (const ack of write) endLeased(ack)
    poll()
  }
  /** A durable outbox hands the entries out again. For another one this is the last chance to report them. */
  const gaveUp = (write: Write<A>): void => {
    if (isAcks(write)) write.filter(({ entry }) => isLost(entry)).forEach(endLeased)
    else {
      held.left(-write.length)
      leftOver.push(...write.map(({ entry }) => entry))
    }
    changed()
  }
  const writes = storeWrites(outbox, clock, saved, storeFailed, gaveUp, limit)
  const endLeased: typeof end = (ack) => {
    held.left(1)
    end(ack)
  }
  const save = (write: Write<A>): void => {
    if (!isAcks(write)) held.left(write.length)
    writes.save(write)
    if (writes.unsaved() > 0) poll()
  }

  const sending = deliveries<A, D>(options, own, at, save, () => (isBatch ? poll() : changed()), log)

  /** Ends an entry that is past its deadline, after a pause or a restart. */
  const hasEnded = (entry: Entry<A>): boolean => {
    const late = lateEnd(entry, at.now, window, clock)
    if (late !== undefined) save([late])
    return late !== undefined
  }
  const startNext = ({ from, count, bytes, closedBy }: Start): void => {
    const entries = at[from].next(count, bytes, hasEnded)
    at.lastStart = at.now
    if (entries.length === 0) return
    try {
      sending.start(entries, closedBy, at.now)
    } catch (error) {
      // Something of the host stops a batch from being put together: that costs it a second.
      book.defectIn('batch')(error)
      at[from].putBack(entries)
      at.heldUntil = at.now + STORE_RETRY_DELAY
    }
  }

  const reject = (entry: Entry<A>): void => {
    const failure = refused('rejected', { detail: 'it is no item' })
    save([{ entry, outcome: Outcome.rejected(entry.item, 0, failure) }])
  }

  const leaseFailed = (error: unknown): void => {
    storeFailed(error)
    if (!isStopped()) timer.set(now() + STORE_RETRY_DELAY)
  }

  const next = (): Next => {
    at.behind = Math.max(0, writes.unsaved() - MAX_UNSAVED)
    at.nacking = writes.unsavedNacks()
    return take(at)
  }
  const isSent = (): boolean => at.fresh.count === 0 && isStoring?.() !== true && at.nextDue() > at.now

  /** Starts and leases, until the take waits. A loop: a sink may answer at once, for thousands of entries in a row. */
  const run = (): void => {
    at.now = now()
    for (let started = 0; !isStopped();) {
      const todo = next()
      if (todo.do === 'wait') {
        if (at.flushing !== undefined && isSent()) at.flushing = undefined
        timer.set(todo.until)
        return
      }
      if (todo.do === 'lease') {
        const answer = held.lease(todo.limits, leaseAnswered)
        if (answer === undefined) continue
        pass = 'leases'
        answer.then(goOn(leaseAnswered), goOn(leaseFailed))
        return
      }
      startNext(todo)
      if (isSynchronous || ++started <= 4 || !isTurnOver(clock)) continue
      pass = 'rests'
      nextTurn(goOn(poll))
      return
    }
  }
  const goOn =
    <T extends ReadonlyArray<unknown>>(task: (...given: T) => void) =>
    (...given: T): void => {
      pass = 'none'
      task(...given)
      changed()
    }
  /** Also for an answer that comes too late: nothing else hands out its entries. */
  const leaseAnswered = (entries: ReadonlyArray<Entry<A>>): void => {
    if (state === 'aborted') return
    try {
      held.hold(entries)
    } catch (error) {
      leaseFailed(error)
    }
    runPass()
  }

  const runPass = (): void => {
    if (pass === 'none') {
      pass = 'runs'
      try {
        run()
      } catch (error) {
        leaseFailed(error)
      } finally {
        if (isRunning()) pass = 'none'
      }
    }
    changed()
  }
  const isRunning = (): boolean => pass === 'runs'
  /** In the own context, which deliveries, timers and answers of the store keep. */
  const poll = (): void => {
    at.mayLease = at.mayLeaseRetries = true
    // A pass that runs looks again by itself.
    if (!isRunning()) runPass()
  }
  const pollNow = (): void => own(poll)
  const clockFailed = book.defectIn('clock')
  const timer = alarm(clock, pollNow, clockFailed)
  const pollSoon = isSynchronous ? pollNow : inMicrotask(own, poll)
  /** The store may have more new entries than are known. */
  const lookAgain = (): void => {
    at.unleased.set(Infinity)
    pollSoon()
  }

  const look = alarm(
    clock,
    () => {
      at.unleased.set(Infinity)
      pollNow()
      options.storeChanged?.()
    },
    clockFailed,
  )
  const unwatch = outbox.watch?.(() => look.set(now()))

  const held = leases(outbox, limit, at, shape, now, book, isItem, reject, () => own(changed), pollSoon)

  const isStoreBusy = (): boolean =>
    pass !== 'none' || held.isCalling() || writes.unsaved() > 0 || isStoring?.() === true
  const isWorking = (): boolean =>
    at.inFlight > 0 || (isBatch && at.running > 0) || isStoreBusy() || book.isReporting()
  const stopStarting = (): void => {
    state = 'stopped'
    timer.set(Infinity)
  }

  const abort = (done: (unfinished: ReadonlyArray<A>) => void, storeTimeout: number): void => {
    stopStarting()
    writes.stopRetrying()
    const cut = sending.cancelAll()
    const endOf = (entry: Entry<A>): Outcome.Outcome<A> => abandonedOf(entry, cut.has(entry))
    // A lease may be answered meanwhile, so the held entries are taken at the end.
    const lost = (): ReadonlyArray<Entry<A>> =>
      [...cut, ...leftOver.splice(0), ...held.drain()].filter(isLost)
    const finish = (mine: ReadonlyArray<Entry<A>>, remaining: ReadonlyArray<Entry<A>>): void => {
      held.count(remaining)
      const unfinished = [...mine, ...remaining]
      for (const entry of unfinished) endLeased({ entry, outcome: endOf(entry) })
      book.afterReports(() => {
        state = 'aborted'
        look.set(Infinity)
        unwatch?.()
        done(unfinished.map(({ item }) => item))
        changed()
      })
    }
    handBack(outbox, limit, clock, storeTimeout, changes, isStoreBusy, lost, endOf, storeFailed, finish)
  }

  pollNow()

  return {
    /** Adds an item to the outbox. `Full` if there is no room, `Closed` after `stopAccepting`. */
    offer: (item: A): Awaitable<Either<Full | Closed, Entry<A>>> => {
      if (state !== 'open') return left(closed(item))
      return held.whenStored(outbox.enqueue([item]), ([answer]) => {
        if (answer === undefined) throw new Error('the outbox did not answer for the item')
        if (isLeft(answer)) return answer
        if (isStoring === undefined) held.added(item)
        book.accepted(item, answer.right.id)
        pollSoon()
        return answer
      })
    },
    /** Adds an item for which the outbox has no room to its dead letters. */
    offerDead: (item: A, failure: Failure): Awaitable<Either<Closed, void>> => {
      if (state !== 'open') return left(closed(item))
      const outcome = Outcome.rejected(item, 0, failure)
      return held.whenStored(outbox.addDeadLetter?.(item, outcome), () => {
        book.accepted(item)
        own(book.report, outcome)
        return right(undefined)
      })
    },
    /** Ends the oldest entry that is in no delivery as dropped. Answers whether there is one. The store must answer at once. */
    dropOldest: (): boolean => {
      const entry = held.takeOldest()
      if (entry === undefined) return false
      const outcome = Outcome.dropped(entry.item, entry.progress?.attempts ?? 0, 'dropOldest')
      void outbox.ack([{ entry, outcome }])
      held.left(1)
      book.drop(outcome, entry.id)
      return true
    },
    /** Accepts an item and drops it at once. */
    dropNewest: (item: A): void => {
      book.accepted(item)
      book.drop(Outcome.dropped(item, 0, 'dropNewest'))
    },
    /** Whether listeners hear of a dropped item now: one that sends it again could do so without end. */
    isReportingDrop: book.isReportingDrop,
    /** Takes the entries out that are in no delivery, and that the outbox does not keep. */
    recall: (): ReadonlyArray<Entry<A>> => held.recall(isLost),
    /** The outbox stored an entry under another id. */
    renamed: book.renamed,
    /** For an outbox with `isStoring`: there is an item more to lease. */
    added: held.added,
    /** Asks the outbox again. */
    poll: pollNow,
    changed,
    /** Delivers what waits without waiting for full batches. */
    flush: (how: 'flush' | 'end'): void => {
      at.flushing = how
      pollSoon()
    },
    /** A check whether everything accepted so far has ended. */
    flushed: book.flush,
    stopAccepting: (): void => {
      if (state === 'open') state = 'closed'
    },
    stopStarting,
    /** Cancels all deliveries and waits for open store calls, at most `storeTimeout` ms. `done` gets what the outbox does not keep. */
    abort: (done: (unfinished: ReadonlyArray<A>) => void, storeTimeout = Infinity): void =>
      own(abort, done, storeTimeout),
    isAborted: (): boolean => state === 'aborted',
    /** Whether anything is in flight, or could start before `instant`. With `watch`, anything that waits counts for `Infinity` only. */
    hasWorkBefore: (instant: number): boolean => {
      if (isWorking()) return true
      if (isStopped()) return false
      if (isShared && instant === Infinity && outbox.stats().waiting > 0) return true
      at.now = now()
      const todo = next()
      if (todo.do !== 'wait') return true
      // A store that failed when it was asked for the next time is asked again.
      if (todo.until < instant) timer.set(todo.until)
      return todo.until < instant
    },
    /** Whether no delivery runs and the store has all results. */
    isSettled: (): boolean => at.running === 0 && writes.unsaved() === 0,
    /** Deliveries that still run, also after their verdict. */
    running: (): number => at.running,
    changes$: changes.asObservable(),
    /** Moves matching dead letters back into the outbox. Answers how many: 0 after `stopAccepting`. */
    redrive: async (matches: (deadLetter: EndedDeadLetter<A>) => boolean): Promise<number> => {
      if (state !== 'open') return 0
      const redriven = (count: number): number => {
        book.found(count)
        lookAgain()
        return count
      }
      return held.whenStored(outbox.dead.redrive(matches), redriven, true)
    },
    /** The outbox ended a record that it could not read, as a dead letter: it counts as rejected. */
    endedCorrupt: (id: string): void => {
      book.endedCorrupt(id)
      changed()
    },
    report: log,
    totals: () => {
      const counted = book.totals()
      if (isShared) return { ...counted, waiting: outbox.stats().waiting }
      if (isWorking() || leftOver.length > 0) return counted
      // Records that cannot be read leave the store without an outcome.
      return { ...counted, waiting: Math.min(counted.waiting, outbox.stats().waiting) }
    },
    /** Accepted here and not ended; of an outbox that others use too, all that waits in it. */
    waiting: (): number => (isShared ? outbox.stats().waiting : book.waiting()),
    /** Once nothing is left to do: entries that left the outbox without an outcome. */
    lost: (): number => (isShared ? 0 : book.waiting()),
    now,
    own,
  }
}
