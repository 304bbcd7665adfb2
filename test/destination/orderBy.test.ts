import { afterEach, describe, expect, it } from 'vitest'
import type { Destination, DestinationOptions } from '../../src/destination/destination.ts'
import { webhookDestination } from '../../src/destination/createDestination.ts'
import type { TrackCall } from '../../src/event/call.ts'
import type { LogEvent } from '../../src/log/logEvent.ts'
import { capDelay, exponential } from '../../src/policy/retryPolicy.ts'
import { loopbackReceiver } from '../../src/testing/loopbackReceiver.ts'
import type { Receiver } from '../../src/testing/loopbackReceiver.ts'

const track = (n: number, userId: string): TrackCall => ({
  type: 'track',
  userId,
  event: 'Seen',
  messageId: `m${String(n)}`,
})
const byUser: DestinationOptions['orderBy'] = (event) => ('userId' in event ? (event.userId ?? '') : '')
const timers = (): number => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length

const closers: Array<() => Promise<unknown>> = []
afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()))
})

const open = (
  receiver: Receiver,
  options: DestinationOptions,
): { readonly destination: Destination; readonly told: LogEvent[] } => {
  const told: LogEvent[] = []
  const destination = webhookDestination(
    { webhooks: [{ url: receiver.url }] },
    { logger: false, onEvent: (happening) => told.push(happening), ...options },
  )
  closers.push(receiver.close, () => destination.close({ timeout: 0 }))
  return { destination, told }
}

describe('orderBy', () => {
  it('a close hands back the head and what waits behind it, in order, and leaves no timer', async () => {
    const receiver = await loopbackReceiver(() => ({ do: 'status', code: 503 }))
    const before = timers()
    const { destination } = open(receiver, { orderBy: byUser, retry: exponential({ base: 600_000 }) })
    for (let n = 0; n < 3; n++) await destination.send(track(n, 'u'))
    await expect.poll(() => destination.stats().urls[receiver.url]?.failed).toBe(1)
    // It has 30 s, longer than this test; but nothing is due in them.
    const { abandoned, totals } = await destination.close()
    expect(abandoned.map(({ id }) => id)).toEqual(['m0', 'm1', 'm2'])
    expect(totals).toMatchObject({ accepted: 3, abandoned: 3, waiting: 0 })
    await expect.poll(timers).toBe(before)
  })

  it('many keys at once fill no lane', async () => {
    const receiver = await loopbackReceiver()
    const { destination } = open(receiver, { orderBy: byUser })
    for (let n = 0; n < 1_500; n++) void destination.send(track(n, `u${String(n)}`))
    await destination.idle()
    expect(destination.stats()).toMatchObject({ delivered: 1_500 })
    expect(destination.stats().urls[receiver.url]).toMatchObject({ passedOver: 0, failed: 0 })
  })

  it('counts the attempts of an event as they were', async () => {
    let failures = 2
    const receiver = await loopbackReceiver(() => ({ do: 'status', code: failures-- > 0 ? 503 : 200 }))
    const { destination } = open(receiver, { orderBy: byUser, retry: capDelay(2)(exponential({ base: 1 })) })
    const outcomes: unknown[] = []
    destination.outcomes$.subscribe((outcome) => outcomes.push(outcome))
    await destination.send(track(1, 'u'))
    await destination.idle()
    expect(outcomes).toMatchObject([{ _tag: 'Delivered', attempts: 3 }])
  })

  it('an event whose key cannot be told is delivered without an order, and the defect is told', async () => {
    const receiver = await loopbackReceiver()
    const { destination, told } = open(receiver, {
      orderBy: () => {
        throw new Error('no key')
      },
    })
    await destination.send(track(1, 'u'))
    await expect.poll(() => destination.stats().delivered).toBe(1)
    expect(told.filter(({ _tag }) => _tag === 'Defect')).toHaveLength(1)
  })
})
