/** One life of messages on a disk, with a disk that answers when it is told to. */
import { keeping } from '../../src/client/keeping/keeping.ts'
import type { Keeping, KeepingOptions } from '../../src/client/keeping/keeping.ts'
import { batchOf } from '../../src/client/keeping/BatchRecord.ts'
import type { Message, MessageBatch } from '../../src/client/Message.ts'
import type { StoredOutbox } from '../../src/outbox/lmdb/storedOutbox.ts'
import type { Entry } from '../../src/sink/Outbox.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import type { VirtualClock } from '../../src/testing/virtualClock.ts'
import type { Life } from '../client/keeping/grounds.ts'
import type { Disk } from './keepingWorld.ts'

export type MakeKeeping = (options: KeepingOptions) => Keeping

type Write = StoredOutbox<MessageBatch>['drafts']['write']

/** A transaction that was asked for. */
interface Asked {
  readonly change: Parameters<Write>[0]
  readonly settle: (error: Error | undefined) => void
}

/** A disk under control. */
export interface GatedDisk {
  readonly write: Write
  set: (does: Disk) => void
  /** Brings the transaction that was asked for to its end. */
  readonly commit: () => Promise<void>
  /** Tells the writer how it ended. Answers whether there was something to tell. */
  readonly tell: () => Promise<boolean>
  readonly isAsked: () => boolean
  /** It has ended, and the writer does not know. */
  readonly isUntold: () => boolean
  /** The last one failed, and none was asked for since. */
  readonly isDown: () => boolean
}

export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const gated = (real: Write): GatedDisk => {
  let does: Disk = 'fine'
  let asked: Asked | undefined
  let result: { readonly error: Error | undefined } | undefined
  let isDown = false

  const run = async (change: Asked['change']): Promise<void> => {
    if (does === 'fails') throw new Error('no disk')
    if (does === 'fine') return real(change)
    return real(() => {
      change()
      throw new Error('no disk any more')
    })
  }
  const commit = async (): Promise<void> => {
    if (asked === undefined || result !== undefined) return
    try {
      await run(asked.change)
      result = { error: undefined }
    } catch (error) {
      result = { error: error instanceof Error ? error : new Error('no error') }
    }
  }
  return {
    write: (change) =>
      new Promise((resolve, reject) => {
        isDown = false
        asked = {
          change,
          settle: (error) => {
            if (error === undefined) resolve()
            else reject(error)
          },
        }
      }),
    set: (what) => {
      does = what
    },
    commit,
    tell: async () => {
      await commit()
      if (asked === undefined || result === undefined) return false
      const { settle } = asked
      const { error } = result
      asked = result = undefined
      isDown = error !== undefined
      settle(error)
      await nextTurn()
      return true
    },
    isAsked: () => asked !== undefined,
    isUntold: () => result !== undefined,
    isDown: () => isDown,
  }
}

/** A life at work. */
export interface Working {
  readonly kept: Keeping
  readonly disk: GatedDisk
  readonly clock: VirtualClock
  readonly found: Life['found']
  readonly stats: () => { readonly waiting: number; readonly bytes: number }
  readonly open: Map<number, ReadonlyArray<Message>>
  readonly accept: (lane: number, messages: ReadonlyArray<Message>) => void
  /** Answers the batch that it closed. */
  readonly close: (lane: number) => MessageBatch | undefined
  /** Handed out, and neither parked nor ended. */
  out: ReadonlyArray<Entry<MessageBatch>>
}

let closings = 0

export const working = ({ store, found }: Life, make: MakeKeeping = keeping): Working => {
  const clock = virtualClock()
  const disk = gated(store.drafts.write)
  const open = new Map<number, ReadonlyArray<Message>>()
  const kept = make({
    store: { ...store, drafts: { ...store.drafts, write: disk.write } },
    clock,
    eachOpen: (look) => {
      for (const [lane, messages] of open) look(lane, messages)
    },
    kept: () => undefined,
    defect: () => undefined,
  })
  return {
    kept,
    disk,
    clock,
    found,
    stats: store.stats,
    open,
    accept: (lane, messages) => {
      open.set(lane, [...(open.get(lane) ?? []), ...messages])
      kept.accepted()
    },
    close: (lane) => {
      const members = open.get(lane) ?? []
      if (members.length === 0) return undefined
      const batch = batchOf(`${String(lane)}.${String(++closings)}`, 'count', members)
      open.set(lane, [])
      kept.closed(batch, lane)
      void kept.outbox.append(batch)
      return batch
    },
    out: [],
  }
}
