/** One life of messages on a disk, with a disk that answers when it is told to. */
import { keeping } from '../../src/client/keeping/keeping.ts'
import type { Keeping, KeepingOptions } from '../../src/client/keeping/keeping.ts'
import { batchOf } from '../../src/client/keeping/BatchRecord.ts'
import type { Message, MessageBatch } from '../../src/client/Message.ts'
import type { StoredOutbox } from '../../src/outbox/lmdb/storedOutbox.ts'
import type { Entry } from '../../src/outbox/outbox.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import type { VirtualClock } from '../../src/testing/virtualClock.ts'
import type { Life } from '../client/keeping/grounds.ts'
import type { Disk } from './keepingWorld.ts'

export type MakeKeeping = (options: KeepingOptions) => Keeping

type Write = StoredOutbox<MessageBatch>['drafts']['write']
type Bury = StoredOutbox<MessageBatch>['drafts']['bury']

/** A transaction that was asked for. */
interface Asked {
  readonly change: Parameters<Write>[0]
  readonly settle: (error: Error | undefined) => void
}

/** A disk under control. */
export interface GatedDisk {
  readonly write: Write
  /** Answered at once. */
  readonly bury: Bury
  set: (does: Disk) => void
  /** Brings the transaction that was asked for to its end. */
  readonly commit: () => Promise<void>
  /** Tells the writer how it ended. Answers whether there was something to tell. */
  readonly onEvent: () => Promise<boolean>
  readonly isAsked: () => boolean
  /** It has ended, and the writer does not know. */
  readonly isUntold: () => boolean
  /** The last one failed, and none was asked for since. */
  readonly isDown: () => boolean
  /** Whether it would let go of something, and take a dead letter with that. */
  readonly strikes: (withLetter: boolean) => boolean
  /** Resolves when all is answered that is answered at once. */
  readonly rested: () => Promise<void>
}

export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const gated = (real: Write, realBury: Bury): GatedDisk => {
  let does: Disk = 'fine'
  let asked: Asked | undefined
  let result: { readonly error: Error | undefined } | undefined
  let isDown = false
  let burying = 0

  const strikes = (withLetter: boolean): boolean => does === 'fine' || (does === 'full' && !withLetter)

  const run = async (change: Asked['change']): Promise<void> => {
    if (does === 'fails' || does === 'full') throw new Error('no disk')
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
    bury: async (remains) => {
      if (!strikes(remains.some(({ letter }) => letter !== undefined))) throw new Error('no disk')
      burying++
      try {
        await realBury(remains)
      } finally {
        burying--
      }
    },
    set: (what) => {
      does = what
    },
    strikes,
    rested: async () => {
      do await nextTurn()
      while (burying > 0)
    },
    commit,
    onEvent: async () => {
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
  /** The ids of the messages that are dead letters. */
  readonly dead: () => Promise<ReadonlyArray<string>>
  readonly open: Map<number, ReadonlyArray<Message>>
  readonly accept: (lane: number, messages: ReadonlyArray<Message>) => void
  /** Answers the batch that it closed. */
  readonly close: (lane: number) => MessageBatch | undefined
  /** Handed out, and neither parked nor ended. */
  out: ReadonlyArray<Entry<MessageBatch>>
  /** Closed in this life and never handed out, by their ids, in their order. */
  readonly fresh: Set<string>
  /** Parked in this life and not handed out since, by the ids of their batches. */
  readonly parked: Map<string, Parked>
}

/** A batch that waits for a retry. */
export interface Parked {
  readonly entry: Entry<MessageBatch>
  readonly due: number
}

let closings = 0

export const working = ({ store, found }: Life, make: MakeKeeping = keeping): Working => {
  const clock = virtualClock()
  const disk = gated(store.drafts.write, store.drafts.bury)
  const open = new Map<number, ReadonlyArray<Message>>()
  const kept = make({
    store: { ...store, drafts: { ...store.drafts, write: disk.write, bury: disk.bury } },
    clock,
    eachOpen: (look) => {
      for (const [lane, messages] of open) look(lane, messages)
    },
    kept: () => undefined,
    ended: () => undefined,
    leaving: () => undefined,
    defect: () => undefined,
  })
  const fresh = new Set(kept.restored.map(({ id }) => id))
  return {
    kept,
    disk,
    clock,
    found,
    stats: store.stats,
    dead: async () => {
      const letters = await store.dead.list({ limit: 1_000 })
      return letters.flatMap(({ entry }) => entry.item.members.map(({ id }) => id))
    },
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
      fresh.add(batch.id)
      kept.closed(batch, lane)
      void kept.outbox.append(batch)
      return batch
    },
    out: [],
    fresh,
    parked: new Map(),
  }
}
