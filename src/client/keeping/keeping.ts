import { right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../clock/Clock.ts'
import { newId } from '../../event/newId.ts'
import { isPromiseLike } from '../../internal/Awaitable.ts'
import { ring } from '../../internal/Ring.ts'
import type { Change } from '../../outbox/lmdb/entering/Drafts.ts'
import type { StoredOutbox } from '../../outbox/lmdb/storedOutbox.ts'
import type { Entry, Outbox } from '../../sink/Outbox.ts'
import type { Message, MessageBatch } from '../Message.ts'
import { batchOf } from './BatchRecord.ts'
import { openParts } from './openParts.ts'
import { restored } from './restored.ts'
import type { Closed } from './restored.ts'
import { writing } from './writing.ts'

/** What keeping works with. */
export interface KeepingOptions {
  readonly store: StoredOutbox<MessageBatch>
  readonly clock: Clock
  /** Calls `look` with the messages of each open batch, and its lane. */
  readonly eachOpen: (look: (lane: number, messages: ReadonlyArray<Message>) => void) => void
  /** Closed batches are on the disk now, and no longer in memory. */
  readonly kept: (batches: ReadonlyArray<MessageBatch>) => void
  /** Is told why nothing could be written; it is tried again. */
  readonly defect: (error: unknown) => void
}

/** The messages of a client on a disk: those of closed batches, and those whose batch is still open. */
export interface Keeping {
  /** Where closed batches wait. It takes each that was told of by `closed` at once. */
  readonly outbox: Outbox<MessageBatch>
  /** Something was accepted, and is to be written. */
  readonly accepted: () => void
  /** The batch of a lane was closed. */
  readonly closed: (batch: MessageBatch, lane: number) => void
  /** Resolves when all that was accepted before is on the disk: true; or false when it never will be. */
  readonly whenKept: () => Promise<boolean>
  /** Whether a closed batch is in memory. */
  readonly isAnyLeaving: () => boolean
  /** Accepted messages that a crash would take: they are in memory and not yet on the disk. */
  readonly unkept: () => number
  /** Closed batches of an earlier life that are not written as such yet; their messages are on the disk. */
  readonly restored: ReadonlyArray<MessageBatch>
  /**
   * Writes nothing more, and answers the batches that are not on the disk, without those of their messages that are. To be called when the
   * outbox was closed: then no transaction is under way.
   */
  readonly giveUp: () => ReadonlyArray<MessageBatch>
}

/** At most so many batches in one transaction: the event loop stands still while they are written. */
const MOST_AT_ONCE = 256

/**
 * Keeps what a client accepts. A message is written within the transaction after its call, as a part of its open batch; a batch that closes takes
 * the place of its parts in one transaction. A batch that closes before the next transaction is written at once, without parts. So there is
 * one writer, all is written in the order of its acceptance, and a disk that fails is asked again, with everything, every second.
 */
export const keeping = ({ store, clock, eachOpen, kept, defect }: KeepingOptions): Keeping => {
  const { left, newest } = store.drafts
  const { closed: earlier, unreadable } = restored(left, newId)
  store.drafts.putAside(unreadable)
  const open = openParts(
    newest,
    earlier.flatMap(({ parts }) => parts),
  )
  const closed = ring<Closed>()
  /** In the transaction under way, or in the one that failed. */
  let inHand: Closed[] = []
  /** Messages of closed batches that are in memory. */
  let inMemory = 0

  const isAnyClosed = (): boolean => inHand.length + closed.size() > 0

  const change = (): Change<MessageBatch> => {
    open.begin()
    for (let next = closed.peek(); next !== undefined && inHand.length < MOST_AT_ONCE; next = closed.peek()) {
      inHand.push(next)
      closed.shift()
    }
    const isAll = closed.size() === 0
    // What came later stays behind what came before.
    if (isAll) {
      eachOpen(open.write)
      writer.takesAll()
    }
    return {
      items: inHand.map(({ batch }) => batch),
      drafts: open.begun(),
      struck: inHand.flatMap(({ parts }) => parts),
    }
  }

  const forget = (some: ReadonlyArray<Closed>): ReadonlyArray<MessageBatch> =>
    some.map(({ batch, parts }) => {
      inMemory -= batch.members.length
      open.forget(parts)
      return batch
    })

  const writer = writing({
    clock,
    defect,
    write: () => store.drafts.write(change),
    written: () => {
      const batches = forget(inHand)
      inHand = []
      open.done()
      kept(batches)
    },
  })

  const enter = (each: Closed): void => {
    inMemory += each.batch.members.length
    closed.push(each)
    writer.more()
  }
  for (const each of earlier) enter(each)

  const { nextDue, close } = store

  /** What is closed is handed out when it has been written, which is soon, and no later than with the transaction that brings it. */
  const take: Outbox<MessageBatch>['take'] = (now, limit, mostParked) => {
    const orLater = (entries: ReadonlyArray<Entry<MessageBatch>>): ReturnType<typeof take> => {
      const next = entries.length === 0 && isAnyClosed() ? writer.afterThis() : undefined
      return next === undefined ? entries : next.then(() => take(now, limit, mostParked))
    }
    const taken = store.take(now, limit, mostParked)
    return isPromiseLike(taken) ? taken.then(orLater) : orLater(taken)
  }

  /** What of a batch is not on the disk: its first messages may be there, in parts. */
  const unwritten = ({ batch, parts }: Closed): ReadonlyArray<MessageBatch> => {
    const count = parts.reduce((sum, part) => (part.isKept ? sum + part.count : sum), 0)
    const members = batch.members.slice(count)
    return members.length === 0 ? [] : [batchOf(batch.id, batch.closedBy, members)]
  }

  return {
    outbox: {
      ...store,
      // It was told of when it was closed.
      append: (batch) => right({ id: batch.id, item: batch, since: undefined, progress: undefined }),
      take,
      nextDue: () => (isAnyClosed() ? 0 : nextDue()),
      close: async () => {
        writer.stop()
        await close()
        await writer.afterThis()
      },
    },
    accepted: writer.more,
    closed: (batch, lane) => {
      enter({ batch, parts: open.close(lane) })
    },
    isAnyLeaving: isAnyClosed,
    whenKept: writer.whenWritten,
    unkept: () => {
      let count = inMemory - open.kept()
      eachOpen((_, messages) => {
        count += messages.length
      })
      return count
    },
    restored: earlier.map(({ batch }) => batch),
    giveUp: () => {
      writer.stop()
      const left = [...inHand.splice(0), ...closed.drain()]
      const back = left.flatMap(unwritten)
      forget(left)
      return back
    },
  }
}
