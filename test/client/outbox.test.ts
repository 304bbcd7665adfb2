/** A client over an outbox of the host's. */
import { isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it, test } from 'vitest'
import type { MessageBatch } from '../../src/client/Message.ts'
import { bodyOf } from '../../src/event/payload.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { disk, reread, survivingOutbox } from '../outbox/survivingOutbox.ts'
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

  it('one that keeps text brings back whole batches, which are counted when they are sent, and not when they end', async () => {
    const on = disk<MessageBatch>()
    const before = open(
      (clock) => ({ outbox: survivingOutbox(on, clock), size: 2 }),
      () => ({ verdict: busy }),
    )
    for (const id of ['a', 'b']) before.client.track(event(id))
    await before.clock.settle()
    expect((await before.client.close({ timeout: 0 })).totals).toMatchObject({ accepted: 2, waiting: 2 })

    let down = true
    const after = open(
      (clock) => ({ outbox: survivingOutbox(reread(on), clock) }),
      () => ({ verdict: down ? busy : yes }),
    )
    await after.clock.advance(60_000)
    expect(after.client.stats()).toMatchObject({ accepted: 2, waiting: 2 })
    down = false
    after.client.track(event('c'))
    await after.clock.advance(600_000)
    expect(after.ended()).toEqual(['Delivered a', 'Delivered b', 'Delivered c'])
    expect(after.client.stats()).toMatchObject({ accepted: 3, delivered: 3, waiting: 0 })
    expect(after.defects()).toEqual([])
    const [sent, again] = after.sink.calls.map(({ item }) => bodyOf(item, 0))
    expect(sent).toMatch(/^\{"batch":\[\{.*"messageId":"b".*\}\],"sentAt":"1970-01-01T00:00:00.000Z"\}$/)
    expect(again).toBe(sent)
  })

  it('is given plain data: JSON and structuredClone leave it as it is', () => {
    const given: MessageBatch[] = []
    const inner = memoryOutbox<MessageBatch>()
    const outbox: Outbox<MessageBatch> = {
      ...inner,
      append: (batch) => {
        given.push(batch)
        return inner.append(batch)
      },
    }
    const { client } = open({ outbox, size: 2 })
    for (const id of ['a', 'b', '\u0000', '\ud800"']) client.track(event(id))
    expect(given).toHaveLength(2)
    expect(JSON.parse(JSON.stringify(given))).toStrictEqual(given)
    expect(structuredClone(given)).toStrictEqual(given)
  })

  test.each<[string, (item: MessageBatch) => unknown]>([
    ['nothing', () => null],
    ['text', JSON.stringify],
    ['no messages', ({ id }) => ({ id })],
    ['an empty batch', (item) => ({ ...item, members: [] })],
    [
      'messages without their texts',
      (item) => ({ ...item, members: item.members.map(({ id }) => ({ id })) }),
    ],
  ])('%s instead of a batch is a dead letter at once, and holds nobody back', async (_what, spoilt) => {
    const on = disk<MessageBatch>()
    const before = open(
      (clock) => ({ outbox: survivingOutbox(on, clock) }),
      () => ({ verdict: busy }),
    )
    before.client.track(event('a'))
    void before.client.flush()
    await before.clock.settle()
    await before.client.close({ timeout: 0 })
    // It stands for a store that does not keep what it was given.
    for (const [id, { entry, due }] of on.entries)
      on.entries.set(id, { entry: { ...entry, item: spoilt(entry.item) as MessageBatch }, due })

    const rest = reread(on)
    const after = open((clock) => ({ outbox: survivingOutbox(rest, clock) }))
    after.client.track(event('b'))
    await after.clock.advance(10_000)
    expect(after.ended()).toEqual(['Delivered b'])
    expect(after.client.stats()).toMatchObject({ accepted: 1, delivered: 1, waiting: 0 })
    expect(rest.dead.map(({ outcome }) => outcome)).toMatchObject([
      { _tag: 'Rejected', failure: { reason: 'unreadable' } },
    ])
    expect(after.defects()).toContain('outbox')
  })
})
