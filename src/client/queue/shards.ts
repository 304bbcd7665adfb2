import type { Clock } from '../../core/clock.ts'
import { batcher } from '../../event/batch.ts'
import type { Batcher } from '../../event/batch.ts'
import { newId } from '../../event/payload.ts'
import type { ClosedBy, Frame } from '../../event/payload.ts'
import type { CallType, Message, MessageBatch } from '../Message.ts'

/** How batches are filled. */
export interface ShardsOptions {
  /** 1: one for all messages; more: each key belongs to one of them. */
  readonly count: number
  readonly maxCount: number
  readonly maxBytes: number
  readonly maxDelay: number
  readonly frame: Frame
  readonly clock: Clock
}

/** Who is told. */
export interface ShardsTarget {
  /** A batch closed. It must not call back: what it causes begins with `decided`. */
  readonly batch: (batch: MessageBatch, lane: number) => void
  /** A timer has closed one, and the decision is over. */
  readonly decided: () => void
}

/** The batches that are being filled. */
export interface Shards {
  readonly offer: (message: Message, key: string | undefined) => void
  /** Closes all that are open. */
  readonly close: (closedBy: ClosedBy) => void
  /** Calls `look` with the messages of each that is open, and its lane. */
  readonly each: (look: (lane: number, messages: ReadonlyArray<Message>) => void) => void
  /** Whether there is a message in any of them. */
  readonly isAnyOpen: () => boolean
  /** Empties the one that has been open for longest. */
  readonly abandonOldest: () => ReadonlyArray<Message>
}

interface Shard {
  readonly batcher: Batcher<CallType>
  /** How many messages are in its open batch. */
  open: number
  /** The place of the first of them in the order of all messages. */
  firstAttemptAt: number
}

/** FNV-1a over the characters. */
const hashOf = (key: string): number => {
  let hash = 0x811c9dc5
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193)
  return hash >>> 0
}

/**
 * One batcher for all messages, or one for each lane. The number of the lane stands before the id of its batches, so that it is known
 * wherever a batch comes from: `laneOf` reads it.
 */
export const shards = (
  { count, maxCount, maxBytes, maxDelay, frame, clock }: ShardsOptions,
  target: ShardsTarget,
): Shards => {
  let offered = 0
  const startedAt = clock.monotonic()
  const all = new Map<number, Shard>()

  const shardFor = (lane: number): Shard => {
    const close = (): void => {
      shard.batcher.close('delay')
      target.decided()
    }
    const shard: Shard = {
      open: 0,
      firstAttemptAt: 0,
      batcher: batcher<CallType>(
        {
          maxCount,
          maxBytes,
          maxDelay,
          frame,
          clock,
          delayFrom: 'lastFlush',
          startedAt,
          newId: count === 1 ? newId : () => `${String(lane)}.${newId()}`,
        },
        {
          batch: (batch) => {
            shard.open -= batch.members.length
            // A list that grew has room for more, and in a burst batches wait in great numbers.
            const { id, items, members, byteLength, closedBy } = batch
            target.batch({ id, items: items.slice(), members: members.slice(), byteLength, closedBy }, lane)
          },
          // A message that fits no batch is refused before it comes here: the settings leave room for the largest.
          refuse: () => undefined,
          due: close,
        },
      ),
    }
    return shard
  }

  const first = shardFor(0)
  all.set(0, first)

  /** Made when it is first used: there may be more lanes than keys. */
  const shardIn = (lane: number): Shard => {
    const known = all.get(lane)
    if (known !== undefined) return known
    const made = shardFor(lane)
    all.set(lane, made)
    return made
  }

  const shardOf = (key: string | undefined): Shard =>
    count === 1 ? first : shardIn((key === undefined ? offered : hashOf(key)) % count)

  return {
    offer: (message, key) => {
      offered++
      const shard = shardOf(key)
      shard.open++
      shard.batcher.offer(message)
      if (shard.open === 1) shard.firstAttemptAt = offered
    },
    close: (closedBy) => {
      for (const { batcher: each } of all.values()) each.close(closedBy)
    },
    each: (look) => {
      for (const [lane, { batcher: each }] of all) look(lane, each.open())
    },
    isAnyOpen: () => [...all.values()].some(({ open }) => open > 0),
    abandonOldest: () => {
      let oldest: Shard | undefined
      for (const shard of all.values()) {
        if (shard.open > 0 && shard.firstAttemptAt < (oldest?.firstAttemptAt ?? Infinity)) oldest = shard
      }
      if (oldest === undefined) return []
      oldest.open = 0
      return oldest.batcher.abandon()
    },
  }
}
