import { isPromiseLike } from '../../core/awaitable.ts'
import type { Awaitable } from '../../core/awaitable.ts'
import type { StoredOutbox } from '../../outbox/lmdb/storedOutbox.ts'
import type { Entry, Outbox } from '../../outbox/oldOutbox.ts'
import type { MessageBatch } from '../Message.ts'
import type { Afloat } from './afloat.ts'
import type { Held } from './heldBatches.ts'
import type { NamesInStore } from './namesInStore.ts'
import type { Writing } from './writing.ts'

type Entries = ReadonlyArray<Entry<MessageBatch>>

/** What handing out works with. */
export interface HandingOutOptions {
  readonly store: Pick<StoredOutbox<MessageBatch>, 'take' | 'parked' | 'nextDue'>
  readonly writer: Pick<Writing, 'afterThis' | 'isDown'>
  readonly floating: Pick<Afloat, 'handOut' | 'take' | 'nextDue'>
  readonly names: Pick<NamesInStore, 'fromStored'>
  /** Closed batches that were never handed out, in their order. */
  readonly fresh: { readonly isAny: () => boolean; readonly next: () => Held | undefined }
}

/** What of an outbox hands out. */
export type HandingOut = Pick<Outbox<MessageBatch>, 'take' | 'nextDue'> &
  Required<Pick<Outbox<MessageBatch>, 'parked'>>

/** One question. */
interface Question {
  readonly now: number
  readonly limit: number
  readonly mostParked: number
  readonly ask: (limit: number, mostParked: number) => Awaitable<Entries>
  /** Whether it asks for new ones too. */
  readonly asksNew: boolean
}

const earlier = (one: number | undefined, other: number | undefined): number | undefined =>
  one === undefined || other === undefined ? (one ?? other) : Math.min(one, other)

/**
 * What waits is handed out when it has been written, which is soon, and no later than with the transaction that brings it. Only while the disk
 * takes nothing is it handed out from memory, behind what is on the disk.
 */
export const handingOut = ({ store, writer, floating, names, fresh }: HandingOutOptions): HandingOut => {
  const newOnes = (limit: number): Entries => {
    const taken: Array<Entry<MessageBatch>> = []
    while (taken.length < limit && writer.isDown()) {
      const next = fresh.next()
      if (next === undefined) break
      taken.push(floating.handOut(next))
    }
    return taken
  }

  const answer = (question: Question): Awaitable<Entries> => {
    const { now, limit, mostParked, ask, asksNew } = question
    const retries = writer.isDown() ? floating.take(now, Math.min(limit, mostParked)) : []
    const withMemory = (stored: Entries): Entries => {
      const old = retries.length === 0 ? stored : [...retries, ...stored]
      const more = asksNew ? newOnes(limit - old.length) : []
      return more.length === 0 ? old : [...old, ...more]
    }
    const answered = (stored: Entries): Awaitable<Entries> => {
      const taken = withMemory(names.fromStored(stored))
      if (taken.length > 0) return taken
      const isAny = (asksNew && fresh.isAny()) || (floating.nextDue() ?? Infinity) <= now
      const next = isAny ? writer.afterThis() : undefined
      return next === undefined ? taken : next.then(() => answer(question))
    }
    // A disk that cannot be read either keeps nobody from what is in memory.
    const failed = (error: unknown): Entries => {
      const taken = withMemory([])
      if (taken.length > 0) return taken
      throw error
    }
    try {
      const stored = ask(limit - retries.length, mostParked - retries.length)
      return isPromiseLike(stored) ? stored.then(answered, failed) : answered(stored)
    } catch (error) {
      return failed(error)
    }
  }

  return {
    take: (now, limit, mostParked) =>
      answer({
        now,
        limit,
        mostParked,
        asksNew: true,
        ask: (most, parked) => store.take(now, most, parked),
      }),
    parked: {
      nextDue: () => earlier(store.parked?.nextDue(), floating.nextDue()),
      take: (now, limit) =>
        answer({
          now,
          limit,
          mostParked: limit,
          asksNew: false,
          ask: (most) => store.parked?.take(now, most) ?? [],
        }),
    },
    nextDue: () => (fresh.isAny() ? 0 : earlier(store.nextDue(), floating.nextDue())),
  }
}
