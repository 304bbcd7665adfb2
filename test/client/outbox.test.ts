/** A client over an outbox of the host's. */
import { isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import type { MessageBatch } from '../../src/client/Message.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import type { Outbox } from '../../src/sink/Outbox.ts'
import { busy, event, open, yes } from './virtual.ts'

const durable = (): Outbox<MessageBatch> => {
  const inner = memoryOutbox<MessageBatch>()
  // What a store on disk does at a close: it keeps everything, and hands nothing back.
  return { ...inner, durable: true, abandon: () => [] }
}

describe('a client over an outbox of the host', () => {
  it('leaves in a durable one what has not ended, and a client after it delivers that, each message once', async () => {
    const outbox = durable()
    const before = open({ outbox, size: 2, concurrency: 2 }, () => ({ verdict: busy }))
    for (const id of ['a', 'b', 'c']) before.client.track(event(id))
    const { totals, abandoned } = await before.client.close({ timeout: 0 })
    expect([abandoned, before.ended()]).toEqual([[], []])
    expect(totals).toMatchObject({ accepted: 3, waiting: 3 })
    expect(before.clock.pending()).toBe(0)

    const after = open({ outbox, concurrency: 2 })
    expect(isRight(after.client.track(event('d')))).toBe(true)
    await after.clock.advance(60_000)
    expect(after.ended().toSorted()).toEqual(['Delivered a', 'Delivered b', 'Delivered c', 'Delivered d'])
    expect(after.client.stats()).toMatchObject({ accepted: 4, delivered: 4, waiting: 0 })
  })

  it('batches of an earlier life are accounted for when they end', async () => {
    const outbox = durable()
    const stored = open({ size: 2 })
    stored.client.track(event('a'))
    stored.client.track(event('b'))
    const [call] = stored.sink.calls
    if (call !== undefined) void outbox.append(call.item)
    const { client, ended, clock } = open({ outbox })
    await clock.settle()
    expect(ended()).toEqual([])
    // They were delivered before anybody could subscribe: the accounts know.
    expect(client.stats()).toMatchObject({ accepted: 2, delivered: 2, waiting: 0 })
  })

  it('with no room for one more batch, or failing, it is asked again, and the order is kept', async () => {
    let failing = true
    const inner = memoryOutbox<MessageBatch>({ maxCount: 1 })
    const outbox: Outbox<MessageBatch> = {
      ...inner,
      append: (batch) => {
        if (failing) throw new Error('the disk is full')
        return inner.append(batch)
      },
    }
    const { client, clock, ended, defects, requests } = open({ outbox, size: 1 }, () => ({
      verdict: yes,
      after: 10,
    }))
    for (const id of ['a', 'b', 'c']) expect(isRight(client.track(event(id)))).toBe(true)
    await clock.advance(1_500)
    expect([requests(), client.stats().waiting, defects()]).toEqual([[], 3, ['outbox', 'outbox']])
    failing = false
    const flushed = client.flush()
    await clock.advance(1_000)
    await flushed
    expect(ended()).toEqual(['Delivered a', 'Delivered b', 'Delivered c'])
    expect(clock.pending()).toBe(0)
  })

  it('a store that never answers keeps nobody from closing, and its messages come back', async () => {
    const outbox: Outbox<MessageBatch> = { ...memoryOutbox(), append: () => new Promise(() => undefined) }
    const { client, clock, ended } = open({ outbox, size: 1, timeout: 100 })
    client.track(event('a'))
    client.track(event('b'))
    const closing = client.close({ timeout: 50 })
    await clock.advance(1_000)
    expect((await closing).abandoned.map(({ id }) => id)).toEqual(['a', 'b'])
    expect(ended()).toEqual(['Abandoned a', 'Abandoned b'])
    expect(clock.pending()).toBe(0)
  })
})
