import { describe, expect, it } from 'vitest'
import { accounts } from '../../../src/client/queue/accounts.ts'
import { endings } from '../../../src/client/queue/endings.ts'
import { flushing } from '../../../src/client/queue/flushing.ts'
import type { Message, MessageBatch } from '../../../src/client/Message.ts'
import { frameBytes } from '../../../src/event/payload.ts'
import { trackingFrame } from '../../../src/event/trackingMessage.ts'
import { hot } from '../../../src/log/streams.ts'
import { delivered } from '../../../src/core/outcome.ts'
import type { Outcome } from '../../../src/core/outcome.ts'
import { virtualClock } from '../../../src/testing/virtualClock.ts'

const batch = (id: string): MessageBatch => ({
  id,
  items: [],
  members: [],
  byteLength: frameBytes(trackingFrame),
  closedBy: 'count',
})

describe('batches of which a store failed to say that it has them', () => {
  it('are remembered, each end but the first is passed over, and the memory of them is bounded', () => {
    const clock = virtualClock()
    const books = accounts({ maxCount: 10, maxBytes: 10_000 })
    let freed = 0
    const ends = endings({
      accounts: books,
      flushes: flushing(clock, books.totals),
      outcomes: hot<Outcome<Message>>(() => undefined),
      onEvent: () => undefined,
      hears: () => false,
      now: clock.now,
      restores: 'uncounted',
      freed: () => {
        freed++
      },
    })
    const end = (id: string): number => {
      ends.end(delivered(batch(id), 1, { sink: 's' }))
      return freed
    }
    ends.begin(batch('first'))
    ends.doubt(batch('first'))
    expect([end('first'), end('first'), end('first')]).toEqual([1, 1, 1])
    for (let n = 0; n < 1_000; n++) ends.doubt(batch(String(n)))
    // Forgotten by now: it counts as one of an earlier life.
    expect(end('first')).toBe(2)
    expect(end('999')).toBe(2)
  })
})
