import { right } from 'fp-ts/lib/Either.js'
import type { Clock } from '../../core/clock.ts'
import { newId } from '../../event/payload.ts'
import { queue } from '../../core/queue.ts'
import type { Change } from '../../outbox/lmdb/entering/Drafts.ts'
import type { StoredOutbox } from '../../outbox/lmdb/storedOutbox.ts'
import type { Outbox } from '../../outbox/oldOutbox.ts'
import type { Message, MessageBatch } from '../Message.ts'
import { afloat } from './afloat.ts'
import { assurances } from './assurances.ts'
import { batchOf } from './BatchRecord.ts'
import { concluding } from './concluding.ts'
import { handingOut } from './handingOut.ts'
import { heldBatches } from './heldBatches.ts'
import type { Held } from './heldBatches.ts'
import { namesInStore } from './namesInStore.ts'
import { openParts } from './openParts.ts'
import { owing } from './owing.ts'
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
  /** A closed batch has ended that was never on the disk, and is no longer in memory. */
  readonly ended: (batch: MessageBatch) => void
  /** The disk did not take what is closed: it may be handed out from memory now. */
  readonly leaving: () => void
  /** Is told why nothing could be written; it is tried again. And of dead letters that will never be written. */
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
  /** Resolves with true when all that was accepted before is on the disk or has ended, and with false when it never will be. */
  readonly whenKept: () => Promise<boolean>
  /** Whether a closed batch is in memory. */
  readonly isAnyLeaving: () => boolean
  /** Accepted messages that a crash would take: they are in memory and not yet on the disk. */
  readonly notPersisted: () => number
  /** Closed batches of an earlier life that are not written as such yet; their messages are on the disk. */
  readonly restored: ReadonlyArray<MessageBatch>
  /**
   * Writes nothing more, and answers the batches that are not on the disk and have not ended, without those of their messages that are there. To
   * be called when the outbox was closed: then no transaction is under way.
   */
  readonly giveUp: () => ReadonlyArray<MessageBatch>
}

/** At most so many batches in one transaction: the event loop stands still while they are written. */
const MOST_AT_ONCE = 256

/**
 * Keeps what a client accepts. A message is written within the transaction after its call, as a part of its open batch; a batch that closes takes
 * the place of its parts in one transaction. A batch that closes before the next transaction is written at once, without parts. So there is
 * one writer, all is written in the order of its acceptance, and a disk that fails is asked again, with everything, every second. Meanwhile
 * what is closed is handed out from memory, and what of it has not ended by then comes to the disk when that is well again.
 */
export const keeping = (options: KeepingOptions): Keeping => {
  const { store, clock, eachOpen, kept, defect } = options
  const { left, newest } = store.drafts
  const { closed: earlier, unreadable } = restored(left, newId)
  store.drafts.putAside(unreadable)
  const open = openParts(
    newest,
    earlier.flatMap(({ parts }) => parts),
  )
  const held = heldBatches()
  /** Of them, those that were never handed out. */
  const closed = queue<Held>()
  /** And were in the transaction under way, or in the one that failed. */
  let inHand: Held[] = []
  /** How they end is known, and is being noted. */
  const ending = new Set<Held>()
  const names = namesInStore()
  const floating = afloat(names.set)

  const fresh = {
    isAny: () => inHand.length + closed.size() > 0,
    next: () => inHand.shift() ?? closed.shift(),
  }

  const isAnyNew = (): boolean => {
    let isNew = fresh.isAny() || floating.size() > 0
    eachOpen((lane, messages) => {
      isNew ||= open.isBehind(lane, messages.length)
    })
    return isNew
  }

  const takesAll = (): void => {
    waiters.taking()
    writer.takesAll()
  }

  const change = (): Change<MessageBatch> => {
    open.begin()
    for (let next = closed.peek(); next !== undefined && inHand.length < MOST_AT_ONCE; next = closed.peek()) {
      inHand.push(next)
      closed.shift()
    }
    const worked = floating.board(MOST_AT_ONCE)
    const isAll = closed.size() === 0 && worked.length === floating.size()
    // What came later stays behind what came before.
    if (isAll) {
      eachOpen(open.write)
      takesAll()
    }
    return {
      items: inHand.map(({ batch }) => batch),
      worked,
      drafts: open.begun(),
      struck: [...floating.boarding(), ...inHand].flatMap(({ parts }) => parts),
    }
  }

  const forget = (some: ReadonlyArray<Held>): ReadonlyArray<MessageBatch> =>
    some.map((each) => {
      held.leave(each)
      ending.delete(each)
      open.forget(each.parts)
      return each.batch
    })

  const writer = writing({
    clock,
    write: async () => {
      if (owed.isAny()) await owed.settleAll()
      if (isAnyNew()) await store.drafts.write(change)
      else takesAll()
    },
    written: () => {
      const batches = forget([...floating.landed(), ...inHand])
      inHand = []
      open.done()
      waiters.taken(true)
      // It came while this was being written.
      if (owed.isAny()) writer.more()
      kept(batches)
    },
    failed: (error) => {
      floating.missed()
      waiters.taken(false)
      defect(error)
      if (held.isAny()) options.leaving()
    },
  })

  const owed = owing({ bury: store.drafts.bury, defect, owes: writer.more })

  const waiters = assurances({
    oldest: held.oldest,
    newest: held.newest,
    lanesBehind: () => {
      const lanes = new Set<number>()
      eachOpen((lane, messages) => {
        if (!open.isKept(lane, messages.length)) lanes.add(lane)
      })
      return lanes
    },
  })

  const enter = (each: Closed): Held => {
    const entered = held.enter(each)
    closed.push(entered)
    writer.more()
    return entered
  }
  for (const each of earlier) enter(each)

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
      append: (batch) => right({ id: batch.id, item: batch, firstAttemptAt: undefined, progress: undefined }),
      ...handingOut({ store, writer, floating, names, fresh }),
      ...concluding({
        store,
        writer,
        floating,
        names,
        owed,
        ending: (each) => {
          ending.add(each)
        },
        ended: (each) => {
          forget([each])
          waiters.look()
          options.ended(each.batch)
        },
      }),
      close: async () => {
        writer.stop()
        waiters.over()
        await store.close()
        await writer.afterThis()
      },
    },
    accepted: writer.more,
    closed: (batch, lane) => {
      waiters.closed(lane, enter({ batch, parts: open.close(lane) }))
    },
    isAnyLeaving: held.isAny,
    whenKept: waiters.whenKept,
    notPersisted: () => {
      let count = held.messages() - open.kept()
      eachOpen((_, messages) => {
        count += messages.length
      })
      return count
    },
    restored: earlier.map(({ batch }) => batch),
    giveUp: () => {
      writer.stop()
      waiters.over()
      inHand = []
      closed.drain()
      const back = held.drain().filter((each) => !ending.has(each))
      for (const { parts } of back) open.forget(parts)
      owed.giveUp()
      return back.flatMap(unwritten)
    },
  }
}
