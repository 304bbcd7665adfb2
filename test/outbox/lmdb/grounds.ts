/** Where the outboxes under test lie. */
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type * as Lmdb from 'lmdb'
import { systemClock } from '../../../src/core/clock.ts'
import { lmdbOutbox } from '../../../src/outbox/lmdb/lmdbOutbox.ts'
import { mapping } from '../../../src/outbox/lmdb/mapping.ts'
import { openStore } from '../../../src/outbox/lmdb/opening/openStore.ts'
import { openEnv, openTrees } from '../../../src/outbox/lmdb/Store.ts'
import type { Store } from '../../../src/outbox/lmdb/Store.ts'
import { storedOutbox } from '../../../src/outbox/lmdb/storedOutbox.ts'
import type { Remembered } from '../../../src/outbox/lmdb/entering/justAppended.ts'
import type { ItemCodec } from '../../../src/outbox/lmdb/LmdbContract.ts'
import { memoryOutbox } from '../../../src/outbox/memoryOutbox.ts'
import type { Outbox } from '../../../src/outbox/outbox.ts'
import type { Ground, Item, MakeGround } from '../../laws/outboxWorld.ts'

/** The text is not one that JSON would make again, so it shows whether it was encoded anew. */
export const itemCodec: ItemCodec<Item> = {
  toText: ({ n, size, text }) => `${n} ${size} ${text}`,
  fromText: (text) => {
    const [, n, size, rest] = /^(\d+) (\d+) (.*)$/s.exec(text) ?? []
    if (rest === undefined) throw new SyntaxError('none of ours')
    return { n: Number(n), size: Number(size), text: rest }
  },
  sizeOf: ({ size }) => size,
}

export const memoryGround: MakeGround = () => ({
  open: (bounds, clock) => memoryOutbox({ ...bounds, clock, sizeOf: ({ size }: Item) => size }),
  crash: () => undefined,
  leave: () => undefined,
})

/** A disk in memory if there is one: what a kill leaves behind is the same, and a sync takes no time. */
const FAST = '/dev/shm'

export const newFolder = (fast = false): string =>
  mkdtempSync(join(fast && existsSync(FAST) ? FAST : tmpdir(), 'headrace-outbox-'))

/**
 * Folders of lmdb. A crash is played by a copy of the data as it lies there while the outbox is open: that is what a killed process leaves,
 * and what is in the memory of the one that goes on is not in it.
 */
export const lmdbGround = (open: typeof lmdbOutbox<Item> = lmdbOutbox): Ground => {
  const root = newFolder(true)
  let life = 0
  let opened: Array<Outbox<Item>> = []
  const path = (): string => join(root, String(life))
  return {
    open: (bounds, clock) => {
      const outbox = open({ path: path(), codec: itemCodec, ...bounds, clock })
      opened.push(outbox)
      return outbox
    },
    crash: async () => {
      const before = path()
      life++
      mkdirSync(path())
      copyFileSync(join(before, 'data.mdb'), join(path(), 'data.mdb'))
      await Promise.all(opened.map(async (outbox) => outbox.close()))
      opened = []
      rmSync(before, { recursive: true })
    },
    leave: async () => {
      await Promise.all(opened.map(async (outbox) => outbox.close()))
      rmSync(root, { recursive: true })
    },
  }
}

/** What a stored outbox under test does otherwise than one that is opened as usual. */
export interface StoredGroundOptions {
  readonly isWorn?: (writes: number) => boolean
  readonly remembered?: Remembered
  /** Is told when an item is read. */
  readonly fromText?: () => void
}

/** Nothing is remembered: all is read back. */
export const none: Remembered = { count: 0, bytes: 0 }

/** As `lmdbGround`, with an outbox whose inner parts are chosen. */
export const storedGround = ({ isWorn = () => false, remembered, fromText }: StoredGroundOptions): Ground =>
  lmdbGround(({ path, codec, clock = systemClock, maxCount = 0, maxBytes = 0, keepDead = 0 }) => {
    // `require` has no types; this is the package that they describe.
    const lmdb = createRequire(import.meta.url)('lmdb') as typeof Lmdb
    mkdirSync(path, { recursive: true })
    const store = openStore(lmdb, path)
    if (store._tag === 'Left') throw new Error(store.left.message)
    const open = (): Store => openTrees(openEnv(lmdb, path))
    return storedOutbox({
      path,
      mapping: mapping({ store: store.right, open, isWorn }),
      codec: {
        ...codec,
        fromText: (text) => {
          fromText?.()
          return codec.fromText(text)
        },
      },
      maxCount,
      maxBytes,
      keepDead,
      now: clock.now,
      release: () => undefined,
      ...(remembered === undefined ? {} : { remembered }),
    })
  })

/** An outbox that lets go of its file before every write. */
export const restlessGround: MakeGround = () => storedGround({ isWorn: () => true })

/** One that remembers so little of what was appended that much is read back, and much is not. */
export const forgetfulGround: MakeGround = () => storedGround({ remembered: { count: 3, bytes: 200 } })

/** One that reads everything back. */
export const readingGround: MakeGround = () => storedGround({ remembered: none })
