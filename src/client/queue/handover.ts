import { isLeft } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { nothingToCancel } from '../../sink/layer.ts'
import type { Cancel, Clock } from '../../core/clock.ts'
import { whenAnswered } from '../../core/awaitable.ts'
import type { Awaitable } from '../../core/awaitable.ts'
import { queue } from '../../core/queue.ts'
import type { Closed, Full } from '../../core/refusal.ts'
import type { MessageBatch } from '../Message.ts'

/** What a handover works with. */
export interface HandoverOptions {
  readonly offer: (batch: MessageBatch) => Awaitable<Either<Full | Closed, unknown>>
  readonly clock: Clock
  /** Is told what the store threw or rejected with. */
  readonly defect: (error: unknown, batch: MessageBatch) => void
}

/** Closed batches on their way into the outbox, one after the other in their order. */
export interface Handover {
  readonly push: (batch: MessageBatch) => void
  /** Goes on; to be called when a decision is over, and when room was made. */
  readonly go: () => void
  readonly isEmpty: () => boolean
  /** Calls `task` once nothing is left to hand over, at once if that is so. */
  readonly whenEmpty: (task: () => void) => Cancel
  /** Takes back the oldest that the outbox was not asked to take. */
  readonly withdrawOldest: () => MessageBatch | undefined
  /** Takes back all, also one whose store has not answered, and hands over nothing more. */
  readonly giveUp: () => ReadonlyArray<MessageBatch>
}

/** A store that failed is asked again after so many milliseconds. */
const ASK_AGAIN_AFTER = 1_000

/**
 * Hands batches over. What the outbox has no room for waits until something has left it, and a store that fails is asked again: a message
 * that was accepted is never let go of for that. An outbox in memory takes each on the spot.
 */
export const handover = ({ offer, clock, defect }: HandoverOptions): Handover => {
  const waiting = queue<MessageBatch>()
  /** Taken from the ring, and not in the outbox yet. */
  let head: MessageBatch | undefined
  let asking = false
  let pause: Cancel | undefined
  let over = false
  const watching = new Set<() => void>()

  const answered = (answer: Either<Full | Closed, unknown>): void => {
    asking = false
    // After it is closed nobody waits for room: whoever closes it takes back what is left.
    if (over || isLeft(answer)) return
    head = undefined
  }

  const failed = (error: unknown, batch: MessageBatch): void => {
    asking = false
    defect(error, batch)
    if (over) return
    pause = clock.schedule(ASK_AGAIN_AFTER, () => {
      pause = undefined
      go()
    })
  }

  const ask = (batch: MessageBatch): void => {
    let here = true
    asking = true
    whenAnswered(
      () => offer(batch),
      (answer) => {
        answered(answer)
        if (!here && head === undefined) go()
      },
      (error) => {
        failed(error, batch)
      },
    )
    here = false
  }

  const go = (): void => {
    if (asking || pause !== undefined || over || isEmpty()) return
    for (head ??= waiting.shift(); head !== undefined; head ??= waiting.shift()) {
      ask(head)
      // It answers later, it is full, or it failed. The compiler does not see that `ask` may have taken the head away.
      if ((head as MessageBatch | undefined) !== undefined) return
    }
    const told = [...watching]
    watching.clear()
    for (const task of told) task()
  }

  const isEmpty = (): boolean => head === undefined && waiting.size() === 0

  return {
    push: waiting.push,
    go,
    isEmpty,
    whenEmpty: (task) => {
      if (isEmpty()) {
        task()
        return nothingToCancel
      }
      watching.add(task)
      return () => {
        watching.delete(task)
      }
    },
    withdrawOldest: () => {
      if (asking || head === undefined) return waiting.shift()
      const oldest = head
      head = undefined
      return oldest
    },
    giveUp: () => {
      over = true
      pause?.()
      pause = undefined
      const left = head === undefined ? waiting.drain() : [head, ...waiting.drain()]
      head = undefined
      return left
    },
  }
}
