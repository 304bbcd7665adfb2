/** How a keeping is made that is wrong on purpose. */
import { keeping } from '../../src/client/keeping/keeping.ts'
import type { Keeping, KeepingOptions } from '../../src/client/keeping/keeping.ts'
import type { Message, MessageBatch } from '../../src/client/Message.ts'
import type { Change, Remains, Worked } from '../../src/outbox/lmdb/entering/Drafts.ts'
import type { StoredOutbox } from '../../src/outbox/lmdb/storedOutbox.ts'
import type { Entry } from '../../src/outbox/outbox.ts'
import type { LAWS } from '../laws/keepingLaw.ts'
import type { MakeKeeping } from '../laws/keepingPlay.ts'

export interface KeepingMutant {
  readonly breaks: keyof typeof LAWS
  readonly make: MakeKeeping
}

export type Drafts = StoredOutbox<MessageBatch>['drafts']

/** Over the real one, with another way into the store. */
export const over =
  (change: (drafts: Drafts) => Partial<Drafts>): MakeKeeping =>
  (options) =>
    keeping({
      ...options,
      store: { ...options.store, drafts: { ...options.store.drafts, ...change(options.store.drafts) } },
    })

/** Writes something else than it should. */
export const writes = (change: (what: Change<MessageBatch>) => Change<MessageBatch>): MakeKeeping =>
  over(({ write }) => ({ write: (what) => write(() => change(what())) }))

export const given =
  (change: (options: KeepingOptions) => Partial<KeepingOptions>): MakeKeeping =>
  (options) =>
    keeping({ ...options, ...change(options) })

export const after =
  (change: (kept: Keeping, options: KeepingOptions) => Partial<Keeping>): MakeKeeping =>
  (options) => {
    const kept = keeping(options)
    return { ...kept, ...change(kept, options) }
  }

export const nothing: Change<MessageBatch> = { items: [], worked: [], drafts: [], struck: [] }

export type Entries = ReadonlyArray<Entry<MessageBatch>>

/** Hands out something else than it should. */
export const hands = (change: (taken: Entries) => Entries): MakeKeeping =>
  after(({ outbox }) => ({
    outbox: { ...outbox, take: async (...asked) => change(await outbox.take(...asked)) },
  }))

/** Brings something else to the disk than it should, of what was handed out before. */
export const brings = (change: (worked: Worked<MessageBatch>) => Worked<MessageBatch>): MakeKeeping =>
  writes((what) => ({ ...what, worked: what.worked.map(change) }))

/** Leaves something else to the disk than it should, of what ended without it. */
export const buries = (
  change: (remains: ReadonlyArray<Remains<MessageBatch>>) => ReadonlyArray<Remains<MessageBatch>>,
): MakeKeeping => over(({ bury }) => ({ bury: (remains) => bury(change(remains)) }))

/** Whether it was handed out before it came to the disk. */
export const isOfMemory = ({ id }: Entry<MessageBatch>): boolean => Number.isNaN(Number(id))

export const untidy = (message: Message): Message => ({ ...message, text: message.text.replaceAll(' ', '') })
