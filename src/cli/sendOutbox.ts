import { isLeft } from 'fp-ts/lib/Either.js'
import { isPromiseLike } from '../core/awaitable.ts'
import { systemClock } from '../core/clock.ts'
import { payloadCodec } from '../destination/record.ts'
import type { Event } from '../event/event.ts'
import type { Payload } from '../event/payload.ts'
import { lmdbOutbox } from '../outbox/lmdb/lmdbOutbox.ts'
import { memoryOutbox } from '../outbox/memoryOutbox.ts'
import type { Outbox } from '../outbox/outbox.ts'
import type { Carrier, Reading } from './forward.ts'
import { endToText, fromText, toText } from './input.ts'

/** A folder for events that wait. */
export interface KeptIn {
  readonly path: string
  /** The input is read from its first line, whatever an earlier run has taken of it. */
  readonly fromStart: boolean
}

/** Where the events of a run wait. */
export interface Kept extends Pick<Carrier, 'taken' | 'finished' | 'stored'> {
  readonly outbox: Outbox<Payload<Event>>
}

interface Bounds {
  readonly maxCount: number
  readonly maxBytes: number
}

const inMemory = ({ maxCount, maxBytes }: Bounds, { offered }: Reading): Kept => {
  // Dead events are reported and handed over, not kept.
  const outbox = memoryOutbox<Payload<Event>>({ maxCount, maxBytes, keepDead: 0 })
  return {
    outbox: {
      ...outbox,
      enqueue: (items) => {
        for (const item of items) offered(item)
        return outbox.enqueue(items)
      },
    },
    taken: () => undefined,
    finished: () => Promise.resolve(),
    stored: () => undefined,
  }
}

/**
 * Where the events of a run wait: in memory, or in a folder. There each event is stored together with how far the input was taken, in one
 * transaction, so that a run which was killed and is started again goes on behind the last event that is in keeping.
 */
export const kept = (folder: KeptIn | undefined, bounds: Bounds, reading: Reading): Kept => {
  if (folder === undefined) return inMemory(bounds, reading)
  const { path, fromStart } = folder
  const { maxCount, maxBytes } = bounds
  const { input } = reading
  const store = lmdbOutbox<Payload<Event>>({ path, maxCount, maxBytes, codec: payloadCodec })
  /** Lines that found no room; they are offered again before any new one. */
  const missing = new Set<number>()
  const { evictedDeadLetters: forgotten } = store.stats()
  /** How far everything was taken. */
  let mark: string | undefined

  const enqueue: Outbox<Payload<Event>>['enqueue'] = (items) => {
    for (const item of items) reading.offered(item)
    if (input === undefined) return store.enqueue(items)
    const position = reading.position()
    missing.delete(position.line)
    const value = missing.size === 0 ? toText(position) : (mark ?? toText(reading.start()))
    const answer = store.enqueue(items, { bookmark: { name: input, value } })
    if (!isPromiseLike(answer) && answer.some(isLeft)) missing.add(position.line)
    else mark = value
    return answer
  }

  return {
    outbox: { ...store, enqueue },
    taken: () => (input === undefined || fromStart ? undefined : fromText(store.bookmark(input))),
    finished: async (last) => {
      if (input === undefined || last.line === 0) return
      try {
        await store.remember({ name: input, value: endToText(last, systemClock.now()) })
        for (const name of tooMany(store.bookmarks())) await store.forget(name)
      } catch {
        // The mark of the last event is still there: it is right, and only does not say that nothing follows.
      }
    },
    stored: () => {
      const { waiting, bytes, evictedDeadLetters: since } = store.stats()
      const isFull = waiting >= maxCount || bytes >= maxBytes
      return { room: isFull ? 'full' : 'free', unreadable: 0, forgotten: since - forgotten }
    },
  }
}

/** Inputs that were sent to their end are remembered, so many: all bookmarks are in memory, too. */
const MOST_ENDED = 1_000

/** The oldest of the inputs that are remembered and need not be. */
const tooMany = (bookmarks: ReadonlyMap<string, string>): ReadonlyArray<string> =>
  [...bookmarks]
    .map(([name, value]) => ({ name, at: fromText(value)?.ended ?? Infinity }))
    .filter(({ at }) => at < Infinity)
    .sort((one, other) => other.at - one.at)
    .slice(MOST_ENDED)
    .map(({ name }) => name)
