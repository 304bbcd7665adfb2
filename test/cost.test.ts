/** Cost is bounded by input: no request, answer or body costs more than a small multiple of its bytes. */
import { expect, it, vi } from 'vitest'
import type { Message } from '../src/client/message.ts'
import { memoryOutbox } from '../src/outbox/memoryOutbox.ts'
import { busy, event, open as openClient } from './client/virtual.ts'
import { ask, open } from './collector/kit.ts'
import { livingBytes } from './support/check.ts'

it('a batch of many messages gives other work its turn every 10 ms, one batch at a time', async () => {
  // A millisecond for each look at the machine's clock.
  let time = 0
  const machine = vi.spyOn(performance, 'now').mockImplementation(() => time++)
  const { collector } = open()
  const batch = Array.from({ length: 500 }, (_, at) => ({ type: 'page', userId: 'u', messageId: `m${at}` }))
  let turns = 0
  const count = (): void => {
    turns++
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  const answers = await Promise.all([1, 2].map(() => ask(collector, '/v1/batch', { batch })))
  clearImmediate(counting)
  machine.mockRestore()
  expect(answers).toMatchObject([{ status: 200 }, { status: 200 }])
  expect(turns).toBeGreaterThan(80)
})

it('calls of persisted() that wait cost the same, however many messages wait', async () => {
  const enqueue = (): never => {
    throw new Error('the disk is full')
  }
  const { client } = openClient(
    { outbox: { ...memoryOutbox<Message>(), keeps: () => true, enqueue } },
    () => ({ verdict: busy }),
  )
  const before = await livingBytes()
  for (let at = 0; at < 2_000; at++) {
    client.track(event(String(at)))
    void client.persisted()
  }
  // 8 bytes for each message that waits would be 16,000,000 more.
  expect((await livingBytes()) - before).toBeLessThan(18_000_000)
  await client.close({ timeout: 0 })
})
