/** What is handed out, and what becomes of it. */
import { refused, retryable } from '../../src/core/failure.ts'
import { delivered, rejected } from '../../src/core/outcome.ts'
import type { MessageBatch } from '../../src/client/Message.ts'
import type { Entry } from '../../src/outbox/outbox.ts'
import { idsIn, idsOf } from './keepingBooks.ts'
import type { Books } from './keepingBooks.ts'
import { hold, same } from './keepingLaw.ts'
import { nextTurn } from './keepingPlay.ts'
import type { Working } from './keepingPlay.ts'
import type { Reached } from './keepingReached.ts'

type Batch = Entry<MessageBatch>

/** Whether it was handed out before it came to the disk: a store counts with whole numbers. */
const isOfMemory = ({ id }: Batch): boolean => Number.isNaN(Number(id))

const isOnDisk = (on: Working, { item }: Batch): boolean => {
  const { batches, parked } = on.found()
  return [...batches, ...parked].some(({ id }) => id === item.id)
}

/** These were handed out, to one who asked for at most so many. */
export const handedOut = (
  of: Books,
  on: Working,
  entries: ReadonlyArray<Batch>,
  limit: number,
  reached: Reached,
): void => {
  for (const entry of entries) {
    const { id, item, firstAttemptAt, progress } = entry
    hold('handsOnce', !on.out.some((other) => other.item.id === item.id), `${item.id} is out already`)
    hold('handsOnce', !item.members.some((each) => of.ended.has(each.id)), `${item.id} has ended`)
    on.out = [...on.out, entry]
    const before = on.parked.get(item.id)
    if (before === undefined) continue
    const { entry: parked, due } = before
    same(
      'remembers',
      { id, firstAttemptAt, progress },
      { id: parked.id, firstAttemptAt: parked.firstAttemptAt, progress: parked.progress },
    )
    hold('remembers', due <= on.clock.now(), `it is due at ${String(due)}`)
    on.parked.delete(item.id)
    if (isOfMemory(entry) && isOnDisk(on, entry)) reached.retriedFromDiskAfterMemory++
    else if (isOfMemory(entry)) reached.retriedFromMemory++
  }
  if (entries.some(({ progress }) => progress !== undefined)) reached.tookRetries++
  const fresh = entries.map(({ item }) => item.id).filter((id) => on.fresh.has(id))
  same('line', fresh, [...on.fresh].slice(0, fresh.length))
  for (const id of fresh) on.fresh.delete(id)
  if (entries.some((entry) => isOfMemory(entry) && fresh.includes(entry.item.id))) reached.tookFromMemory++
  if (entries.some((entry) => !isOfMemory(entry)) && entries.some(isOfMemory)) reached.tookFromBoth++
  if (entries.length < limit) movesOn(on)
}

/** Somebody waits for more. */
export const movesOn = (on: Working): void => {
  hold('moves', !on.disk.isDown() || on.fresh.size === 0, [...on.fresh].join())
}

/** The disk answers until this is over: what is being written is waited for. */
const withDisk = async (on: Working, answer: PromiseLike<void> | void): Promise<boolean> => {
  const state = { isOver: false }
  let hasWaited = false
  const over = Promise.resolve(answer).then(() => {
    state.isOver = true
  })
  await nextTurn()
  while (!state.isOver) {
    hasWaited = (await on.disk.onEvent()) || hasWaited
    await nextTurn()
  }
  await over
  return hasWaited
}

export const park = async (on: Working, entry: Batch, delay: number, reached: Reached): Promise<void> => {
  const progress = { attempts: (entry.progress?.attempts ?? 0) + 1, lastFailure: retryable('busy') }
  const parked = { ...entry, firstAttemptAt: entry.firstAttemptAt ?? on.clock.now(), progress }
  const due = on.clock.now() + delay
  on.parked.set(entry.item.id, { entry: parked, due })
  const isLate = await withDisk(on, on.kept.outbox.park(parked, due))
  if (!isOfMemory(entry)) return
  if (isLate) reached.parkedOnItsWay++
  if (isOnDisk(on, entry)) reached.parkedOnDiskAfterMemory++
  else reached.parkedInMemory++
}

export const end = async (
  of: Books,
  on: Working,
  entry: Batch,
  isDead: boolean,
  reached: Reached,
): Promise<void> => {
  const { item } = entry
  const outcome = isDead ? rejected(item, 1, refused('status')) : delivered(item, 1, { sink: 's' })
  const wasOnDisk = isOnDisk(on, entry)
  for (const id of idsOf(item.members)) {
    of.ended.add(id)
    of.waiting.delete(id)
    if (isDead) of.died.add(id)
  }
  const isLate = await withDisk(on, on.kept.outbox.end(entry, outcome))
  const there = idsIn(on.found())
  for (const id of idsOf(item.members)) {
    if (isOfMemory(entry) && !wasOnDisk && !on.disk.strikes(isDead) && there.has(id)) of.owed.add(id)
  }
  if (!isOfMemory(entry)) return
  if (isLate) reached.endedOnItsWay++
  if (wasOnDisk) reached.endedOnDiskAfterMemory++
  else reached.endedInMemory++
  if (of.owed.size > 0) reached.owedParts++
  if (isDead && !(await on.dead()).includes(item.members[0]?.id ?? '')) reached.owedLetter++
}

/** A crash forgets what was owed: what lies there has not ended, and of what does not nobody knows that it died. */
export const forgetOwed = async (of: Books, on: Working, there: ReadonlySet<string>): Promise<void> => {
  for (const id of of.owed) {
    if (!there.has(id) || of.spoilt.has(id)) continue
    of.ended.delete(id)
    of.waiting.add(id)
  }
  of.owed.clear()
  const letters = new Set(await on.dead())
  for (const id of of.died) if (!letters.has(id)) of.died.delete(id)
}
