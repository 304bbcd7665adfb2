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
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { Subject } from 'rxjs'
import { isPromiseLike } from '../core/awaitable.ts'
import type { Awaitable } from '../core/awaitable.ts'
import { isTurnOver, nextTurn, scheduleSafely, steady } from '../core/clock.ts'
import type { Cancel } from '../core/clock.ts'
import { refused } from '../core/failure.ts'
import type { Failure } from '../core/failure.ts'
import { isRecord } from '../core/json.ts'
import * as Outcome from '../core/outcome.ts'
import { inMicrotask, ownContext } from '../core/ownContext.ts'
import { closed } from '../core/refusal.ts'
import type { Closed, Full } from '../core/refusal.ts'
import { deadlineOf } from '../policy/retryPolicy.ts'
import { nothingToCancel } from '../sink/layer.ts'
import { lateEnd } from './decide.ts'
import { deliveries, isAcks } from './deliveries.ts'
import type { DeliveriesOptions, Write } from './deliveries.ts'
import { handBack } from './handBack.ts'
import { Estimate, Held } from './held.ts'
import { ledger } from './ledger.ts'
import type { LedgerOptions } from './ledger.ts'
import { abandonedOf } from './outbox.ts'
import type { EndedDeadLetter, Entry, LeaseLimits, Outbox } from './outbox.ts'
import { storeLimit } from './storeLimit.ts'
import type { StoreLimit } from './storeLimit.ts'
import { STORE_RETRY_DELAY, nextDueOf, storeWrites } from './storeWrites.ts'
import type { Moment, Next, Start } from './take.ts'

export interface RelayOptions<A, D = A> extends LedgerOptions<A>, DeliveriesOptions<A, D> {
  readonly outbox: Outbox<A>
  /** Whether an item starts before `offer` returns. Default: in a microtask, with the others of its turn. */
  readonly isSynchronous?: boolean
  /** Called a turn after the outbox reported changes made by others (`watch`). */
  readonly storeChanged?: () => void
  /** Whether there may be no room for one more item. Default: there is room. */
  readonly isFull?: () => boolean
  /** Whether accepted items are on their way into the store, which tells `stored` of each. Default: none is. */
  readonly isStoring?: () => boolean
  /** The limit of time for the calls of the store. */
  readonly limit?: StoreLimit
}

/** Lists of results that may be unsaved while deliveries go on. A crash repeats their deliveries. */
const MAX_UNSAVED = 16

const MANY = 1e9

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
  const book = ledger<A>(isShared ? 0 : outbox.stats().waiting, now, own, options, changed)
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
    unleased: new Estimate(),
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
  /** Calls of `offer` and the like that the store has not answered. */
  let calls = 0
  /** Entries that are leased: neither ended nor put back. */
  let leased = 0
  /** The limits of the last lease. */
  let asked: LeaseLimits = { count: 0, retries: 0 }
  let isLeasing = false
  /** The rest of a long pass waits for the next turn of the event loop. */
  let isResting = false
  /** A pass runs. */
  let isLooking = false
  let timerAt = Infinity
  let cancelTimer = nothingToCancel
  let lookTimer: Cancel | undefined

  const isStopped = (): boolean => state === 'stopped' || state === 'aborted'
  /** Whether the store does not hand the entry out again after a restart. */
  const isLost = (entry: Entry<A>): boolean => !(outbox.keeps?.(entry) ?? outbox.durable)

  const writes = storeWrites<Write<A>>(
    clock,
    (write) => (isAcks(write) ? outbox.ack(write) : outbox.nack(write)),
    (write) => {
      if (isAcks(write)) for (const ack of write) endLeased(ack)
      else at.nacking--
      poll()
    },
    storeFailed,
    (write) => {
      // A durable outbox hands the entry out again. For another one this is the last chance to report it.
      if (isAcks(write)) write.filter(({ entry }) => isLost(entry)).forEach(endLeased)
      else {
        at.nacking--
        leased += write.length
        leftOver.push(...write.map(({ entry }) => entry))
      }
      changed()
    },
    limit,
  )
  const endLeased: typeof end = (ack) => {
    leased--
    end(ack)
  }
  const save = (write: Write<A>): void => {
    if (!isAcks(write)) {
      at.nacking++
      leased -= write.length
    }
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

  const hold = (entry: Entry<A>): void => {
    const { item, progress } = entry
    if (isItem(item)) (progress === undefined ? at.fresh : at.retries).push(entry)
    else
      save([{ entry, outcome: Outcome.rejected(item, 0, refused('rejected', { detail: 'it is no item' })) }])
  }
  /** An item whose enqueue failed may be stored all the same: it counts as accepted when it comes out of the store. */
  const countLeased = (entries: ReadonlyArray<Entry<A>>): void => {
    leased += entries.length
    // One whose enqueue is not answered yet counts when it is.
    const unknown = isShared ? 0 : leased - book.waiting() - calls
    if (unknown > 0) for (const { id, item } of entries.slice(-unknown)) book.accepted(item, id)
  }
  const holdAll = (entries: ReadonlyArray<Entry<A>>): void => {
    const found = entries.every(isRecord) ? entries : entries.filter(isRecord)
    if (found !== entries) storeFailed(new TypeError('the outbox handed out something that is no entry'))
    const isRetries = asked.retriesOnly === true
    if (!isRetries && entries.length >= asked.count) at.unleased.set(Infinity)
    if (found.length >= asked.count) at[isRetries ? 'mayLeaseRetries' : 'mayLease'] = true
    countLeased(found)
    for (const entry of found) hold(entry)
  }

  const waitUntil = (due: number): void => {
    if (due !== Infinity && (due >= timerAt || isStopped())) return
    cancelTimer()
    cancelTimer = nothingToCancel
    timerAt = due
    if (due === Infinity) return
    const onTimer = (): void => {
      timerAt = Infinity
      poll()
    }
    cancelTimer = scheduleSafely(clock, due - now(), onTimer, book.defectIn('clock'))
  }
  const leaseFailed = (error: unknown): void => {
    storeFailed(error)
    waitUntil(now() + STORE_RETRY_DELAY)
  }

  const next = (): Next => {
    at.behind = Math.max(0, writes.unsaved() - MAX_UNSAVED)
    return take(at)
  }
  const isSent = (): boolean => at.fresh.count === 0 && isStoring?.() !== true && at.nextDue() > at.now

  /** Starts and leases, until the take waits. A loop: a sink may answer at once, for thousands of entries in a row. */
  const look = (): void => {
    at.now = now()
    for (let started = 0; !isStopped();) {
      const todo = next()
      if (todo.do === 'wait') {
        if (at.flushing !== undefined && isSent()) at.flushing = undefined
        waitUntil(todo.until)
        return
      }
      if (todo.do === 'lease') {
        if (lease(todo.limits)) continue
        isLeasing = true
        return
      }
      startNext(todo)
      if (isSynchronous || ++started <= 4 || !isTurnOver(clock)) continue
      isResting = true
      nextTurn(() => {
        isResting = false
        poll()
      })
      return
    }
  }
  /** Answers whether the store has answered. */
  const lease = (limits: LeaseLimits): boolean => {
    asked = limits
    if (limits.retriesOnly === true) at.mayLeaseRetries = false
    else {
      at.mayLease = false
      at.unleased.set(0)
    }
    const answer = outbox.lease(at.now, limits)
    if (!isPromiseLike(answer)) {
      holdAll(answer)
      return true
    }
    limit.inTime(answer, leaseAnswered).then(
      (entries) => {
        isLeasing = false
        leaseAnswered(entries)
      },
      (error: unknown) => {
        isLeasing = false
        leaseFailed(error)
        changed()
      },
    )
    return false
  }
  /** Also for an answer that comes too late: nothing else hands out its entries. */
  const leaseAnswered = (entries: ReadonlyArray<Entry<A>>): void => {
    if (state === 'aborted') return
    try {
      holdAll(entries)
    } catch (error) {
      leaseFailed(error)
    }
    own(pass)
  }

  const pass = (): void => {
    if (!isLeasing && !isResting) {
      isLooking = true
      try {
        look()
      } catch (error) {
        leaseFailed(error)
      } finally {
        isLooking = false
      }
    }
    changed()
  }
  const poll = (): void => {
    at.mayLease = at.mayLeaseRetries = true
    // A pass that runs looks again by itself.
    if (!isLooking) own(pass)
  }
  const pollSoon = isSynchronous ? poll : inMicrotask(own, poll)
  /** The store has an item more that can be leased. */
  const stored = (item: A): void => {
    if (!isBatch) return
    if (at.fresh.count === 0 && at.unleased.count === 0) at.freshSince = now()
    at.unleased.add(sizeOf(item))
  }
  /** The store may have more new entries than are known. */
  const lookAgain = (): void => {
    at.unleased.set(Infinity)
    pollSoon()
  }

  const unwatch = outbox.watch?.(() => {
    lookTimer ??= clock.schedule(0, () => {
      lookTimer = undefined
      at.unleased.set(Infinity)
      poll()
      options.storeChanged?.()
    })
  })

  /** Passes the answer of the store on, at once if it is not a promise. */
  const whenStored = <T, B>(answer: Awaitable<T>, use: (answer: T) => B): Awaitable<B> => {
    if (!isPromiseLike(answer)) return use(answer)
    calls++
    return limit
      .inTime(answer, pollSoon, storeFailed)
      .then(use)
      .finally(() => {
        calls--
        if (!isShared) book.found(Math.max(0, leased - book.waiting() - calls))
        own(changed)
      })
  }

  const isStoreBusy = (): boolean =>
    isLooking || isLeasing || isResting || calls > 0 || writes.unsaved() > 0 || isStoring?.() === true
  const isWorking = (): boolean =>
    at.inFlight > 0 || (isBatch && at.running > 0) || isStoreBusy() || book.isReporting()
  const stopStarting = (): void => {
    state = 'stopped'
    cancelTimer()
  }

  /** Takes out the oldest entry that is in no delivery: retries first. The store must answer at once. */
  const takeOldest = (): Entry<A> | undefined => {
    const leaseOne = (retriesOnly: boolean): Entry<A> | undefined => {
      const answer = outbox.lease(Number.MAX_SAFE_INTEGER, {
        count: 1,
        retries: retriesOnly ? 1 : 0,
        retriesOnly,
      })
      if (isPromiseLike(answer)) return undefined
      leased += answer.length
      return answer[0]
    }
    return at.retries.shift() ?? leaseOne(true) ?? at.fresh.shift() ?? leaseOne(false)
  }

  const abort = (done: (unfinished: ReadonlyArray<A>) => void, storeTimeout: number): void => {
    stopStarting()
    writes.stopRetrying()
    const cut = sending.cancelAll()
    const endOf = (entry: Entry<A>): Outcome.Outcome<A> => abandonedOf(entry, cut.has(entry))
    // A lease may be answered meanwhile, so the held entries are taken at the end.
    const lost = (): ReadonlyArray<Entry<A>> =>
      [...cut, ...leftOver.splice(0), ...at.retries.drain(), ...at.fresh.drain()].filter(isLost)
    const finish = (mine: ReadonlyArray<Entry<A>>, remaining: ReadonlyArray<Entry<A>>): void => {
      countLeased(remaining)
      const unfinished = [...mine, ...remaining]
      for (const entry of unfinished) endLeased({ entry, outcome: endOf(entry) })
      book.afterReports(() => {
        state = 'aborted'
        lookTimer?.()
        unwatch?.()
        done(unfinished.map(({ item }) => item))
        changed()
      })
    }
    handBack(outbox, limit, clock, storeTimeout, changes, isStoreBusy, lost, endOf, storeFailed, finish)
  }

  poll()

  return {
    /** Adds an item to the outbox. `Full` if there is no room, `Closed` after `stopAccepting`. */
    offer: (item: A): Awaitable<Either<Full | Closed, Entry<A>>> => {
      if (state !== 'open') return left(closed(item))
      return whenStored(outbox.enqueue([item]), ([answer]) => {
        if (answer === undefined) throw new Error('the outbox did not answer for the item')
        if (isLeft(answer)) return answer
        if (isStoring === undefined) stored(item)
        book.accepted(item, answer.right.id)
        pollSoon()
        return answer
      })
    },
    /** Adds an item for which the outbox has no room to its dead letters. */
    offerDead: (item: A, failure: Failure): Awaitable<Either<Closed, void>> => {
      if (state !== 'open') return left(closed(item))
      const outcome = Outcome.rejected(item, 0, failure)
      return whenStored(outbox.addDeadLetter?.(item, outcome), () => {
        book.accepted(item)
        own(book.report, outcome)
        return right(undefined)
      })
    },
    /** Ends the oldest entry that is in no delivery as dropped. Answers whether there is one. The store must answer at once. */
    dropOldest: (): boolean => {
      const entry = takeOldest()
      if (entry === undefined) return false
      const outcome = Outcome.dropped(entry.item, entry.progress?.attempts ?? 0, 'dropOldest')
      void outbox.ack([{ entry, outcome }])
      leased--
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
    recall: (): ReadonlyArray<Entry<A>> => {
      const held = at.fresh.drain()
      for (const entry of held) if (!isLost(entry)) at.fresh.push(entry)
      const recalled = held.filter(isLost)
      leased -= recalled.length
      return recalled
    },
    /** An entry has another id: the outbox stored it, and can hand it out. */
    renamed: (from: string, to: string, item: A): void => {
      book.renamed(from, to)
      stored(item)
    },
    /** Asks the outbox again. */
    poll,
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
      return todo.do !== 'wait' || todo.until < instant
    },
    /** Whether no delivery runs and the store has all results. */
    isSettled: (): boolean => at.running === 0 && writes.unsaved() === 0,
    /** Deliveries that still run, also after their verdict. */
    running: (): number => at.running,
    changes$: changes.asObservable(),
    /** Moves matching dead letters back into the outbox. Answers how many: 0 after `stopAccepting`. */
    redrive: async (matches: (deadLetter: EndedDeadLetter<A>) => boolean): Promise<number> => {
      if (state !== 'open') return 0
      // Any number of entries may come out before it is answered.
      calls += MANY
      const moved = whenStored(outbox.dead.redrive(matches), (count) => {
        book.found(count)
        lookAgain()
        return count
      })
      return Promise.resolve(moved).finally(() => (calls -= MANY))
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
