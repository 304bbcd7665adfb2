/**
 * The outbox of a client, and the messages that it has not stored yet.
 *
 * While a store fails, messages wait in memory: they are sent from there, after what is stored, and offered to the store every second.
 *
 * @module
 */
import { isRight } from 'fp-ts/lib/Either.js'
import { isPromiseLike, whenAnswered } from '../core/awaitable.ts'
import type { Awaitable } from '../core/awaitable.ts'
import type { Cancel, Clock } from '../core/clock.ts'
import { heap } from '../core/heap.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Entry, LeaseLimits, Outbox } from '../outbox/outbox.ts'
import { STORE_RETRY_DELAY, storeWrites } from '../outbox/storeWrites.ts'
import type { Segment } from './flush.ts'
import type { Message } from './message.ts'

/** A message that ended. */
export interface Ended {
  readonly entry: Entry<Message>
  readonly outcome: Outcome<Message>
}

/** What the store reports. */
export interface StoreEvents {
  /** A message has its entry, and can be leased from now on. */
  readonly placed: (entryId: string, segment: Segment | undefined) => void
  /** More messages can be leased. */
  readonly added: (count: number, bytes: number) => void
  /** The outbox stored messages, has room again, or was changed by other processes. */
  readonly changed: () => void
  readonly failed: (error: unknown) => void
}

export interface MessageStore {
  /** Stores a message: at once in memory, else together with the others of this turn. */
  readonly add: (message: Message, segment: Segment | undefined) => void
  readonly lease: (now: number, limits: LeaseLimits) => Awaitable<ReadonlyArray<Entry<Message>>>
  /** Puts entries back until `due`. Repeats the write until the store has it. */
  readonly nack: (entries: ReadonlyArray<Entry<Message>>, due: number, saved: () => void) => void
  /** Ends entries. Repeats the write until the store has it. */
  readonly ack: (list: ReadonlyArray<Ended>, saved: (list: ReadonlyArray<Ended>) => void) => void
  readonly nextDue: (retriesOnly?: boolean) => number | undefined
  /** Whether a write is not answered yet. */
  readonly isBusy: () => boolean
  /** What is in memory and not stored. */
  readonly notStored: () => { readonly count: number; readonly bytes: number }
  /** Resolves with true when everything added so far is stored or has ended; with false at the close. */
  readonly persisted: () => Promise<boolean>
  /**
   * Stops all writes. Answers what the outbox does not keep: of a durable one what is in memory, of another one also the entries that were
   * leased and have not ended.
   */
  readonly stop: (leased: ReadonlyArray<Entry<Message>>) => ReadonlyArray<Entry<Message>>
}

interface Unstored {
  readonly message: Message
  readonly segment: Segment | undefined
  /** Whether `added` was called for it, because the store fails. */
  isAdded: boolean
}

/** A result on its way into the outbox. */
interface Write {
  readonly run: () => Awaitable<void>
  readonly saved: () => void
}

interface PersistedCall {
  readonly missing: Set<Message>
  readonly resolve: (isPersisted: boolean) => void
}

/** Deliveries do not wait for a slow store: up to this many lists of results may be unsaved. A crash sends those messages again. */
const MAX_UNSAVED = 16

const bytesOf = (list: ReadonlyArray<Unstored>): number =>
  list.reduce((sum, { message }) => sum + message.byteLength, 0)

const newEntry = (id: string, item: Message): Entry<Message> => ({
  id,
  item,
  firstAttemptAt: undefined,
  progress: undefined,
})

const messageOf = ({ outcome }: Ended): Message => outcome.item

/** @param isOwn whether the outbox is the memory outbox of the client, which answers at once and is never full */
export const messageStore = (
  outbox: Outbox<Message>,
  isOwn: boolean,
  clock: Clock,
  { placed, added, changed, failed }: StoreEvents,
): MessageStore => {
  let unstored: Unstored[] = []
  /** The list that the outbox is storing now. */
  let storing: ReadonlyArray<Unstored> = []
  /** Messages that were leased from memory, by entry id, and their retries. */
  const fromMemory = new Map<string, Message>()
  const memoryRetries = heap<Entry<Message>>()
  let persistedCalls: PersistedCall[] = []
  let count = 0
  let bytes = 0
  let leasedFromMemory = 0
  let isScheduled = false
  let isFailing = false
  let isStopped = false
  let pause: Cancel | undefined

  /** Messages are stored, or ended in memory. */
  const leaveMemory = (messages: ReadonlyArray<Message>): void => {
    for (const message of messages) {
      count--
      bytes -= message.byteLength
      for (const { missing } of persistedCalls) missing.delete(message)
    }
    persistedCalls = persistedCalls.filter(({ missing, resolve }) => {
      if (missing.size === 0) resolve(true)
      return missing.size > 0
    })
  }

  const storeAgainLater = (): void => {
    pause ??= clock.schedule(STORE_RETRY_DELAY, storeAgain)
  }
  const storeAgain = (): void => {
    pause?.()
    pause = undefined
    storeAll()
  }

  const announce = (): void => {
    const news = unstored.filter(({ isAdded }) => !isAdded)
    for (const each of news) each.isAdded = true
    if (news.length > 0) added(news.length, bytesOf(news))
  }

  const storeAll = (): void => {
    isScheduled = false
    if (isFailing) announce()
    if (storing.length > 0 || pause !== undefined || isStopped || unstored.length === 0) return
    const list = unstored
    storing = list
    unstored = []
    whenAnswered(
      () => outbox.enqueue(list.map(({ message }) => message)),
      (answers) => {
        storing = []
        if (isStopped) return
        isFailing = false
        const refused: Unstored[] = []
        const news: Unstored[] = []
        list.forEach((each, at) => {
          const answer = answers[at]
          if (answer === undefined || !isRight(answer)) {
            refused.push(each)
            return
          }
          placed(answer.right.id, each.segment)
          if (!each.isAdded) news.push(each)
        })
        leaveMemory(list.filter((each) => !refused.includes(each)).map(({ message }) => message))
        unstored = [...refused, ...unstored]
        added(news.length, bytesOf(news))
        if (refused.length > 0) storeAgainLater()
        else storeAll()
        changed()
      },
      (error) => {
        storing = []
        if (isStopped) return
        isFailing = true
        unstored = [...list, ...unstored]
        failed(error)
        announce()
        storeAgainLater()
        changed()
      },
    )
  }

  /** What the store is asked to take is older, and may still be stored. */
  const maySendUnstored = (): boolean => isFailing && storing.length === 0

  const leaseFromMemory = (now: number, limits: LeaseLimits, room: number): ReadonlyArray<Entry<Message>> => {
    const leased: Array<Entry<Message>> = []
    while (leased.length < room && (memoryRetries.peekKey() ?? Infinity) <= now) {
      const entry = memoryRetries.pop()
      if (entry !== undefined) leased.push(entry)
    }
    if (leased.length > 0 || limits.retriesOnly === true || !maySendUnstored()) return leased
    for (const { message, segment } of unstored.splice(0, room)) {
      const id = `memory-${String(++leasedFromMemory)}`
      fromMemory.set(id, message)
      placed(id, segment)
      leased.push(newEntry(id, message))
    }
    return leased
  }

  const writes = storeWrites<Write>(
    clock,
    ({ run }) => run(),
    ({ saved }) => {
      saved()
      if (unstored.length > 0 && !isFailing) storeAgain()
      changed()
    },
    failed,
    // A durable outbox hands the entries out again after a restart. For another one this is the last report.
    ({ saved }) => (outbox.durable ? changed() : saved()),
  )

  const outboxDue = (retriesOnly?: boolean): number =>
    (writes.unsaved() <= MAX_UNSAVED ? outbox.nextDue(retriesOnly) : undefined) ?? Infinity

  return {
    add: (message, segment) => {
      if (isOwn) {
        const answers = outbox.enqueue([message])
        const [answer] = isPromiseLike(answers) ? [] : answers
        if (answer === undefined || !isRight(answer)) return
        placed(answer.right.id, segment)
        added(1, message.byteLength)
        return
      }
      count++
      bytes += message.byteLength
      unstored.push({ message, segment, isAdded: false })
      if (isScheduled) return
      isScheduled = true
      queueMicrotask(storeAll)
    },
    lease: (now, limits) => {
      const hasRetries = (memoryRetries.peekKey() ?? Infinity) <= now
      const entries =
        writes.unsaved() > MAX_UNSAVED
          ? []
          : outbox.lease(now, hasRetries ? { ...limits, retriesOnly: true } : limits)
      if (!hasRetries && !isFailing) return entries
      const withMemory = (stored: ReadonlyArray<Entry<Message>>): ReadonlyArray<Entry<Message>> => [
        ...stored,
        ...leaseFromMemory(now, limits, limits.count - stored.length),
      ]
      return isPromiseLike(entries) ? entries.then(withMemory) : withMemory(entries)
    },
    nack: (entries, due, saved) => {
      const stored = entries.filter(({ id }) => !fromMemory.has(id))
      for (const entry of entries) if (fromMemory.has(entry.id)) memoryRetries.push(due, entry)
      if (stored.length === 0) saved()
      else writes.save({ run: () => outbox.nack(stored.map((entry) => ({ entry, due }))), saved })
    },
    ack: (list, saved) => {
      const stored = fromMemory.size === 0 ? list : list.filter(({ entry }) => !fromMemory.delete(entry.id))
      const finish = (): void => {
        if (stored !== list) leaveMemory(list.filter((each) => !stored.includes(each)).map(messageOf))
        saved(list)
      }
      if (stored.length === 0) finish()
      else writes.save({ run: () => outbox.ack(stored), saved: finish })
    },
    nextDue: (retriesOnly) => {
      const retry = memoryRetries.peekKey() ?? Infinity
      const fresh = maySendUnstored() && retriesOnly !== true && unstored.length > 0 ? 0 : Infinity
      const due = Math.min(outboxDue(retriesOnly), retry, fresh)
      return due === Infinity ? undefined : due
    },
    isBusy: () => writes.unsaved() > 0 || storing.length > 0 || isScheduled,
    notStored: () => ({ count, bytes }),
    persisted: () => {
      if (isOwn || !outbox.durable || isStopped) return Promise.resolve(false)
      const missing = new Set([
        ...[...storing, ...unstored].map(({ message }) => message),
        ...fromMemory.values(),
      ])
      if (missing.size === 0) return Promise.resolve(true)
      return new Promise((resolve) => {
        persistedCalls.push({ missing, resolve })
      })
    },
    stop: (leased) => {
      isStopped = true
      pause?.()
      writes.stopRetrying()
      for (const { resolve } of persistedCalls) resolve(false)
      persistedCalls = []
      const inMemory = [...storing, ...unstored].map(({ message }, at) =>
        newEntry(`unstored-${String(at)}`, message),
      )
      storing = []
      unstored = []
      const kept = outbox.durable ? leased.filter(({ id }) => fromMemory.has(id)) : leased
      return [...kept, ...memoryRetries.drain(), ...inMemory]
    },
  }
}
