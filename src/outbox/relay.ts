/**
 * The relay delivers the entries of an outbox to a sink.
 *
 *     outbox.lease ─▶ sink.deliver ─▶ step ─┬─▶ outbox.ack    final: delivered, rejected or expired
 *                                           └─▶ outbox.nack   waits for its retry
 *
 * An outcome is counted and reported after the outbox has stored it. So a crash can repeat a delivery, and never loses one.
 *
 * @module
 */
import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { Subject } from 'rxjs'
import { isPromiseLike, type Awaitable } from '../core/awaitable.ts'
import { isTurnOver, nextTurn, scheduleSafely, steady } from '../core/clock.ts'
import type { Cancel, Clock, Random } from '../core/clock.ts'
import { drainLoop } from '../core/drainLoop.ts'
import type { Failure } from '../core/failure.ts'
import { isRecord } from '../core/json.ts'
import * as Outcome from '../core/outcome.ts'
import { inMicrotask, ownContext } from '../core/ownContext.ts'
import { queue, serialQueue } from '../core/queue.ts'
import { closed } from '../core/refusal.ts'
import type { Closed, Full } from '../core/refusal.ts'
import { counters } from '../core/totals.ts'
import { callSafely } from '../log/listeners.ts'
import type { Listener } from '../log/logEvent.ts'
import { deadlineOf } from '../policy/retryPolicy.ts'
import type { RetryPolicy } from '../policy/retryPolicy.ts'
import { nothingToCancel } from '../sink/layer.ts'
import type { Sink } from '../sink/sink.ts'
import { lateEnd } from './decide.ts'
import { deliveries } from './deliveries.ts'
import { handBack } from './handBack.ts'
import { abandonedOf } from './outbox.ts'
import type { Ack, EndedDeadLetter, Entry, Nack, Outbox } from './outbox.ts'
import { storeLimit } from './storeLimit.ts'
import { STORE_RETRY_DELAY, nextDueOf, storeWrites } from './storeWrites.ts'

export interface RelayOptions<A> {
  readonly sink: Sink<A>
  readonly outbox: Outbox<A>
  readonly retry: RetryPolicy
  readonly clock: Clock
  readonly random: Random
  readonly maxInFlight: number
  /** Whether an item starts before `offer` returns. Default: in a microtask, with the others of its turn. */
  readonly isSynchronous?: boolean
  readonly onEvent?: Listener | undefined
  /** Whether anything listens to this kind of log event. Default: yes. */
  readonly hears?: (tag: 'Accepted' | 'Ended') => boolean
  /** Called once for each item, after the outbox has stored its outcome. Calls never nest. */
  readonly ended: (outcome: Outcome.Outcome<A>) => void
  /** Called a turn after the outbox reported changes made by others (`watch`). */
  readonly storeChanged?: () => void
}

/** Results that may be unsaved while deliveries go on. A crash repeats their deliveries. */
const MAX_UNSAVED = 16

const MANY = 1e9
const ignore = (): void => undefined

export type Relay<A> = ReturnType<typeof relay<A>>

/** Delivers the entries of an outbox to a sink, with retries, in the async context in which it is made. It starts at once with what it finds. */
export const relay = <A>(options: RelayOptions<A>) => {
  const { outbox, retry, clock, maxInFlight, ended, isSynchronous = false } = options
  const { onEvent = ignore, hears = () => true } = options
  const limit = storeLimit()
  const isShared = outbox.watch !== undefined
  const maxRetries = Math.max(1, Math.floor(maxInFlight / 2))
  const now = steady(clock)
  const window = deadlineOf(retry)
  const own = ownContext()
  const counts = counters(isShared ? 0 : outbox.stats().waiting)
  const reports = serialQueue()
  const changes = new Subject<void>()
  /** Leased and not started: a pass that ended early leaves some. */
  const held = queue<Entry<A>>()
  /** Not put back, because the store failed until the stop. */
  const leftOver: Array<Entry<A>> = []
  let state: 'open' | 'closed' | 'stopped' | 'aborted' = 'open'
  /** Calls of `offer` and the like that the store has not answered. */
  let calls = 0
  /** Entries that are leased: neither ended nor put back. */
  let leased = 0
  /** How many entries the last lease was to answer. */
  let asked = 0
  let isLeasing = false
  /** The rest of a long pass waits for the next turn of the event loop. */
  let isResting = false
  /** A pass is asked for, and whether it may lease. */
  let isDue = false
  let mayLease = false
  let timerAt = Infinity
  let cancelTimer = nothingToCancel
  let lookTimer: Cancel | undefined

  const isStopped = (): boolean => state === 'stopped' || state === 'aborted'

  const changed = (): void => {
    if (changes.observed) changes.next()
  }

  const log: Listener = (event) => callSafely(onEvent, event, ignore)
  const defect = (where: string, error: unknown): void => log({ _tag: 'Defect', at: now(), where, error })
  const storeFailed = (error: unknown): void => defect('outbox', error)
  const listenerFailed = (error: unknown): void => defect('outcome listener', error)

  const nextDue = (): number | undefined => nextDueOf(outbox, false, now, storeFailed)

  const accepted = (item: A): void => {
    counts.accept()
    if (hears('Accepted')) log({ _tag: 'Accepted', at: now(), item })
  }
  /** An item whose enqueue failed may be stored all the same: it counts as accepted when it comes out of the store. */
  const take = (entries: ReadonlyArray<Entry<A>>): void => {
    leased += entries.length
    const unknown = isShared ? 0 : leased - counts.waiting()
    // The others have a call that the store has not answered.
    const unasked = unknown > 0 ? counts.acceptEarly(unknown) - calls : 0
    if (unasked > 0) for (const { item } of entries.slice(-unasked)) accepted(item)
  }

  const reportNow = (outcome: Outcome.Outcome<A>): void => {
    counts.end(outcome)
    if (outcome._tag !== 'Delivered' || hears('Ended')) log({ _tag: 'Ended', at: now(), outcome })
    callSafely(ended, outcome, listenerFailed)
  }
  const report = (outcome: Outcome.Outcome<A>): void => reports.take(reportNow, outcome)
  const end = (outcome: Outcome.Outcome<A>): void => {
    leased--
    report(outcome)
  }

  const writes = storeWrites<Ack<A> | Nack<A>>(
    clock,
    (write) => ('outcome' in write ? outbox.ack([write]) : outbox.nack([write])),
    (write) => {
      if ('outcome' in write) end(write.outcome)
      poll()
    },
    storeFailed,
    (write) => {
      // A durable outbox hands the entry out again. For another one this is the last chance to report it.
      if (!('outcome' in write)) {
        leftOver.push(write.entry)
        leased++
      } else if (!outbox.durable) end(write.outcome)
      changed()
    },
    limit,
  )
  const save = (write: Ack<A> | Nack<A>): void => {
    if (!('outcome' in write)) leased--
    writes.save(write)
    if (writes.unsaved() > 0) poll()
  }

  const mayStart = (): boolean => !isStopped() && sending.inFlight() < maxInFlight
  const sending = deliveries(options, own, now, save, changed, log)

  const startHeld = (): boolean => {
    let started = 0
    for (let entry = held.peek(); entry !== undefined && mayStart(); entry = held.peek()) {
      if (!isSynchronous && ++started > 4 && isTurnOver(clock)) return false
      const at = now()
      const late = lateEnd(entry, at, window, clock)
      held.shift()
      if (late === undefined) sending.start(entry, at)
      else save(late)
    }
    return true
  }

  const waitUntil = (due = Infinity): void => {
    if (due !== Infinity && (due >= timerAt || isStopped())) return
    cancelTimer()
    cancelTimer = nothingToCancel
    timerAt = due
    if (due === Infinity) return
    const onTimer = (): void => {
      timerAt = Infinity
      poll()
    }
    cancelTimer = scheduleSafely(clock, due - now(), onTimer, (error) => defect('clock', error))
  }
  const leaseFailed = (error: unknown): void => {
    storeFailed(error)
    waitUntil(now() + STORE_RETRY_DELAY)
  }

  const hold = (entries: ReadonlyArray<Entry<A>>): void => {
    if (entries.length >= asked) mayLease = true
    const found = entries.every(isRecord) ? entries : entries.filter(isRecord)
    if (found !== entries) storeFailed(new TypeError('the outbox handed out something that is no entry'))
    take(found)
    for (const entry of found) held.push(entry)
  }

  const startDue = (): void => {
    const at = now()
    while (startHeld()) {
      if (!mayLease || isStopped()) {
        const due = nextDue()
        // The store gave less than was due, if there is room. If not, the next pass follows a verdict.
        if (due !== undefined && due <= at) waitUntil(asked > 0 ? now() + STORE_RETRY_DELAY : Infinity)
        else waitUntil(due)
        return
      }
      isDue = mayLease = false
      asked = maxInFlight - sending.inFlight() - held.size() - Math.max(0, writes.unsaved() - MAX_UNSAVED)
      if (asked <= 0 || (nextDue() ?? Infinity) > at) continue
      const retries = Math.max(0, maxRetries - sending.retriesInFlight())
      const answer = outbox.lease(at, { count: asked, retries })
      if (isPromiseLike(answer)) {
        isLeasing = true
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
        return
      }
      hold(answer)
    }
    isResting = true
    nextTurn(() => {
      isResting = false
      own(pass)
    })
  }
  /** Also for an answer that comes too late: nothing else hands out its entries. */
  const leaseAnswered = (entries: ReadonlyArray<Entry<A>>): void => {
    if (state === 'aborted') return
    try {
      hold(entries)
    } catch (error) {
      leaseFailed(error)
    }
    own(pass)
  }

  const passes = drainLoop(() => {
    if (isLeasing || isResting || !isDue) return
    isDue = false
    try {
      startDue()
    } catch (error) {
      leaseFailed(error)
    }
  })
  const pass = (): void => {
    isDue = true
    passes.run()
    if (!passes.isRunning()) changed()
  }
  const poll = (): void => {
    mayLease = true
    own(pass)
  }
  const pollSoon = isSynchronous ? poll : inMicrotask(own, poll)

  const unwatch = outbox.watch?.(() => {
    lookTimer ??= clock.schedule(0, () => {
      lookTimer = undefined
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
        counts.limitEarly(--calls)
        own(changed)
      })
  }

  const isStoreBusy = (): boolean =>
    passes.isRunning() || isLeasing || isResting || calls > 0 || writes.unsaved() > 0
  const isWorking = (): boolean =>
    sending.inFlight() > 0 || isStoreBusy() || reports.busy() || (held.size() > 0 && !isStopped())
  const stopStarting = (): void => {
    state = 'stopped'
    cancelTimer()
  }

  const abort = (done: (unfinished: ReadonlyArray<A>) => void, storeTimeout: number): void => {
    stopStarting()
    writes.stopRetrying()
    const cut = sending.cancelAll()
    const endOf = (entry: Entry<A>): Outcome.Outcome<A> => abandonedOf(entry, cut.has(entry))
    const lost = (): ReadonlyArray<Entry<A>> =>
      [...cut, ...leftOver.splice(0), ...held.drain()].filter(() => !outbox.durable)
    const finish = (mine: ReadonlyArray<Entry<A>>, remaining: ReadonlyArray<Entry<A>>): void => {
      take(remaining)
      const unfinished = [...mine, ...remaining]
      for (const entry of unfinished) end(endOf(entry))
      reports.take(() => {
        state = 'aborted'
        lookTimer?.()
        unwatch?.()
        done(unfinished.map(({ item }) => item))
        changed()
      }, undefined)
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
        accepted(item)
        pollSoon()
        return answer
      })
    },
    /** Adds an item for which the outbox has no room to its dead letters. */
    offerDead: (item: A, failure: Failure): Awaitable<Either<Closed, void>> => {
      if (state !== 'open') return left(closed(item))
      const outcome = Outcome.rejected(item, 0, failure)
      return whenStored(outbox.addDeadLetter?.(item, outcome), () => {
        accepted(item)
        own(report, outcome)
        return right(undefined)
      })
    },
    stopAccepting: (): void => {
      if (state === 'open') state = 'closed'
    },
    stopStarting,
    /**
     * Cancels all deliveries and waits for open store calls, at most `storeTimeout` milliseconds. A durable outbox keeps what is not
     * finished; else `done` gets it.
     */
    abort: (done: (unfinished: ReadonlyArray<A>) => void, storeTimeout = Infinity): void =>
      own(abort, done, storeTimeout),
    isAborted: (): boolean => state === 'aborted',
    /** Whether anything is in flight, or could start before `instant`. With `watch`, anything that waits counts for `Infinity` only. */
    hasWorkBefore: (instant: number): boolean => {
      if (isWorking()) return true
      if (isStopped()) return false
      const isUndated = isShared && instant === Infinity && outbox.stats().waiting > 0
      return isUndated || (nextDue() ?? Infinity) < instant
    },
    /** Deliveries that still run, also after their verdict. */
    running: sending.running,
    changes$: changes.asObservable(),
    /** Moves matching dead letters back into the outbox. Answers how many: 0 after `stopAccepting`. */
    redrive: async (matches: (deadLetter: EndedDeadLetter<A>) => boolean): Promise<number> => {
      if (state !== 'open') return 0
      // Any number of entries may come out before it is answered.
      calls += MANY
      const moved = whenStored(outbox.dead.redrive(matches), (count) => {
        counts.accept(count)
        pollSoon()
        return count
      })
      return Promise.resolve(moved).finally(() => counts.limitEarly((calls -= MANY)))
    },
    /** The outbox ended a record that it could not read, as a dead letter: it counts as rejected. */
    endedCorrupt: (id: string): void => {
      counts.endCorrupt()
      defect('outbox', new Error(`The stored record ${id} cannot be read. It is a dead letter now.`))
      changed()
    },
    report: log,
    totals: () => {
      const counted = counts.totals()
      if (isShared) return { ...counted, waiting: outbox.stats().waiting }
      if (isWorking() || leftOver.length > 0) return counted
      // Records that cannot be read leave the store without an outcome.
      return { ...counted, waiting: Math.min(counted.waiting, outbox.stats().waiting) }
    },
    /** Once nothing is left to do: entries that left the outbox without an outcome. */
    lost: (): number => (isShared ? 0 : counts.waiting()),
    now,
    own,
  }
}
