/** What must be on a disk, and whether it is. */
import type { Message } from '../../src/client/Message.ts'
import type { Found } from '../client/keeping/grounds.ts'
import { hold, same } from './keepingLaw.ts'
import type { Law } from './keepingLaw.ts'
import type { Working } from './keepingPlay.ts'

/** What is known of the messages, over all lives. */
export interface Books {
  readonly texts: Map<string, string>
  readonly lanes: Map<string, number>
  /** Accepted, not ended, and not taken by a crash. */
  readonly waiting: Set<string>
  readonly ended: Set<string>
  /** In a part that was spoilt: they count as waiting for ever. */
  readonly spoilt: Set<string>
  /** Have ended, and lie there all the same: the disk did not let go of them. */
  readonly owed: Set<string>
  /** Are dead letters, or will be when the disk takes them. */
  readonly died: Set<string>
  /** Was said to be kept. */
  readonly promised: Set<string>
  /** The messages of closed batches, in the order of closing. */
  readonly closings: Array<ReadonlyArray<string>>
  /** On the disk, when it was looked at for the last time. */
  seen: ReadonlySet<string>
}

export const books = (): Books => ({
  texts: new Map(),
  lanes: new Map(),
  waiting: new Set(),
  ended: new Set(),
  spoilt: new Set(),
  owed: new Set(),
  died: new Set(),
  promised: new Set(),
  closings: [],
  seen: new Set(),
})

export const idsOf = (messages: ReadonlyArray<Message>): ReadonlyArray<string> => messages.map(({ id }) => id)

const allIn = ({ batches, parked, parts }: Found): ReadonlyArray<Message> =>
  [...batches, ...parked, ...parts].flatMap(({ messages }) => messages)

/** The ids of all that is there. */
export const idsIn = (found: Found): ReadonlySet<string> => new Set(idsOf(allIn(found)))

/** Those of `some` that are not among `there`. */
export const missingIn = (
  some: Iterable<string>,
  there: { has: (id: string) => boolean },
): ReadonlyArray<string> => [...some].filter((id) => !there.has(id))

const bytesOf = (of: Books, ids: Iterable<string>): number =>
  [...ids].reduce((sum, id) => sum + Buffer.byteLength(of.texts.get(id) ?? ''), 0)

const checkBatches = (of: Books, { batches, parked }: Found): void => {
  const places = [...batches, ...parked].map(({ messages }) => {
    const ids = idsOf(messages)
    const at = of.closings.findLastIndex((each) => each[0] === ids[0])
    same('whole', ids, of.closings[at])
    return at
  })
  const fresh = places.slice(0, batches.length)
  hold(
    'order',
    fresh.every((at, n) => n === 0 || (fresh[n - 1] ?? 0) < at),
    fresh.join(),
  )
}

const checkUnkept = (of: Books, { kept, disk }: Working, there: ReadonlySet<string>): void => {
  const missing = missingIn(of.waiting, there).length
  const count = kept.notPersisted()
  // Of a transaction that ended and was not told of nobody can know.
  if (disk.isUntold()) hold('notPersisted', count >= missing, `${String(count)} of ${String(missing)}`)
  else same('notPersisted', count, missing)
}

/** Looks at the disk. Answers what is there. */
export const look = (of: Books, on: Working): ReadonlySet<string> => {
  const found = on.found()
  const all = allIn(found)
  const there = new Set(idsOf(all))
  hold('once', there.size === all.length, `${String(all.length - there.size)} are there twice`)
  for (const { id, text } of all) same('identical', text, of.texts.get(id))
  hold(
    'ends',
    all.every(({ id }) => of.waiting.has(id) || of.owed.has(id)),
    missingIn(there, of.waiting).join(),
  )
  const missing = (law: Law, some: Iterable<string>): void => {
    const gone = missingIn(some, there).filter((id) => !of.ended.has(id) && !of.spoilt.has(id))
    hold(law, gone.length === 0, `${gone.join()} is not there`)
  }
  missing('kept', of.promised)
  missing('stays', of.seen)
  of.seen = there
  checkBatches(of, found)
  const { waiting, bytes } = on.stats()
  const expected = [...there, ...of.spoilt]
  same('stats', { waiting, bytes }, { waiting: expected.length, bytes: bytesOf(of, expected) })
  checkUnkept(of, on, there)
  return there
}
