import type { Worked } from '../../outbox/lmdb/entering/Drafts.ts'
import { waitingLine } from '../../outbox/oldOutbox.ts'
import type { Entry } from '../../outbox/oldOutbox.ts'
import type { MessageBatch } from '../Message.ts'
import type { Held } from './heldBatches.ts'

/** A batch that was handed out from memory. */
interface Floating {
  readonly held: Held
  readonly entry: Entry<MessageBatch>
  /** When its retry is due; undefined: it is out. */
  readonly due: number | undefined
}

/** Batches that were handed out because the disk did not take them, until they end or come to the disk after all. */
export interface Afloat {
  readonly handOut: (held: Held) => Entry<MessageBatch>
  /** Hands out those whose retry is due. */
  readonly take: (now: number, limit: number) => ReadonlyArray<Entry<MessageBatch>>
  readonly nextDue: () => number | undefined
  /** What this is; undefined if it was not handed out from memory, or came to the disk. */
  readonly heldAs: (id: string) => Held | undefined
  readonly park: (entry: Entry<MessageBatch>, due: number) => void
  /** It is over. */
  readonly end: (id: string) => void
  readonly size: () => number
  /** Up to so many for a transaction, which then are `boarding`. */
  readonly board: (limit: number) => ReadonlyArray<Worked<MessageBatch>>
  readonly boarding: () => ReadonlyArray<Held>
  readonly isBoarding: (id: string) => boolean
  /** What was boarding is on the disk. */
  readonly landed: () => ReadonlyArray<Held>
  /** It is not. */
  readonly missed: () => void
}

/** None yet. `stored` is told what is called how in the store from now on. */
export const afloat = (stored: (id: string, storedAs: string) => void): Afloat => {
  const all = new Map<string, Floating>()
  const parked = waitingLine<MessageBatch>()
  let boarding = new Map<string, Floating>()
  let count = 0

  const onBoard = (): ReadonlyArray<Held> => [...boarding.values()].map(({ held }) => held)

  return {
    handOut: (held) => {
      // A store counts with whole numbers.
      const id = `m${String(++count)}`
      const entry = { id, item: held.batch, firstAttemptAt: undefined, progress: undefined }
      all.set(id, { held, entry, due: undefined })
      return entry
    },
    take: (now, limit) => {
      const taken = parked.take(now, limit, limit)
      for (const { id } of taken) {
        const floating = all.get(id)
        if (floating !== undefined) all.set(id, { ...floating, due: undefined })
      }
      return taken
    },
    nextDue: parked.nextDue,
    heldAs: (id) => all.get(id)?.held,
    park: (entry, due) => {
      const floating = all.get(entry.id)
      if (floating === undefined) return
      all.set(entry.id, { ...floating, entry, due })
      parked.park(entry, due)
    },
    end: (id) => {
      all.delete(id)
    },
    size: () => all.size,
    board: (limit) => {
      boarding = new Map([...all].slice(0, limit))
      return [...boarding.values()].map(({ entry, due }) => ({
        entry,
        due,
        stored: (storedAs) => {
          stored(entry.id, storedAs)
        },
      }))
    },
    boarding: onBoard,
    isBoarding: (id) => boarding.has(id),
    landed: () => {
      const landed = onBoard()
      const brought = boarding
      boarding = new Map()
      for (const id of brought.keys()) all.delete(id)
      if (brought.size > 0) parked.withdraw(({ id }) => brought.has(id))
      return landed
    },
    missed: () => {
      boarding = new Map()
    },
  }
}
