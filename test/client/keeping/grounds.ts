/** Stores for the messages of a client, one life after the other, with all that lies in them in plain sight. */
import { copyFileSync, mkdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type * as Lmdb from 'lmdb'
import { batchCodec } from '../../../src/client/keeping/batchCodec.ts'
import { batchFromText, openFromText } from '../../../src/client/keeping/BatchRecord.ts'
import { itemsOf } from '../../../src/client/Message.ts'
import type { Message, MessageBatch } from '../../../src/client/Message.ts'
import { fileFault } from '../../../src/outbox/lmdb/opening/fileFault.ts'
import { mapping } from '../../../src/outbox/lmdb/mapping.ts'
import { decodeRecord } from '../../../src/outbox/lmdb/records/StoredRecord.ts'
import { openStore } from '../../../src/outbox/lmdb/opening/openStore.ts'
import { openEnv, openTrees } from '../../../src/outbox/lmdb/Store.ts'
import type { Store } from '../../../src/outbox/lmdb/Store.ts'
import { storedOutbox } from '../../../src/outbox/lmdb/storedOutbox.ts'
import type { StoredOutbox } from '../../../src/outbox/lmdb/storedOutbox.ts'
import { newFolder } from '../../outbox/lmdb/grounds.ts'

/** A message with this text. */
export const messageOf = (id: string, text: string = JSON.stringify({ messageId: id })): Message => ({
  id,
  items: itemsOf.track,
  text,
  byteLength: Buffer.byteLength(text),
})

/** A batch in a store. */
export interface FoundBatch {
  readonly id: string
  readonly messages: ReadonlyArray<Message>
}

/** What lies in a store and can be read. */
export interface Found {
  /** In the order of their numbers. */
  readonly batches: ReadonlyArray<FoundBatch>
  /** In the order of their due times. */
  readonly parked: ReadonlyArray<FoundBatch>
  readonly parts: ReadonlyArray<{
    readonly number: number
    readonly lane: number
    readonly messages: ReadonlyArray<Message>
  }>
}

/** A store that is open. */
export interface Life {
  readonly store: StoredOutbox<MessageBatch>
  readonly found: () => Found
}

/** Folders in which a store lives on. */
export interface Folders {
  readonly open: () => Life
  /** What a kill leaves behind is what the next `open` finds; `spoil` has the first byte of this part changed. */
  readonly crash: (spoil?: number) => Promise<void>
  readonly leave: () => Promise<void>
}

const bodyOf = (bytes: Buffer): string => decodeRecord(bytes)?.text ?? ''

const foundIn = (store: Store): Found => {
  const batchIn = ({ value }: { readonly value: Buffer }): FoundBatch => {
    const { id, members } = batchFromText(bodyOf(value))
    return { id, messages: members }
  }
  return {
    batches: [...store.fresh.getRange().map(batchIn)],
    parked: [...store.parked.getRange().map(batchIn)],
    parts: [...store.drafts.getRange()].flatMap(({ key, value }) => {
      // One that was spoilt says nothing.
      if (decodeRecord(value) === undefined) return []
      return [{ number: key, ...openFromText(bodyOf(value)) }]
    }),
  }
}

// `require` has no types; this is the package that they describe.
const lmdb = createRequire(import.meta.url)('lmdb') as typeof Lmdb

/** Copies a store as it lies there while it is open: what a killed process leaves. A file that grew under the copy is copied again. */
export const copyStore = (from: string, to: string): void => {
  const copy = join(to, 'data.mdb')
  do copyFileSync(join(from, 'data.mdb'), copy)
  while (fileFault(copy) !== undefined)
}

/** What lies in a folder that nobody has open. */
export const readFolder = async (path: string): Promise<Found> => {
  const trees = openTrees(openEnv(lmdb, path))
  const found = foundIn(trees)
  await trees.env.close()
  return found
}

export const folders = (maxCount = 1_000_000): Folders => {
  const root = newFolder(true)
  let life = 0
  let opened: ReadonlyArray<{ readonly trees: Store; readonly store: StoredOutbox<MessageBatch> }> = []
  const path = (): string => join(root, String(life))
  const closeAll = async (): Promise<void> => {
    const all = opened
    opened = []
    await Promise.all(all.map(async ({ store }) => store.close()))
  }
  const openAll = (): { readonly trees: Store; readonly store: StoredOutbox<MessageBatch> } => {
    mkdirSync(path(), { recursive: true })
    const found = openStore(lmdb, path(), batchCodec.kind)
    if (found._tag === 'Left') throw new Error(found.left.message)
    const open = (): Store => openTrees(openEnv(lmdb, path()))
    const mapped = mapping({ store: found.right, open, isWorn: () => false })
    const store = storedOutbox({
      path: path(),
      mapping: mapped,
      codec: batchCodec,
      maxCount,
      maxBytes: 1_000_000_000,
      keepDead: 100,
      now: () => 0,
      release: () => undefined,
    })
    return { trees: mapped.store, store }
  }
  return {
    open: () => {
      const one = openAll()
      opened = [...opened, one]
      const found = (): Found => {
        // lmdb answers a read of a store that is being closed with an error that nobody can catch.
        if (!opened.includes(one)) throw new Error('it is closed')
        return foundIn(one.trees)
      }
      return { store: one.store, found }
    },
    crash: async (spoil) => {
      const before = path()
      life++
      mkdirSync(path())
      copyStore(before, path())
      await closeAll()
      rmSync(before, { recursive: true })
      if (spoil === undefined) return
      const env = openEnv(lmdb, path())
      const { drafts } = openTrees(env)
      const record = drafts.getBinary(spoil)
      if (record !== undefined) {
        record.writeUInt8(record.readUInt8(0) ^ 1, 0)
        drafts.putSync(spoil, record)
      }
      await env.close()
    },
    leave: async () => {
      await closeAll()
      rmSync(root, { recursive: true, force: true })
    },
  }
}
