/**
 * The outbox of a client, and the messages that it has not stored yet.
 *
 * While a store fails, messages wait in memory: they are sent from there, after what is stored, and offered to the store every second.
 *
 * @module
 */
import { isPromiseLike, whenAnswered } from '../core/awaitable.ts'
import type { Awaitable } from '../core/awaitable.ts'
import { scheduleSafely, steady } from '../core/clock.ts'
import type { Cancel, Clock } from '../core/clock.ts'
import { refused } from '../core/failure.ts'
import { heap } from '../core/heap.ts'
import { isRecord } from '../core/json.ts'
import { rejected } from '../core/outcome.ts'
import { inMicrotask } from '../core/ownContext.ts'
import type { OwnContext } from '../core/ownContext.ts'
import { queue } from '../core/queue.ts'
import { heldBytes } from '../event/payload.ts'
import type { Ack, Entry, Outbox } from '../outbox/outbox.ts'
import { storeLimit } from '../outbox/storeLimit.ts'
import { STORE_RETRY_DELAY, nextDueOf, storeWrites } from '../outbox/storeWrites.ts'
import type { ClientCounters } from './counters.ts'
import { isMessage } from './message.ts'
import type { Message } from './message.ts'

export type Entries = ReadonlyArray<Entry<Message>>
export type MessageStore = ReturnType<typeof messageStore>

export const bytesOf = (entries: Entries): number => {
  let bytes = 0
  for (const { item } of entries) bytes += item.byteLength
  return bytes
}

/** Deliveries do not wait for a slow store: up to this many lists of results may be unsaved. A crash sends those messages again. */
const MAX_UNSAVED = 16

/**
 * @param outbox of the host or the folder; undefined: all messages wait in memory
 * @param start what the outbox holds at the start
 * @param notStored counts what is in memory and not stored
 * @param placed a message has its entry, and can be leased from now on
 * @param corrupt the outbox handed out something that is no message
 * @param changed the outbox answered, or messages can be leased
 */
export const messageStore = (
  outbox: Outbox<Message> | undefined,
  own: OwnContext,
  clock: Clock,
  start: { readonly waiting: number; readonly bytes: number },
  { notStored, placed }: Pick<ClientCounters, 'notStored' | 'placed'>,
  corrupt: (entryId: string) => void,
  changed: () => void,
  failed: (error: unknown) => void,
) => {
  /** What can be leased for its first batch. */
  const fresh = { count: start.waiting, bytes: start.bytes }
  /** With an outbox, all messages in memory, numbered by arrival: arriving, being stored, in the queue and the heap, or leased from there. */
  const inMemory = new Map<Message, number>()
  let arrived = 0
  let arriving: Message[] = []
  let storing: ReadonlyArray<Message> = []
  /** What the store did not take. */
  const newInMemory = queue<Entry<Message>>()
  const retriesInMemory = heap<Entry<Message>>()
  /** Leased, and given back because they did not fit into a batch. */
  const givenBack = { fresh: [] as Array<Entry<Message>>, retries: [] as Array<Entry<Message>> }
  const limit = storeLimit()
  const inTime = <T>(answer: Awaitable<T>): Awaitable<T> =>
    isPromiseLike(answer) ? limit.inTime(answer) : answer
  let lastId = 0
  let isStopped = false
  /** Set while the store fails. */
  let pause: Cancel | undefined

  const storedRetry = (): number | undefined => outbox && nextDueOf(outbox, true, steady(clock), failed)

  const newEntry = (item: Message): Entry<Message> => {
    const id = `memory-${String(++lastId)}`
    return { id, item, firstAttemptAt: undefined, progress: undefined }
  }
  const isInMemory = ({ item }: Entry<Message>): boolean => outbox === undefined || inMemory.has(item)
  const isStoring = (): boolean => storing.length > 0 || arriving.length > 0

  const leaveMemory = (message: Message): void => {
    inMemory.delete(message)
    notStored.count--
    notStored.bytes -= heldBytes(message)
  }
  const countFresh = (count: number, bytes: number): void => {
    fresh.count = Math.max(0, fresh.count + count)
    fresh.bytes = fresh.count === 0 ? 0 : fresh.bytes + bytes
  }
  const place = (entryId: string, message: Message): void => {
    placed(entryId, message)
    countFresh(1, message.byteLength)
  }
  const leaveFor = (entryId: string, message: Message): void => {
    place(entryId, message)
    leaveMemory(message)
  }
  const waitInMemory = (message: Message): void => {
    const entry = newEntry(message)
    newInMemory.push(entry)
    place(entry.id, message)
  }

  const offerAgain = (): void => {
    pause = undefined
    const entries = newInMemory.drain()
    countFresh(-entries.length, -bytesOf(entries))
    arriving.unshift(...entries.map(({ item }) => item))
    void storeAll()
  }

  const mayStore = (): boolean => storing.length === 0 && arriving.length > 0 && !isStopped

  /** Stores what arrives, one list after the other. Never rejects. */
  const storeAll = async (): Promise<void> => {
    while (outbox !== undefined && mayStore()) {
      storing = arriving
      arriving = []
      let answers: Awaited<ReturnType<typeof outbox.enqueue>> = []
      try {
        if (pause === undefined) answers = await inTime(outbox.enqueue(storing))
      } catch (error) {
        failed(error)
      }
      if (isStopped) return
      for (const [at, message] of storing.entries()) {
        const answer = answers[at]
        if (answer?._tag === 'Right') {
          // It has left if the store handed it out before it answered.
          if (inMemory.has(message)) leaveFor(answer.right.id, message)
        } else {
          waitInMemory(message)
          pause ??= scheduleSafely(clock, STORE_RETRY_DELAY, offerAgain, failed)
        }
      }
      storing = []
      changed()
    }
  }

  const storeSoon = inMicrotask(own, () => void storeAll())

  const writes = storeWrites<{ readonly run: () => Awaitable<void>; readonly saved: () => void }>(
    clock,
    ({ run }) => run(),
    ({ saved }) => {
      saved()
      changed()
    },
    failed,
    // A durable outbox hands the entries out again after a restart. For another one this is the last report.
    ({ saved }) => (outbox?.durable === true ? changed() : saved()),
    limit,
  )

  /** An outbox of the host may hand out anything: what is no message ends as rejected. Throws if there is no entry in it. */
  const messagesIn = (leased: Entries): Entries => {
    const stored = leased.filter(isRecord)
    if (stored.length < leased.length) {
      const error = new TypeError('the outbox handed out something that is no entry')
      if (stored.length === 0) throw error
      failed(error)
    }
    const wrong = stored.filter(({ item }) => !isMessage(item))
    if (outbox === undefined || wrong.length === 0) return stored
    const failure = refused('rejected', { detail: 'it is not a message' })
    const acks = wrong.map((entry) => ({ entry, outcome: rejected(entry.item, 0, failure) }))
    const saved = (): void => wrong.forEach(({ id }) => corrupt(id))
    writes.save({ run: () => outbox.ack(acks), saved })
    return stored.filter(({ item }) => isMessage(item))
  }

  return {
    fresh,
    /** Stores a message: at once in memory, else together with the others of this turn. */
    add: (message: Message): void => {
      notStored.count++
      notStored.bytes += heldBytes(message)
      if (outbox === undefined) {
        waitInMemory(message)
        return
      }
      inMemory.set(message, ++arrived)
      if (arriving.push(message) === 1) storeSoon()
    },
    /**
     * Leases retries that are due, or messages for their first batch: given back ones, stored ones, then those in memory, the newest. `use`
     * is given nothing if the store failed.
     */
    lease: (now: number, count: number, retriesOnly: boolean, use: (entries?: Entries) => void): void => {
      const before = { ...fresh }
      const first = retriesOnly ? givenBack.retries : givenBack.fresh
      const room = Math.max(0, count - first.length)
      const take = (found: Entries, handedOut = found.length): void => {
        for (const { id, item } of found) {
          if (!inMemory.has(item)) continue
          leaveFor(id, item)
          before.count++
          before.bytes += item.byteLength
        }
        const all = [...first.splice(0, count), ...found]
        while (all.length < count) {
          const isDue = retriesOnly && (retriesInMemory.peekKey() ?? Infinity) <= now
          const entry = isDue ? retriesInMemory.pop() : retriesOnly ? undefined : newInMemory.shift()
          if (entry === undefined) break
          all.push(entry)
        }
        // Fewer than asked for: nothing else is there. Records that cannot be read were counted, and are never leased.
        if (!retriesOnly && all.length - found.length + handedOut < count)
          countFresh(-before.count, -before.bytes)
        else if (!retriesOnly) countFresh(-count, -bytesOf(all))
        use(all)
      }
      if (outbox === undefined) take([])
      else
        whenAnswered(
          () => {
            const leased = inTime(
              outbox.lease(now, { count: room, retries: retriesOnly ? room : 0, retriesOnly }),
            )
            const read = (all: Entries) => [messagesIn(all), all.length] as const
            return isPromiseLike(leased) ? leased.then(read) : read(leased)
          },
          (leased) => take(...leased),
          (error) => {
            failed(error)
            use()
          },
        )
    },
    giveBack: (entries: Entries, isRetry: boolean): void => {
      givenBack[isRetry ? 'retries' : 'fresh'].unshift(...entries)
      if (!isRetry) countFresh(entries.length, bytesOf(entries))
    },
    /** When a lease of retries next has an entry; `Infinity` for never. */
    nextRetry: (): number =>
      givenBack.retries.length > 0
        ? -Infinity
        : Math.min(storedRetry() ?? Infinity, retriesInMemory.peekKey() ?? Infinity),
    /** Puts entries back until `due`. Repeats the write until the store has it. */
    nack: (entries: Entries, due: number, saved: () => void): void => {
      for (const entry of entries) if (isInMemory(entry)) retriesInMemory.push(due, entry)
      const stored = entries.flatMap((entry) => (isInMemory(entry) ? [] : { entry, due }))
      if (outbox === undefined || stored.length === 0) saved()
      else writes.save({ run: () => outbox.nack(stored), saved })
    },
    /** Ends entries. Repeats the write until the store has it. */
    ack: (list: ReadonlyArray<Ack<Message>>, saved: (list: ReadonlyArray<Ack<Message>>) => void): void => {
      const stored = list.filter(({ entry }) => !isInMemory(entry))
      const finish = (): void => {
        for (const { entry } of list) if (isInMemory(entry)) leaveMemory(entry.item)
        saved(list)
      }
      if (outbox === undefined || stored.length === 0) finish()
      else writes.save({ run: () => outbox.ack(stored), saved: finish })
    },
    /** Whether messages are on their way into the outbox. */
    isStoring,
    /** Whether a write is not answered yet. */
    isBusy: (): boolean => writes.unsaved() > 0 || isStoring(),
    /** Whether the store is too far behind to be asked for more. */
    isBehind: (): boolean => writes.unsaved() > MAX_UNSAVED,
    /** A check whether everything that is in memory now is stored, or has ended. */
    persisted: (): (() => boolean) => {
      const last = arrived
      return () => {
        // The oldest is the first. Not a copy of all: thousands of calls may wait.
        const [oldest = Infinity] = inMemory.values()
        return oldest > last
      }
    },
    /** Stops all writes. Answers what is in memory only; of an outbox that is not durable also what was leased and has not ended. */
    stop: (inFlight: Entries): Entries => {
      isStopped = true
      pause?.()
      writes.stopRetrying()
      limit.giveUp(new Error('it was closed before the store answered'))
      const open = [...inFlight, ...givenBack.retries, ...givenBack.fresh]
      return [
        ...(outbox?.durable === true ? open.filter(isInMemory) : open),
        ...retriesInMemory.drain(),
        ...newInMemory.drain(),
        ...[...storing, ...arriving].map(newEntry),
      ]
    },
  }
}
