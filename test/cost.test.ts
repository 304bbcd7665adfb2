/** Cost is bounded by input: no request, answer or body costs more than a small multiple of its bytes. */
import { right } from 'fp-ts/lib/Either.js'
import { expect, it, vi } from 'vitest'
import { createCollector, traitNameOf } from '../src/collector/index.ts'
import type { Message } from '../src/client/message.ts'
import { sink } from '../src/index.ts'
import { memoryOutbox } from '../src/outbox/memoryOutbox.ts'
import { busy, event, open as openClient } from './client/virtual.ts'
import { ask, open } from './collector/kit.ts'
import { openOver, track } from './destination/virtual.ts'
import { livingBytes, throwing } from './support/check.ts'

/** The turns of the event loop that others have, if each look at the machine's clock is 16 ms later. */
const turnsDuring = async (work: () => Promise<unknown>): Promise<number> => {
  let [time, turns] = [0, 0]
  const machine = vi.spyOn(performance, 'now').mockImplementation(() => (time += 16))
  const count = (): void => {
    turns++
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  await work()
  clearImmediate(counting)
  machine.mockRestore()
  return turns
}

it('a batch of many messages gives other work its turn after each 16th, one batch at a time', async () => {
  const { collector } = open()
  const batch = Array.from({ length: 500 }, (_, at) => ({ type: 'page', userId: 'u', messageId: `m${at}` }))
  const work = async (): Promise<void> => {
    const answers = await Promise.all([1, 2].map(() => ask(collector, '/v1/batch', { batch })))
    expect(answers).toMatchObject([{ status: 200 }, { status: 200 }])
  }
  expect(await turnsDuring(work)).toBeGreaterThan(80)
})

it('a long queue of a sink that answers at once gives other work its turn', async () => {
  const destination = openOver([sink('a', () => right({ sink: 'a' }))], { logger: false })
  const work = (): Promise<unknown> => {
    for (let at = 0; at < 400; at++) void destination.send(track(`m${String(at)}`))
    return destination.idle()
  }
  expect(await turnsDuring(work)).toBeGreaterThan(20)
})

it('many sources, and many marks in a name, cost in proportion to their number', () => {
  const ids = Array.from({ length: 15_000 }, (_, n) => String(n).padStart(40, '0'))
  const destinations = [{ name: 'A', sources: ids, sink: sink('a', () => Promise.resolve()) }]
  const before = process.cpuUsage()
  traitNameOf(`a${'\u0f71'.repeat(20_000)}`)
  createCollector({ sources: ids.map((id) => ({ id, writeKey: id })), destinations }, { logger: false })
  // 0.4 s; before, each of the two took more than 10 s.
  expect(process.cpuUsage(before).user).toBeLessThan(4_000_000)
})

it('calls of persisted() that wait cost the same, however many messages wait', async () => {
  const outbox = { ...memoryOutbox<Message>(), keeps: () => true, enqueue: throwing('the disk is full') }
  const { client } = openClient({ outbox }, () => ({ verdict: busy }))
  const before = await livingBytes()
  for (let at = 0; at < 2_000; at++) {
    client.track(event(String(at)))
    void client.persisted()
  }
  // 8 bytes for each message that waits would be 16,000,000 more.
  expect((await livingBytes()) - before).toBeLessThan(18_000_000)
  await client.close({ timeout: 0 })
})
