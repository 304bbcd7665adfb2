/** Outboxes that a host could bring, which remember what they were asked to take. */
import type { MessageBatch } from '../../src/client/Message.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import type { VirtualClock } from '../../src/testing/virtualClock.ts'

export type OutboxKind = 'own' | 'memory' | 'slow' | 'failing'

export interface Appended {
  readonly at: number
  readonly batch: MessageBatch
}

export interface Store {
  readonly outbox: Outbox<MessageBatch>
  readonly appended: ReadonlyArray<Appended>
}

/** A slow one answers after a while, a failing one fails every other time; both have room for few batches. */
export const outboxes = (kind: OutboxKind, clock: VirtualClock): Store | undefined => {
  if (kind === 'own') return undefined
  const inner = memoryOutbox<MessageBatch>({ maxCount: kind === 'memory' ? 1_000 : 3 })
  const appended: Appended[] = []
  let asked = 0
  const later = <T>(value: () => T): Promise<T> =>
    new Promise((resolve) => {
      clock.schedule(3, () => {
        resolve(value())
      })
    })
  const take: Outbox<MessageBatch>['enqueue'] = (batches) => {
    const answers = inner.enqueue(batches)
    // This one answers at once.
    if ('length' in answers)
      for (const [at, batch] of batches.entries())
        if (answers[at]?._tag === 'Right') appended.push({ at: clock.monotonic(), batch })
    return answers
  }
  return {
    appended,
    outbox: {
      ...inner,
      enqueue: (batch) => {
        asked++
        if (kind === 'memory') return take(batch)
        if (kind === 'failing' && asked % 2 === 1) {
          if (asked % 4 === 1) throw new Error('a planted failure')
          return Promise.reject(new Error('a planted failure'))
        }
        return later(() => take(batch)).then((answer) => answer)
      },
    },
  }
}
