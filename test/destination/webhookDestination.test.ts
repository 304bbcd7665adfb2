import { describe, expect, it, vi } from 'vitest'
import { backgroundClock } from '../../src/core/clock.ts'
import type { Call } from '../../src/event/index.ts'
import { signatureOf, verifyRaw } from '../../src/signing/index.ts'
import { virtualClock } from '../../src/testing/index.ts'
import { throwing } from '../support/check.ts'
import { destinationsUnderTest, to, track } from './destinationsUnderTest.ts'

const calls: ReadonlyArray<Call> = [
  { type: 'page', userId: 'u', properties: { url: 'https://x.example', title: 'é😀' } },
  { type: 'screen', anonymousId: 'a', name: 'Home' },
  { type: 'identify', userId: 'u', traits: { n: -0, big: 1e21, '2': 1, '1': 2 } },
  { type: 'track', userId: 'u', event: 'Bought', properties: { price: 39.9, text: '\u2028</script>' } },
  { type: 'alias', previousId: 'a', userId: 'u' },
  { type: 'group', userId: 'u', groupId: 'g' },
  { type: 'delete', userId: 'u' },
]

const { open, receive } = destinationsUnderTest()

describe('webhookDestination', () => {
  it('gives a connection the time of an attempt', async () => {
    const timers = vi.spyOn(backgroundClock, 'schedule')
    const { destination } = open(to(await receive()), { timeout: 7_000 })
    await destination.send(track(1))
    await destination.idle()
    expect(timers.mock.calls.map(([delay]) => Math.ceil(delay))).toContain(7_000)
    timers.mockRestore()
  })

  it('posts every kind, signed, to each URL', async () => {
    const [a, b] = [await receive(), await receive()]
    const opened = open(to(a, b))
    for (const call of calls) expect((await opened.destination.send(call))._tag).toBe('Right')
    await opened.destination.idle()
    await Promise.all([a.arrived(calls.length), b.arrived(calls.length)])
    for (const { headers, body, method } of [...a.received, ...b.received]) {
      expect(method).toBe('POST')
      expect(headers).toMatchObject({ 'content-type': 'application/json', 'user-agent': 'headrace/1.0' })
      expect(verifyRaw('correct horse', body, headers['x-signature'])._tag).toBe('Right')
    }
    const kinds = a.received.map(({ body }) => (JSON.parse(body.toString()) as { type: string }).type)
    expect(kinds.sort()).toEqual(calls.map((call) => call.type).sort())
    expect(opened.outcomes.map((outcome) => outcome._tag)).toEqual(calls.map(() => 'Delivered'))
    expect(opened.destination.stats()).toMatchObject({ accepted: 7, delivered: 7, waiting: 0, refused: 0 })
  })

  it('is unsigned without a secret, and a URL may have a secret and headers of its own', async () => {
    const [plain, own] = [await receive(), await receive()]
    const { destination } = open({
      webhooks: [{ url: plain.url }, { url: own.url, secret: 'its own', headers: { 'X-Team': 'blue' } }],
    })
    await destination.send(track(1))
    await Promise.all([plain.arrived(1), own.arrived(1)])
    const body = own.received[0]?.body ?? Buffer.alloc(0)
    expect(plain.received[0]?.headers).not.toHaveProperty('x-signature')
    expect(plain.received[0]?.headers).not.toHaveProperty('x-team')
    expect(own.received[0]?.headers).toMatchObject({
      'x-signature': signatureOf('its own', body),
      'x-team': 'blue',
    })
  })

  it('retries after a timeout, which is logged as an error once', async () => {
    const clock = virtualClock()
    const receiver = await receive([{ do: 'silence' }, { do: 'silence' }])
    const opened = open(to(receiver), { timeout: 250, clock })
    await opened.destination.send(track(1))
    for (const n of [1, 2]) await receiver.arrived(n).then(() => clock.advance(260))
    await opened.destination.idle()
    expect(opened.outcomes).toMatchObject([{ _tag: 'Delivered', attempts: 3 }])
    expect(opened.errors).toHaveLength(1)
    expect(opened.errors[0]).toMatch(/time/i)
  })

  it('a URL that hangs delays no other: the attempts that skip it are counted', async () => {
    const [hanging, healthy] = [await receive(() => ({ do: 'silence' })), await receive()]
    const opened = open(to(hanging, healthy), { timeout: 60_000, maxInFlight: 20 })
    for (let n = 0; n < 200; n++) await opened.destination.send(track(n))
    await opened.destination.idle()
    const counts = Object.values(opened.destination.stats().urls)
    expect(opened.destination.stats().delivered).toBe(200)
    expect(counts.reduce((sum, url) => sum + url.skipped, 0)).toBe(200 - 16 - 20)
    expect(hanging.received.length).toBeLessThanOrEqual(16)
    expect(hanging.connections()).toBeLessThanOrEqual(16)
  })
})

it.each([
  ['throws', throwing('no key')],
  ['rejects', (() => Promise.reject(new Error('no key'))) as never],
])('an orderBy that %s sends the event without order, and is logged as a Defect', async (_, orderBy) => {
  const receiver = await receive()
  const { destination, defects } = open(to(receiver), { orderBy })
  await destination.send(track(1))
  expect(await destination.idle()).toMatchObject({ delivered: 1 })
  expect(defects).toEqual(['orderBy'])
})
