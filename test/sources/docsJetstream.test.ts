/** JetStream as a source, over a real server. Left out if there is none. */
import { jetstream, jetstreamManager, type JsMsg } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import { expect, test, vi } from 'vitest'
import { deliver, sink } from '../../src/index.ts'
import { acknowledged } from '../../src/sources/acknowledged.ts'
import { checkExamples, collectExamples } from '../support/examples.ts'
import { startNats } from '../support/servers.js'

const blocks = collectExamples().filter(({ text }) => text.includes('NATS_URL'))
const DRIVER = `
const whenDone = setInterval(async () => {
  const { num_pending, num_ack_pending } = await consumer.info()
  if (num_pending + num_ack_pending > 0) return
  clearInterval(whenDone)
  process.emit('SIGTERM')
}, 20)
`

test('what a process left without an answer or put back comes again, a bad message is terminated', async () => {
  const server = await startNats()
  const connection = await connect({ servers: server.url })
  const manager = await jetstreamManager(connection)
  await manager.streams.add({ name: 'EVENTS', subjects: ['events'] })
  await manager.consumers.add('EVENTS', { durable_name: 'headrace', ack_policy: 'explicit', ack_wait: 8e9 })
  for (const text of ['{"type":"delete","userId":"u1"}', '{"type":"delete","userId":"u2"}', 'oops'])
    await jetstream(connection).publish('events', text)
  const terminated = connection.subscribe('$JS.EVENT.ADVISORY.CONSUMER.MSG_TERMINATED.>')
  const crashing = await connect({ servers: server.url })
  await (await jetstream(crashing).consumers.get('EVENTS', 'headrace')).next()
  await crashing.close()
  const consumer = await jetstream(connection).consumers.get('EVENTS', 'headrace')
  const nak = vi.fn((message: JsMsg) => message.nak())
  const answers = { item: (message: JsMsg) => message.seq, ack: () => undefined, nak }
  const started = vi.fn(() => new Promise<void>(() => undefined))
  const messages = [await consumer.next()].flatMap((message) => message ?? [])
  const stuck = acknowledged(messages, answers, deliver(sink('stuck', started))).subscribe()
  await vi.waitFor(() => expect(started).toHaveBeenCalled(), 20_000)
  stuck.unsubscribe()
  expect(nak.mock.calls.map(([{ seq }]) => seq)).toEqual([2])
  vi.stubEnv('NATS_URL', server.url)
  const textOf = (text: string) => text.replace('const delivery', `${DRIVER}const delivery`)
  const run = blocks.map((block) => ({ ...block, flags: [], text: textOf(block.text) }))
  expect(await checkExamples(run, 120_000)).toEqual([[]])
  vi.unstubAllEnvs()
  const { delivered, ack_floor } = await consumer.info()
  // Two of five deliveries were the second ones.
  expect([delivered.consumer_seq, ack_floor.stream_seq, terminated.getReceived()]).toEqual([5, 3, 1])
  await Promise.all([connection.close(), server.stop()])
})
