/** A destination over an outbox of the host's, which keeps text: what is signed must not depend on who stored it (DE10). */
import * as fc from 'fast-check'
import { isRight } from 'fp-ts/lib/Either.js'
import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import type { WebhookSettings } from '../../src/destination/settings.ts'
import { webhookDestination } from '../../src/destination/createDestination.ts'
import type { Event } from '../../src/event/event.ts'
import type { Payload } from '../../src/event/payload.ts'
import { toWebhookBody } from '../../src/event/webhookBody.ts'
import { encodePayload } from '../../src/event/payload.ts'
import { verifyRaw } from '../../src/signing/verify.ts'
import { loopbackReceiver } from '../../src/testing/loopbackReceiver.ts'
import { event } from '../arbitraries/event.ts'
import { disk, reread, survivingOutbox } from '../outbox/survivingOutbox.ts'
import type { Disk } from '../outbox/survivingOutbox.ts'

const track = (messageId: string) => ({ type: 'track', userId: 'u1', event: 'Sold', messageId }) as const

it('signs what another life accepted: at each URL with its own secret, or with the shared one', async () => {
  let healthy = false
  const receiver = await loopbackReceiver(() => ({ do: 'status', code: healthy ? 200 : 503 }))
  onTestFinished(receiver.close)
  // What code without types may say: the compiler allows no undefined here.
  const untyped = { url: `${receiver.url}none`, secret: undefined } as unknown as WebhookSettings
  const open = (on: Disk<Payload<Event>>, sharedSecret: string) =>
    webhookDestination(
      {
        sharedSecret,
        webhooks: [
          { url: `${receiver.url}shared` },
          untyped,
          { url: `${receiver.url}own`, secret: 'of this URL' },
        ],
      },
      { outbox: survivingOutbox(on, systemClock), logger: false },
    )
  const before = disk<Payload<Event>>()
  const first = open(before, 'an old secret')
  expect((await first.send(track('m1')))._tag).toBe('Right')
  await receiver.arrived(3)
  await first.close({ timeout: 0 })

  const count = receiver.received.length
  healthy = true
  const second = open(reread(before), 'a new secret')
  expect((await second.idle()).delivered).toBe(1)
  await second.close()
  const after = receiver.received.slice(count)
  expect(after.length).toBeGreaterThan(0)
  for (const { path, body, headers } of after) {
    const secret = path === '/own' ? 'of this URL' : 'a new secret'
    expect(verifyRaw(secret, body, headers['x-signature'])._tag).toBe('Right')
    expect(body).toEqual(receiver.received[0]?.body)
  }
})

it('hands its outbox plain data: JSON and structuredClone leave it as it is', () => {
  fc.assert(
    fc.property(event, (each) => {
      const payload = encodePayload(each.messageId, each, toWebhookBody(each), Infinity)
      if (!isRight(payload)) throw new Error('a canonical event can be written')
      expect(JSON.parse(JSON.stringify(payload.right))).toEqual(payload.right)
      expect(structuredClone(payload.right)).toEqual(payload.right)
    }),
    { numRuns: 1_000 },
  )
})

it('hands over no signer, so nothing that could sign lies in a store', async () => {
  const on = disk<Payload<Event>>()
  const destination = webhookDestination(
    { sharedSecret: 'correct horse', webhooks: [{ url: 'http://127.0.0.1:9' }] },
    { outbox: survivingOutbox(on, systemClock), logger: false },
  )
  await destination.send(track('m1'))
  await destination.close({ timeout: 0 })
  const [row] = [...on.entries.values()]
  expect(Object.keys(row?.entry.item ?? {})).toEqual(['id', 'items', 'text', 'byteLength'])
})
