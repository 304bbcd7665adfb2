/**
 * The relay delivers the entries of an outbox to a sink. A take says which entries make the next delivery,
 * and when.
 *
 *     outbox.lease ─▶ held ─▶ take ─▶ sink.deliver ─▶ step ─┬─▶ outbox.ack    delivered, rejected or expired
 *                                                           └─▶ outbox.nack   waits for its retry
 *
 * An outcome is counted and reported after the outbox has stored it. So a crash can repeat a delivery, and
 * never loses one.
 *
 * @module
 */
import { Subject } from 'rxjs'
import { isLeft, left, right, type Either } from '../core/either.ts'
import { isPromiseLike, type Awaitable } from '../core/awaitable.ts'
import { alarm, isTurnOver, nextTurn } from '../core/clock.ts'
import { refused, type Failure } from '../core/failure.ts'
import * as Outcome from '../core/outcome.ts'
import { onceSoon, ownContext } from '../core/ownContext.ts'
import { ShownError, closed, type Closed, type Full } from '../core/refusal.ts'
import { deadlineOf } from '../policy/retryPolicy.ts'
import { lateEnd } from './decide.ts'
import { deliveries, type SendOptions } from './deliveries.ts'
import { UNKNOWN, leases, type LeaseOptions } from './leases.ts'
import { ledger, type LedgerOptions } from './ledger.ts'
import { STORE_RETRY_DELAY, endOfAll, opening, storeLimit, until } from './storeLimit.ts'
import { abandonedOf, inUse, type Ack, type EndedDeadLetter, type Entry, type Nack } from './outbox.ts'
import { storeWrites } from './storeWrites.ts'
import type { Next, Start } from './take.ts'

export interface RelayOptions<A, D = A> extends LedgerOptions<A>, LeaseOptions<A, D>, SendOptions<A, D> {
  /** Whether an item starts before `offer` returns. Default: in a microtask, with the others of its turn. */
  readonly isSynchronous?: boolean
  /** Whether another relay goes on with the outbox: an abort puts leased entries back. Default false. */
  readonly staysOpen?: boolean
  /** Called a turn after the outbox reported changes made by others (`watch`), and when it is open. */
  readonly storeChanged?: () => void
  /** Whether accepted items are on their way into the store, which calls `added` for each. Default: none. */
  readonly isStoring?: () => boolean
}

type Added<A> = Either<Full, Entry<A>>

/** Answers of a redrive that are still to come. */
const MANY = 1e9
const NO_ITEM = refused('rejected', { detail: 'it is no item' })

export type Relay<A, D = A> = ReturnType<typeof relay<A, D>>

/** Delivers the entries of an outbox to a sink, in the async context where it is made. It starts at once. */
export const relay = <A, D = A>(options: RelayOptions<A, D>) => {
  const { outbox, shape, retry, clock, isStoring, isSynchronous = false, staysOpen = false } = options
  const { take, isBatch } = shape
  const isShared = outbox.watch !== undefined
  const maxUnsaved = shape.maxUnsaved(isShared)
  const window = deadlineOf(retry)
  const own = ownContext()
  const limit = storeLimit()
  const changes = new Subject<void>()
  const changed = (): void => {
    if (changes.observed) changes.next()
  }
  const book = ledger<A>(outbox, own, options, changed)
  const { now, storeFailed } = book
  const held = leases<A, D>(options, book, (error) => askFailed(error))
  const { at } = held
  let state: 'open' | 'closed' | 'stopped' | 'aborted' = 'open'
  const opened = (): void => {
    book.opened()
    storeChanged()
    changed()
  }
  const { isOpen, whenOpen, stop: stopOpening } = opening(outbox, clock, () => own(opened), storeFailed)
  /** A pass runs, or goes on after the answer to a lease, or in the next turn. */
  let pass: 'none' | 'runs' | 'leases' | 'rests' = 'none'

  const isStopped = (): boolean => state === 'stopped' || state === 'aborted'
  const isOpening = (): boolean => !isOpen() && !isStopped()
  /** Whether the store does not hand the entry out again after a restart. */
  const isLost = (entry: Entry<A>): boolean => !outbox.keeps(entry)

  const writes = storeWrites(outbox, own, clock, limit, storeFailed, () => poll())
  const acks = writes.listsOf<Ack<A>>(
    (list) => outbox.ack(list),
    // A durable outbox hands the entries out again. For another one this is the last chance to report them.
    (list, isStored) => book.end(isStored ? list : list.filter(({ entry }) => isLost(entry))),
  )
  const nacks = writes.listsOf<Nack<A>>(
    (list) => outbox.nack(list),
    (list, isStored) => {
      if (isStored) return
      book.left(-list.length)
      for (const { entry } of list) if (isLost(entry)) at.retries.push(entry)
    },
  )
  const isUnsaved = (): boolean => acks.unsaved + nacks.unsaved > 0
  const ack = acks.save
  const nack = (list: ReadonlyArray<Nack<A>>): void => {
    book.left(list.length)
    nacks.save(list)
  }

  const sending = deliveries<A, D>(options, own, at, { ack, nack }, () => poll())

  const late: Array<Ack<A>> = []
  const isLate = (entry: Entry<A>): boolean => {
    const end = lateEnd(entry, at.now, window)
    if (end !== undefined) late.push(end)
    return end !== undefined
  }
  const startNext = ({ from, count, bytes, closedBy }: Start): void => {
    const entries = at[from].next(count, bytes, isLate)
    if (from === 'fresh') at.lastStart = at.freshSince = at.now
    if (entries.length > 0) sending.start(entries, closedBy)
    // Afterwards: a listener may stop the relay, which cancels the delivery.
    if (late.length > 0) ack(late.splice(0))
  }

  const hold = (found: ReadonlyArray<Entry<A>>): void => {
    for (const entry of held.hold(found)) ack([{ entry, outcome: Outcome.rejected(entry.item, 0, NO_ITEM) }])
  }
  const askLater = (): void => {
    if (!isStopped()) timer.set(now() + STORE_RETRY_DELAY)
  }
  const askFailed = (error: unknown): void => {
    storeFailed(error)
    askLater()
  }
  /** Used for a late answer too: its entries are leased, and nothing else would deliver them. */
  const leaseAnswered = (entries: ReadonlyArray<Entry<A>>): void => {
    if (state === 'aborted') return
    try {
      hold(entries)
    } catch (error) {
      askFailed(error)
    }
  }
  const leaseLate = (entries: ReadonlyArray<Entry<A>>): void => {
    leaseAnswered(entries)
    runPass()
  }

  const next = (): Next => {
    at.behind = Math.max(0, acks.unsaved + nacks.unsaved - maxUnsaved)
    at.nacking = nacks.unsaved
    return take(at)
  }
  const isSent = (): boolean => at.fresh.count === 0 && isStoring?.() !== true && at.nextDue() > at.now

  /** Starts and leases, until the take waits. A loop: a sink may answer at once, for thousands of entries. */
  const run = (): typeof pass => {
    at.now = now()
    for (let started = 0; isOpen() && !isStopped();) {
      const todo = next()
      if (todo.do === 'wait') {
        // Else the next item would not be the first: a batch would not wait for others.
        if ((at.flushing !== undefined || at.unleased === UNKNOWN) && isSent()) {
          if (at.flushing === 'flush' || (isShared && !staysOpen)) at.flushing = undefined
          at.unleased = { count: 0, bytes: 0 }
        }
        timer.set(todo.until)
        return 'none'
      }
      if (todo.do === 'lease') {
        const answer = held.lease(todo.limits)
        if (!isPromiseLike(answer)) {
          hold(answer)
          continue
        }
        void limit.inTime(answer, leaseLate).then(leaseAnswered, askFailed).then(goOn)
        return 'leases'
      }
      startNext(todo)
      if (isSynchronous || ++started % 4 !== 0 || !isTurnOver(clock)) continue
      nextTurn(goOn)
      return 'rests'
    }
    return 'none'
  }
  const runPass = (): void => {
    if (pass === 'runs') return
    if (pass === 'none') {
      pass = 'runs'
      try {
        pass = run()
      } catch (error) {
        pass = 'none'
        askFailed(error)
      }
    }
    changed()
  }
  const goOn = (): void => {
    pass = 'none'
    runPass()
  }
  /** Starts what may start, in the own context. A pass that runs looks again by itself. */
  const poll = (): void => {
    at.mayLease = at.mayLeaseRetries = true
    runPass()
  }
  const pollNow = (): void => own(poll)
  const pollSoon = isSynchronous ? pollNow : onceSoon(own, poll)
  const storeChanged = (): void => {
    at.unleased = UNKNOWN
    pollSoon()
    options.storeChanged?.()
  }
  const timer = alarm(clock, pollNow, book.defectIn('clock'))
  const changedLater = alarm(clock, storeChanged, book.defectIn('clock'))
  const unwatch = outbox.watch?.(() => changedLater.set(now()))

  /** Uses the answer to a call that adds items. Items that are leased before it count with the answer. */
  const whenStored = async <T, B>(answer: PromiseLike<T>, use: (answer: T) => B, adds = 1): Promise<B> => {
    book.asked(adds)
    try {
      return use(await limit.inTime(answer, pollSoon, storeFailed))
    } catch (error) {
      askLater()
      throw error
    } finally {
      book.answered(adds)
      own(changed)
    }
  }
  const stored = (item: A, answers: ReadonlyArray<Added<A>>, use?: (entry: Entry<A>) => void): Added<A> => {
    const answer = answers[0]
    if (answer === undefined) throw new ShownError('the outbox did not answer for the item')
    if (isLeft(answer)) return answer
    if (isBatch && isStoring === undefined) held.added(item)
    book.accepted(item, answer.right.id)
    use?.(answer.right)
    pollSoon()
    return answer
  }

  const isStoreBusy = () => pass !== 'none' || book.isAsked() || isUnsaved() || isStoring?.() === true
  const isWorking = (): boolean =>
    at.inFlight > 0 || (isBatch && at.running > 0) || isStoreBusy() || isOpening() || book.isReporting()
  const isAddingLast = (): boolean => state !== 'open' && book.isAsked()
  const stopStarting = (): void => {
    state = 'stopped'
    stopOpening()
    timer.set(Infinity)
  }

  const abort = (done: (unfinished: ReadonlyArray<A>) => void, storeTimeout: number): void => {
    stopStarting()
    const stopWaiting = writes.stopRetrying(storeTimeout)
    const { cut, queued } = sending.cancelAll()
    // A restart goes on with the deadline of an attempt that was cut.
    for (const [entry, due] of cut)
      if (!isLost(entry)) nack([{ entry: { ...entry, firstAttemptAt: entry.firstAttemptAt ?? due }, due }])
    /** With batches nothing passes a waiting retry. */
    const putBack = (entries: ReadonlyArray<Entry<A>>): boolean => {
      const list = staysOpen ? entries.filter((entry) => !isLost(entry)) : []
      if (list.length === 0) return false
      const retry = isBatch && !isShared ? at.nextRetry() : Infinity
      nack(list.map((entry) => ({ entry, due: Math.max(now(), retry < Infinity ? retry : 0) })))
      return true
    }
    putBack(queued)
    const ackOf = (entry: Entry<A>): Ack<A> => ({ entry, outcome: abandonedOf(entry, cut.has(entry)) })
    /** A lease may be answered, and ends be told meanwhile, so the held entries are taken afterwards. */
    const handBack = (): void => {
      if (isStoreBusy() || sending.isSettling() || book.isReporting()) return
      const rest = held.drain()
      queued.push(...rest)
      if (putBack(rest)) return
      idle.unsubscribe()
      const mine = [...cut.keys(), ...queued].filter(isLost).map(ackOf)
      writes.handBack(mine, (inUse.get(outbox) ?? storeChanged) !== storeChanged, (remaining) => {
        stopWaiting()
        book.leased(remaining)
        const unfinished = [...mine, ...remaining.map(ackOf)]
        book.end(unfinished)
        book.afterReports(() => {
          state = 'aborted'
          changedLater.set(Infinity)
          unwatch?.()
          done(unfinished.map(({ entry }) => entry.item))
          changed()
        })
      })
    }
    const idle = changes.subscribe({ next: handBack, error: storeFailed })
    handBack()
  }

  pollSoon()

  return {
    /** Adds an item, and gives `use` its entry. `Full` without room, `Closed` after `stopAccepting`. */
    offer: (item: A, use?: (entry: Entry<A>) => void): Awaitable<Either<Full | Closed, Entry<A>>> => {
      if (state !== 'open') return left(closed(item))
      const isLater = !isOpen() && isStoring === undefined
      const answers = isLater ? whenOpen(() => outbox.enqueue([item])) : outbox.enqueue([item])
      if (!isPromiseLike(answers)) return stored(item, answers, use)
      return whenStored(answers, (list) => stored(item, list, use))
    },
    /** Adds an item for which the outbox has no room to its dead letters. */
    offerDead: (item: A, failure: Failure): Awaitable<Either<Closed, void>> => {
      if (state !== 'open') return left(closed(item))
      const outcome = Outcome.rejected(item, 0, failure)
      const ended = (): Either<Closed, void> => {
        book.endSoon(outcome)
        book.accepted(item)
        return right(undefined)
      }
      const answer = whenOpen(() => outbox.addDeadLetter?.(item, outcome))
      return isPromiseLike(answer) ? whenStored(answer, ended) : ended()
    },
    /** Drops the oldest entry that is in no delivery, if there is one. The store must answer at once. */
    dropOldest: (): boolean => {
      const entry = held.takeOldest()
      if (entry === undefined) return false
      const outcome = Outcome.dropped(entry.item, entry.progress?.attempts ?? 0, 'dropOldest')
      void outbox.ack([{ entry, outcome }])
      book.endSoon(outcome, entry)
      return true
    },
    dropNewest: (item: A): void => {
      // Counted first: a listener of `Accepted` would miss it in the totals.
      book.endSoon(Outcome.dropped(item, 0, 'dropNewest'))
      book.accepted(item)
    },
    /** Whether a drop is being reported now. A listener that sends the item again would loop. */
    isReportingDrop: book.isReportingDrop,
    recall: held.recall,
    renamed: book.renamed,
    inTime: limit.inTime,
    /** For an outbox with `isStoring`: there is an item more to lease. */
    added: held.added,
    poll: pollNow,
    storeChanged,
    /** Delivers waiting entries, also in batches that are not full. */
    flush: (how: 'flush' | 'end'): void => {
      at.flushing = how
      pollSoon()
    },
    /** A check whether everything accepted so far has ended, with what it holds when it is open. */
    flushed: (): (() => boolean) => {
      let isFlushed = isOpen() ? book.flush() : undefined
      return () => isOpen() && (isFlushed ??= book.flush())()
    },
    isOpen,
    /** The first call says whether waiting items may still start. */
    stopAccepting: (mayStart = true): void => {
      if (state !== 'open') return
      state = 'closed'
      if (!mayStart) stopStarting()
    },
    stopStarting,
    /** Cancels all deliveries and waits for the store, at most `storeTimeout` ms. `done` gets lost items. */
    abort: (done: (unfinished: ReadonlyArray<A>) => void, storeTimeout = Infinity): void =>
      own(abort, done, storeTimeout),
    isAborted: (): boolean => state === 'aborted',
    /** Whether work is in flight or may start before `instant`; `Infinity` counts entries of others too. */
    hasWorkBefore: (instant: number): boolean => {
      if (isWorking()) return true
      if (isStopped()) return false
      if (isShared && instant === Infinity && outbox.stats().waiting > 0) return true
      at.now = now()
      const todo = next()
      return todo.do !== 'wait' || todo.until < instant
    },
    /** A check whether what a shared outbox held at its first call has ended. Others add more. */
    allEnded: () => endOfAll(outbox, () => isOpen() && !isAddingLast(), pollNow, storeFailed),
    isSettled: (): boolean => at.running === 0 && !isUnsaved(),
    /** Deliveries that still run, also after their verdict. */
    running: (): number => at.running,
    changes$: changes.asObservable(),
    /** Waits until `isReached`, at most `limit` milliseconds. Answers whether it was reached. */
    until: (isReached: () => boolean, limit = Infinity) => until(clock, changes, limit, isReached),
    /** Moves matching dead letters back into the outbox. Answers how many: 0 after `stopAccepting`. */
    redrive: async (matches: (deadLetter: EndedDeadLetter<A>) => boolean): Promise<number> => {
      if (state !== 'open') return 0
      const redriven = (ids: ReadonlyArray<string>): number => {
        book.redriven(ids)
        storeChanged()
        return ids.length
      }
      const answer = whenOpen(() => outbox.dead.redrive(matches))
      return isPromiseLike(answer) ? whenStored(answer, redriven, MANY) : redriven(answer)
    },
    /** The outbox ended a record that it could not read, as a dead letter: it counts as rejected. */
    endedCorrupt: (id: string): void => {
      book.endedCorrupt(id)
      changed()
    },
    report: book.log,
    // At a stop the store may have handed back entries whose end is not counted yet.
    totals: () => book.totals(isWorking() || state === 'stopped'),
    waiting: book.waiting,
    oldest: book.oldest,
    lost: book.lost,
    now,
    own,
  }
}
