/** SDKs of other vendors, as their users install them: they post to a collector, and what they post comes out signed at a webhook. */
import { Analytics as Segment } from '@segment/analytics-node'
import RudderAnalytics from '@rudderstack/rudder-sdk-node'
import { expect, it, onTestFinished } from 'vitest'
import { createCollector } from '../../src/collector/createCollector.ts'
import { WebhookBody } from '../../src/event/webhookBody.ts'
import { verifyRaw } from '../../src/signing/verify.ts'
import { receiverOf } from '../support/http.ts'
import { onServer } from './kit.ts'

const SECRET = 'correct horse'

const start = async () => {
  const receiver = await receiverOf()
  const webhooks = [{ url: receiver.url }]
  const hooks = { name: 'Hooks', sources: ['server'], sharedSecret: SECRET, webhooks }
  const settings = { sources: [{ id: 'server', writeKey: 'wk' }], destinations: [hooks] }
  const collector = createCollector(settings, { logger: false })
  const server = await onServer(collector.listener)
  onTestFinished(async () => {
    await server.close()
    await collector.close({ timeout: 0 })
  })
  return { collector, receiver, server }
}

const when = new Date('2024-02-29T12:00:00.123Z')
const context = { ip: '203.0.113.9' }
const calls = {
  identify: { userId: 'u1', traits: { plan: 'pro', nested: { list: [1, null] } } },
  track: { userId: 'u1', event: 'Order Completed', properties: { total: 12.5 } },
  page: { userId: 'u1', name: 'Home', category: 'Docs', properties: { path: '/', title: 'Grüße' } },
  screen: { anonymousId: 'a1', name: 'Main' },
  group: { userId: 'u1', groupId: 'g1', traits: { seats: 3 } },
  alias: { previousId: 'a1', userId: 'u1' },
}

const kinds = ['identify', 'track', 'page', 'screen', 'group', 'alias'] as const

/** The calls arrived once each: signed, and as webhook bodies. */
const check = async ({ collector, receiver }: Awaited<ReturnType<typeof start>>, library: string) => {
  await collector.idle()
  const bodies = receiver.received.map(({ body, headers }) => {
    expect(verifyRaw(SECRET, body, String(headers['x-signature']))._tag).toBe('Right')
    const value = JSON.parse(body.toString()) as Record<string, unknown>
    expect(WebhookBody.decode(value)._tag).toBe('Right')
    return value
  })
  const expected = { ...calls, alias: { 'Previous ID': 'a1', 'User ID': 'u1' } }
  expect(bodies.map(({ type }) => String(type)).toSorted()).toEqual(Object.keys(expected).toSorted())
  for (const [type, body] of Object.entries(expected))
    expect(bodies.find((each) => each['type'] === type)).toMatchObject({
      ...body,
      version: 1,
      timestamp: when.toISOString(),
      messageId: expect.stringMatching(/.{20}/) as unknown,
      context: { ...context, library: { name: library } },
    })
}

it('the six calls of @segment/analytics-node arrive, rightly typed, and come out signed', async () => {
  const here = await start()
  const problems: unknown[] = []
  const client = new Segment({ writeKey: 'wk', host: here.server.url, path: '/v1/batch', flushAt: 4 })
  client.on('error', (error) => problems.push(error))
  for (const kind of kinds) client[kind]({ ...calls[kind], context, timestamp: when } as never)
  await client.closeAndFlush()
  await check(here, '@segment/analytics-node')
  expect(problems).toEqual([])
  expect(here.collector.stats()).toMatchObject({ received: 6, accepted: 6, answers: { 200: 2 } })
})

it.each([true, false])('six calls of @rudderstack/rudder-sdk-node arrive, compressed: %s', async (gzip) => {
  const here = await start()
  const client = new RudderAnalytics('wk', { dataPlaneUrl: here.server.url, flushAt: 3, gzip })
  const answers: unknown[] = []
  const more = { context, originalTimestamp: when }
  const heard = (error?: unknown): void => void answers.push(error)
  for (const kind of kinds) client[kind]({ ...calls[kind], ...more } as never, heard)
  while (answers.length < 6) {
    await client.flush()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await check(here, 'analytics-node')
  expect(answers.filter((error) => error !== undefined && error !== null)).toEqual([])
  expect(here.collector.stats()).toMatchObject({ received: 6, accepted: 6, refused: 0 })
})
