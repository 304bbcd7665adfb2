/** Leased entries without a delivery, and the number of entries that the store may have. @module */
import { isPromiseLike, type Awaitable } from '../core/awaitable.ts'
import { isRight, left } from '../core/either.ts'
import { isFinal, partsOf, show, type Verdict } from '../core/failure.ts'
import { isRecord } from '../core/json.ts'
import { queue } from '../core/queue.ts'
import type { Ledger, LedgerOptions } from './ledger.ts'
import type { Entry, LeaseLimits, Outbox } from './outbox.ts'
import { STORE_RETRY_DELAY } from './storeLimit.ts'
import { NOTHING, type Line, type Moment, type Shape } from './take.ts'

const NONE: ReadonlyArray<never> = []

/** Only the store knows. */
export const UNKNOWN: Line = { count: Infinity, bytes: Infinity }

/** What each sink of a combination answered for good. */
const endsIn = (verdict: Verdict): string => {
  if (isRight(verdict)) return '+'
  const { left: failure } = verdict
  return isFinal(verdict) ? show(failure) : `(${partsOf(failure).map(endsIn).join()})`
}
const pastOf = ({ progress }: Entry<unknown>) => (progress ? endsIn(left(progress.lastFailure)) : '')

/** Leased entries in no delivery, in the order in which they came. */
export class Held<A> implements Line {
  count = 0
  bytes = 0
  private readonly entries = queue<Entry<A>>()
  private readonly sizeOf: (item: A) => number

  constructor(sizeOf: (item: A) => number) {
    this.sizeOf = sizeOf
  }

  push(entry: Entry<A>): void {
    this.bytes += this.sizeOf(entry.item)
    this.count++
    this.entries.push(entry)
  }

  /** Removes the oldest, unless it is larger than `maxBytes`. */
  shift(maxBytes = Infinity): Entry<A> | undefined {
    const oldest = this.entries.peek()
    if (oldest === undefined) return undefined
    const size = this.sizeOf(oldest.item)
    if (size > maxBytes) return undefined
    this.bytes -= size
    this.count--
    return this.entries.shift()
  }

  /** Removes the entries of the next delivery: the oldest that fit, at least one, but none that ended. */
  next(count: number, bytes: number, hasEnded: (entry: Entry<A>) => boolean): ReadonlyArray<Entry<A>> {
    let first = this.shift()
    while (first !== undefined && hasEnded(first)) first = this.shift()
    if (first === undefined) return NONE
    // Not an empty list: the first push would make room for 16 entries.
    const entries = [first]
    const past = count > 1 ? pastOf(first) : ''
    let room = bytes - this.sizeOf(first.item)
    while (entries.length < count) {
      const again = this.entries.peek()
      // A combination asks the same sinks for all items of a list.
      if (again !== undefined && pastOf(again) !== past) break
      const entry = this.shift(room)
      if (entry === undefined) break
      if (hasEnded(entry)) continue
      entries.push(entry)
      room -= this.sizeOf(entry.item)
    }
    return entries
  }

  drain(): ReadonlyArray<Entry<A>> {
    this.count = this.bytes = 0
    return this.entries.drain()
  }
}

export interface LeaseOptions<A, D> extends Pick<LedgerOptions<A>, 'isItem'> {
  readonly outbox: Outbox<A>
  readonly shape: Shape<A, D>
  /** Whether there may be no room for one more item. Default: there is room. */
  readonly isFull?: () => boolean
}

export const leases = <A, D>(
  options: LeaseOptions<A, D>,
  book: Ledger<A>,
  askFailed: (error: unknown) => void,
) => {
  const { outbox, shape, isItem, isFull = () => false } = options
  const { sizeOf, isBatch } = shape
  const isShared = outbox.watch !== undefined
  const dueIn = (retriesOnly: boolean) => (): number => {
    try {
      return outbox.nextDue(retriesOnly) ?? Infinity
    } catch (error) {
      askFailed(error)
      return book.now() + STORE_RETRY_DELAY
    }
  }
  const start = book.now()
  /** One record for all steps: a new one for each costs more than the take. */
  const at = {
    now: start,
    retries: new Held(sizeOf),
    fresh: new Held(sizeOf),
    unleased: isShared || outbox.stats().waiting > 0 ? UNKNOWN : NOTHING,
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
    orderedUntil: isShared ? -Infinity : Infinity,
    flushing: undefined as Moment['flushing'],
    nextDue: dueIn(false),
    nextRetry: dueIn(true),
    isFull,
  }
  let asked: LeaseLimits = { count: 0, retries: 0 }

  const leaseOne = (retriesOnly: boolean): Entry<A> | undefined => {
    const limits = { count: 1, retries: retriesOnly ? 1 : 0, retriesOnly }
    const answer = outbox.lease(Number.MAX_SAFE_INTEGER, limits)
    if (isPromiseLike(answer)) return undefined
    book.leased(answer)
    return answer[0]
  }

  return {
    at,
    /** Asks the store. The answer is for `hold`. */
    lease: (limits: LeaseLimits): Awaitable<ReadonlyArray<Entry<A>>> => {
      asked = limits
      if (limits.retriesOnly === true) at.mayLeaseRetries = false
      else {
        at.mayLease = false
        at.unleased = NOTHING
      }
      return outbox.lease(at.now, limits)
    },
    /** Holds entries until their delivery. Answers those of other items, which are not held. */
    hold: (entries: ReadonlyArray<Entry<A>>): ReadonlyArray<Entry<A>> => {
      const found = entries.every(isRecord) ? entries : entries.filter(isRecord)
      if (found !== entries) book.storeFailed(new TypeError('the outbox leased a value that is no entry'))
      const isRetries = asked.retriesOnly === true
      book.leased(found)
      let strangers: ReadonlyArray<Entry<A>> = NONE
      const before = at.retries.count
      for (const entry of found) {
        if (isItem?.(entry.item) === false) strangers = [...strangers, entry]
        else if (entry.progress === undefined && !isRetries) at.fresh.push(entry)
        else at.retries.push(entry)
      }
      // A store may lease some of the due entries. After all retries asked for, only retries may be left.
      const isPart = found.length > 0 && (isBatch || at.retries.count - before < asked.retries)
      if (isRetries) at.mayLeaseRetries ||= isPart
      else {
        at.mayLease ||= isPart
        if (isBatch && isPart && at.nextDue() <= at.now) at.unleased = UNKNOWN
      }
      return strangers
    },
    /** There is an item more to lease. */
    added: (item: A): void => {
      const { count, bytes } = at.unleased
      if (at.fresh.count === 0 && count === 0) at.freshSince = book.now()
      at.unleased = { count: count + 1, bytes: bytes + sizeOf(item) }
    },
    /** Takes out the oldest entry that is in no delivery: retries first. The store must answer at once. */
    takeOldest: () => at.retries.shift() ?? leaseOne(true) ?? at.fresh.shift() ?? leaseOne(false),
    /** Takes out the new entries that are in no delivery and of which `isMeant` says so. */
    recall: (isMeant: (entry: Entry<A>) => boolean): ReadonlyArray<Entry<A>> => {
      const recalled: Array<Entry<A>> = []
      for (const entry of at.fresh.drain())
        if (isMeant(entry)) recalled.push(entry)
        else at.fresh.push(entry)
      book.left(recalled.length)
      return recalled
    },
    drain: (): ReadonlyArray<Entry<A>> => [...at.retries.drain(), ...at.fresh.drain()],
  }
}
