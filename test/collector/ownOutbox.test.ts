/** Destinations of a collector over outboxes of the host's, which keep text: what is sent is signed all the same (DE10). */
import { expect, it, onTestFinished } from 'vitest'
import { systemClock } from '../../src/core/clock.ts'
import { createCollector } from '../../src/collector/createCollector.ts'
import type { Event } from '../../src/event/event.ts'
import { bodyOf } from '../../src/event/payload.ts'
import type { Payload } from '../../src/event/payload.ts'
import { verifyRaw } from '../../src/signing/verify.ts'
import { sink } from '../../src/sink/fromFunction.ts'
import { loopbackReceiver } from '../../src/testing/loopbackReceiver.ts'
import { disk, reread, survivingOutbox } from '../outbox/survivingOutbox.ts'
import type { Disk } from '../outbox/survivingOutbox.ts'

it('signs what another life accepted, for webhooks and for a sink of the host', async () => {
  let healthy = false
  const receiver = await loopbackReceiver(() => ({ do: 'status', code: healthy ? 200 : 503 }))
  onTestFinished(receiver.close)
  const taken: string[] = []
  const own = sink('own', async (payload: Payload<Event>) => {
    if (!healthy) throw new Error('it is down')
    const body = bodyOf(payload, 0)
    taken.push(verifyRaw('of the sink', body, payload.signer?.(body))._tag)
    return taken.length
  })
  const open = (disks: ReadonlyMap<string, Disk<Payload<Event>>>) =>
    createCollector(
      {
        sources: [{ id: 'web', writeKey: 'wk' }],
        destinations: [
          {
            name: 'hooks',
            sources: ['web'],
            sharedSecret: 'of the hooks',
            webhooks: [{ url: receiver.url }],
          },
          { name: 'own', sources: ['web'], sharedSecret: 'of the sink', sink: own },
        ],
      },
      { logger: false, outbox: (name) => survivingOutbox(disks.get(name) ?? disk(), systemClock) },
    )

  const before = new Map(['hooks', 'own'].map((name) => [name, disk<Payload<Event>>()]))
  const first = open(before)
  const call = { type: 'track', userId: 'u1', event: 'Sold', messageId: 'm1' } as const
  expect((await first.accept('web', call))._tag).toBe('Right')
  await receiver.arrived(1)
  await first.close({ timeout: 0 })
  const count = receiver.received.length

  healthy = true
  const second = open(new Map([...before].map(([name, on]) => [name, reread(on)])))
  expect((await second.idle()).delivered).toBe(2)
  await second.close()
  expect(taken).toEqual(['Right'])
  const after = receiver.received.slice(count)
  expect(after).toHaveLength(1)
  for (const { body, headers } of after)
    expect(verifyRaw('of the hooks', body, headers['x-signature'])._tag).toBe('Right')
})
