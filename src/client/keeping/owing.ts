import type { Awaitable } from '../../core/awaitable.ts'
import type { Drafts, Remains } from '../../outbox/lmdb/entering/Drafts.ts'
import { bytesIn } from '../Message.ts'
import type { MessageBatch } from '../Message.ts'

type Left = Remains<MessageBatch>

/** What owing works with. */
export interface OwingOptions {
  readonly bury: Drafts<MessageBatch>['bury']
  /** Is told of dead letters that will never be on the disk. */
  readonly defect: (error: unknown) => void
  /** Something is owed that was not before. */
  readonly owes: () => void
}

/** What the disk is owed for batches that ended without ever having been on it: their parts are to go, and their dead letters to come. */
export interface Owing {
  /** Writes it now, or owes it: it never rejects. */
  readonly settle: (left: Left) => Awaitable<void>
  readonly isAny: () => boolean
  /** Writes all that is owed; rejects when the disk does not take it. */
  readonly settleAll: () => Promise<void>
  /** Nothing more will be written. */
  readonly giveUp: () => void
}

/** What died is held for the disk up to so many messages and bytes. */
export const MOST_OWED = { messages: 1_000, bytes: 16_777_216 }

const weigh = ({ letter }: Left): { readonly messages: number; readonly bytes: number } => {
  const members = letter?.entry.item.members ?? []
  return { messages: members.length, bytes: bytesIn(members) }
}

/** Nothing is owed yet. */
export const owing = ({ bury, defect, owes }: OwingOptions): Owing => {
  let owed: ReadonlyArray<Left> = []
  let messages = 0
  let bytes = 0

  const evictedDeadLetters = (count: number): void => {
    if (count > 0)
      defect(
        new Error(
          `${String(count)} messages died that are no dead letters: the disk of the outbox takes nothing`,
        ),
      )
  }

  const owe = (left: Left): void => {
    const own = weigh(left)
    const isTooMuch = messages + own.messages > MOST_OWED.messages || bytes + own.bytes > MOST_OWED.bytes
    if (left.letter !== undefined && isTooMuch) {
      evictedDeadLetters(own.messages)
      if (left.struck.length > 0) owed = [...owed, { struck: left.struck, letter: undefined }]
    } else {
      messages += own.messages
      bytes += own.bytes
      owed = [...owed, left]
    }
    owes()
  }

  const paid = (some: ReadonlyArray<Left>): void => {
    owed = owed.filter((each) => !some.includes(each))
    for (const own of some.map(weigh)) {
      messages -= own.messages
      bytes -= own.bytes
    }
  }

  const pay = async (some: ReadonlyArray<Left>): Promise<void> => {
    if (some.length === 0) return
    await bury(some)
    paid(some)
  }

  return {
    settle: (left) => {
      if (left.struck.length === 0 && left.letter === undefined) return
      return bury([left]).catch(() => {
        owe(left)
      })
    },
    isAny: () => owed.length > 0,
    settleAll: async () => {
      // What only goes finds room where nothing that comes does.
      await pay(owed.filter(({ letter }) => letter === undefined))
      await pay(owed.filter(({ letter }) => letter !== undefined))
    },
    giveUp: () => {
      const left = messages
      owed = []
      messages = bytes = 0
      evictedDeadLetters(left)
    },
  }
}
