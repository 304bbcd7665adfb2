import { left, right } from 'fp-ts/lib/Either.js'
import { full } from '../core/refusal.ts'
import { waitingLine } from './memoryOutbox.ts'
import type { Entry, Outbox } from './outbox.ts'

/** An outbox for work that somebody waits for, and may stop waiting for. */
export interface JobOutbox<A> extends Outbox<A> {
  /** Takes out what waits and matches, and no longer counts it. */
  readonly withdraw: (matches: (item: A) => boolean) => ReadonlyArray<Entry<A>>
}

const done: Promise<void> = Promise.resolve()

/** An outbox in memory for up to `maxCount` jobs. It keeps no dead letters: who asked for the job was told how it ended. */
export const jobOutbox = <A>(maxCount: number): JobOutbox<A> => {
  const line = waitingLine<A>()
  let waiting = 0
  let appended = 0
  const leaving = (entries: ReadonlyArray<Entry<A>>): ReadonlyArray<Entry<A>> => {
    waiting -= entries.length
    return entries
  }
  return {
    durable: false,
    append: (item) => {
      if (waiting >= maxCount) return left(full(item, 'count', maxCount))
      const entry: Entry<A> = { id: String(++appended), item, firstAttemptAt: undefined, progress: undefined }
      waiting++
      line.enter(entry)
      return right(entry)
    },
    take: line.take,
    park: line.park,
    end: () => {
      waiting--
    },
    nextDue: line.nextDue,
    withdraw: (matches) => leaving(line.withdraw(({ item }) => matches(item))),
    abandon: () => leaving(line.drain()),
    dead: { list: () => [], redrive: () => 0, purge: () => 0 },
    stats: () => ({ waiting, bytes: 0, dead: 0, maxCount, maxBytes: Infinity }),
    close: () => done,
  }
}
