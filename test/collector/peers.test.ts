/** SDKs of other vendors, as their users install them: they post to a collector, and what they post comes out signed at a webhook. */
import { Analytics as Segment } from '@segment/analytics-node'
import RudderAnalytics from '@rudderstack/rudder-sdk-node'
import { afterEach, describe, expect, it } from 'vitest'
import { createCollector } from '../../src/collector/createCollector.ts'
import type { Collector } from '../../src/collector/collector.ts'
import { WebhookBody } from '../../src/event/webhookBody.ts'
import { verifyRaw } from '../../src/signing/verify.ts'
import { loopbackReceiver, type Receiver } from '../../src/testing/loopbackReceiver.ts'
import { onServer, type Mounted } from './kit.ts'

const SECRET = 'correct horse'

interface World {
  readonly collector: Collector
  readonly server: Mounted
  readonly receiver: Receiver
}

let world: World | undefined
const start = async (): Promise<World> => {
  const receiver = await loopbackReceiver()
  const collector = createCollector(
    {
      sources: [{ id: 'server', writeKey: 'wk' }],
      destinations: [
        { name: 'Hooks', sources: ['server'], sharedSecret: SECRET, webhooks: [{ url: receiver.url }] },
      ],
    },
    { logger: false },
  )
  world = { collector, receiver, server: await onServer(collector.listener) }
  return world
}

afterEach(async () => {
  await world?.server.close()
  await world?.collector.close({ timeout: 0 })
  await world?.receiver.close()
  world = undefined
})

/** What arrived: verified, decoded, by kind. */
const arrived = async ({ collector, receiver }: World): Promise<Record<string, Record<string, unknown>>> => {
  await collector.idle()
  const bodies = receiver.received.map(({ body, headers }) => {
    const signature = String(headers['x-signature'])
    expect(verifyRaw(SECRET, body, signature)._tag).toBe('Right')
    const value = JSON.parse(body.toString()) as Record<string, unknown>
    expect(WebhookBody.decode(value)._tag).toBe('Right')
    return value
  })
  return Object.fromEntries(bodies.map((value) => [String(value['type']), value]))
}

const when = new Date('2024-02-29T12:00:00.123Z')
const context = { ip: '203.0.113.9' }

const home = { name: 'Home', category: 'Docs', properties: { path: '/', title: 'Grüße' } }

const expected = {
  identify: { userId: 'u1', traits: { plan: 'pro', nested: { list: [1, null] } } },
  track: { userId: 'u1', event: 'Order Completed', properties: { total: 12.5 } },
  page: { userId: 'u1', ...home },
  screen: { anonymousId: 'a1', name: 'Main' },
  group: { userId: 'u1', groupId: 'g1', traits: { seats: 3 } },
  alias: { 'Previous ID': 'a1', 'User ID': 'u1' },
}

const check = (bodies: Record<string, Record<string, unknown>>, library: string): void => {
  expect(Object.keys(bodies).sort()).toEqual(Object.keys(expected).sort())
  for (const [type, body] of Object.entries(expected)) {
    expect(bodies[type]).toMatchObject({
      ...body,
      version: 1,
      timestamp: when.toISOString(),
      messageId: expect.stringMatching(/.{20}/) as unknown,
      context: { ...context, library: { name: library } },
    })
  }
}

describe('the six calls arrive, rightly typed, and come out signed', () => {
  it('of @segment/analytics-node', async () => {
    const here = await start()
    const problems: unknown[] = []
    const client = new Segment({ writeKey: 'wk', host: here.server.url, path: '/v1/batch', flushAt: 4 })
    client.on('error', (error) => problems.push(error))
    const more = { context, timestamp: when }
    client.identify({ userId: 'u1', traits: expected.identify.traits, ...more })
    client.track({ userId: 'u1', event: 'Order Completed', properties: { total: 12.5 }, ...more })
    client.page({ userId: 'u1', ...home, ...more })
    client.screen({ anonymousId: 'a1', name: 'Main', ...more })
    client.group({ userId: 'u1', groupId: 'g1', traits: { seats: 3 }, ...more })
    client.alias({ previousId: 'a1', userId: 'u1', ...more })
    await client.closeAndFlush()
    check(await arrived(here), '@segment/analytics-node')
    expect(problems).toEqual([])
    expect(here.collector.stats()).toMatchObject({ received: 6, accepted: 6, answers: { 200: 2 } })
  })

  it.each([true, false])('of @rudderstack/rudder-sdk-node, compressed: %s', async (gzip) => {
    const here = await start()
    const client = new RudderAnalytics('wk', { dataPlaneUrl: here.server.url, flushAt: 3, gzip })
    const answers: unknown[] = []
    const more = { context, originalTimestamp: when }
    const heard = (error?: unknown): void => void answers.push(error)
    client.identify({ userId: 'u1', traits: expected.identify.traits, ...more }, heard)
    client.track({ userId: 'u1', event: 'Order Completed', properties: { total: 12.5 }, ...more }, heard)
    client.page({ userId: 'u1', ...home, ...more }, heard)
    client.screen({ anonymousId: 'a1', name: 'Main', ...more }, heard)
    client.group({ userId: 'u1', groupId: 'g1', traits: { seats: 3 }, ...more }, heard)
    client.alias({ previousId: 'a1', userId: 'u1', ...more }, heard)
    while (answers.length < 6) {
      await client.flush()
      await new Promise((resolve) => setImmediate(resolve))
    }
    check(await arrived(here), 'analytics-node')
    expect(answers.filter((error) => error !== undefined && error !== null)).toEqual([])
    expect(here.collector.stats()).toMatchObject({ received: 6, accepted: 6, refused: 0 })
  })
})
