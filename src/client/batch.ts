/**
 * A batch: which messages it takes, and what becomes of them after a verdict. Decisions only.
 *
 * @module
 */
import type { Random } from '../core/clock.ts'
import { expired as expiredFailure, wasStarted } from '../core/failure.ts'
import type { Verdict } from '../core/failure.ts'
import { delivered, expired, rejected } from '../core/outcome.ts'
import type { Outcome } from '../core/outcome.ts'
import { frameBytes, newId } from '../event/payload.ts'
import type { ClosedBy } from '../event/payload.ts'
import { trackingFrame } from '../event/trackingMessage.ts'
import type { Entry } from '../outbox/outbox.ts'
import type { RetryPolicy } from '../policy/retryPolicy.ts'
import { step } from '../policy/step.ts'
import type { Wait } from '../policy/step.ts'
import type { Message, SentBatch } from './message.ts'
import type { Ended } from './messageStore.ts'

type Entries = ReadonlyArray<Entry<Message>>

const COMMA = 1
const ENVELOPE = frameBytes(trackingFrame)

export const bytesIn = (entries: Entries): number => {
  let bytes = 0
  for (const { item } of entries) bytes += item.byteLength
  return bytes
}

/** The bytes of a body with this many messages, which have `bytes` together. */
export const bodyBytes = (count: number, bytes: number): number => ENVELOPE + bytes + COMMA * (count - 1)

/** How many of the entries fit into one request. At least one. */
export const countThatFits = (entries: Entries, maxCount: number, maxBytes: number): number => {
  let bytes = ENVELOPE - COMMA
  let count = 0
  for (const { item } of entries) {
    bytes += item.byteLength + COMMA
    if (count === maxCount || (count > 0 && bytes > maxBytes)) break
    count++
  }
  return count
}

/** The batch of some entries, the most attempts that one of them has had, and when the first of these started. */
export const batchOf = (
  entries: Entries,
  closedBy: ClosedBy,
  now: number,
): { readonly batch: SentBatch; readonly attempts: number; readonly firstAttemptAt: number } => {
  let attempts = 0
  let firstAttemptAt = now
  for (const entry of entries) {
    attempts = Math.max(attempts, entry.progress?.attempts ?? 0)
    firstAttemptAt = Math.min(firstAttemptAt, entry.firstAttemptAt ?? now)
  }
  const members = entries.map(({ item }) => item)
  const batch = {
    id: newId(),
    items: members.map(({ items: [type] }) => type),
    members,
    byteLength: bodyBytes(members.length, bytesIn(entries)),
    frame: trackingFrame,
    closedBy,
  }
  return { batch, attempts, firstAttemptAt }
}

/** The outcome of a retry whose deadline has come. */
export const lateOutcome = (
  { item, progress, firstAttemptAt }: Entry<Message>,
  window: number,
  now: number,
): Outcome<Message> | undefined => {
  if (progress === undefined || firstAttemptAt === undefined || now < firstAttemptAt + window)
    return undefined
  return expired(item, expiredFailure(progress.attempts, firstAttemptAt, progress.lastFailure))
}

/** What becomes of the entries of a batch. */
export interface Settled {
  readonly over: ReadonlyArray<Ended>
  /** To be retried together, after the longest `wait` of them. */
  readonly again: Entries
  readonly wait: Wait | undefined
}

/** Decides for each entry whether it ends or waits for its retry. */
export const settled = (
  entries: Entries,
  verdict: Verdict,
  policy: RetryPolicy,
  startedAt: number,
  now: number,
  random: Random,
): Settled => {
  const failure = verdict._tag === 'Left' ? verdict.left : undefined
  const isPartly = failure?._tag === 'PartlyFailed' && failure.members.length === entries.length
  const verdicts = isPartly ? failure.members : []
  // One random number for the batch, so that messages that failed together are retried together.
  let drawn: number | undefined
  const draw = (): number => (drawn ??= random())
  const over: Ended[] = []
  const again: Array<Entry<Message>> = []
  let wait: Wait | undefined
  for (const [index, entry] of entries.entries()) {
    const { item, progress } = entry
    const own = verdicts[index] ?? verdict
    // If no request was started in the first attempt, it is not counted, and the deadline does not run.
    const isUnstarted = entry.firstAttemptAt === undefined && own._tag === 'Left' && !wasStarted(own.left)
    const firstAttemptAt = isUnstarted ? now : (entry.firstAttemptAt ?? startedAt)
    const next = step(policy, progress, firstAttemptAt, own, now, draw)
    switch (next._tag) {
      case 'Deliver':
        over.push({ entry, outcome: delivered(item, next.attempts, next.receipt) })
        break
      case 'Reject':
        over.push({ entry, outcome: rejected(item, next.attempts, next.failure) })
        break
      case 'Expire':
        over.push({ entry, outcome: expired(item, next.failure) })
        break
      case 'Wait':
        again.push(isUnstarted ? entry : { ...entry, firstAttemptAt, progress: next.progress })
        if (wait === undefined || next.due > wait.due) wait = next
    }
  }
  return { over, again, wait }
}
