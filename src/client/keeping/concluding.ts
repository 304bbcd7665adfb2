import { isPromiseLike } from '../../core/awaitable.ts'
import { isDead } from '../../core/outcome.ts'
import type { StoredOutbox } from '../../outbox/lmdb/storedOutbox.ts'
import type { Entry, Outbox } from '../../outbox/oldOutbox.ts'
import type { MessageBatch } from '../Message.ts'
import type { Afloat } from './afloat.ts'
import type { Held } from './heldBatches.ts'
import type { NamesInStore } from './namesInStore.ts'
import type { Owing } from './owing.ts'
import type { Writing } from './writing.ts'

/** What concluding works with. */
export interface ConcludingOptions {
  readonly store: Pick<StoredOutbox<MessageBatch>, 'park' | 'end'>
  readonly writer: Pick<Writing, 'afterThis' | 'more'>
  readonly floating: Pick<Afloat, 'heldAs' | 'isBoarding' | 'park' | 'end'>
  readonly names: Pick<NamesInStore, 'toStored' | 'forget'>
  readonly owed: Pick<Owing, 'settle'>
  /** How it ends is known, so nobody is handed it back. */
  readonly ending: (held: Held) => void
  /** It has ended, and was not on the disk. */
  readonly ended: (held: Held) => void
}

/** What of an outbox brings a round to its end. */
export type Concluding = Pick<Outbox<MessageBatch>, 'park' | 'end'>

/** Parks and ends, on the disk or in memory: wherever a batch is. One that is being brought to the disk is waited for. */
export const concluding = (options: ConcludingOptions): Concluding => {
  const { store, writer, floating, names, owed, ending, ended } = options

  const boarding = ({ id }: Entry<MessageBatch>): Promise<void> | undefined =>
    floating.isBoarding(id) ? writer.afterThis() : undefined

  const endStored: Concluding['end'] = (entry, outcome) => {
    const answer = store.end(names.toStored(entry), outcome)
    const { id } = entry
    if (!isPromiseLike(answer)) {
      names.forget(id)
      return
    }
    return answer.then(() => {
      names.forget(id)
    })
  }

  const end: Concluding['end'] = (entry, outcome) => {
    const held = floating.heldAs(entry.id)
    if (held === undefined) return endStored(entry, outcome)
    ending(held)
    const after = boarding(entry)
    if (after !== undefined) return after.then(() => end(entry, outcome))
    floating.end(entry.id)
    const settled = owed.settle({
      struck: held.parts.filter(({ isKept }) => isKept),
      letter: isDead(outcome) ? { entry, outcome } : undefined,
    })
    if (!isPromiseLike(settled)) {
      ended(held)
      return
    }
    return settled.then(() => {
      ended(held)
    })
  }

  const park: Concluding['park'] = (entry, due) => {
    if (floating.heldAs(entry.id) === undefined) return store.park(names.toStored(entry), due)
    const after = boarding(entry)
    if (after !== undefined) return after.then(() => park(entry, due))
    floating.park(entry, due)
    // When the disk is well again it has it.
    writer.more()
  }

  return { park, end }
}
