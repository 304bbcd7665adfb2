import { describe, expect, it } from 'vitest'
import { exponential } from '../../src/policy/index.ts'
import type { Call } from '../../src/event/index.ts'
import { signatureOf, verifyRaw } from '../../src/signing/index.ts'
import { testCertificates } from '../../src/testing/certificate.ts'
import { adds, destinationsUnderTest, status, to, track } from './destinationsUnderTest.ts'

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

  it('while it is off it answers Disabled; what was accepted goes on', async () => {
    const receiver = await receive([status(503)])
    const opened = open(to(receiver))
    await opened.destination.send(track(1))
    opened.destination.disable()
    expect(await opened.destination.send(track(2))).toMatchObject({
      _tag: 'Left',
      left: { _tag: 'Disabled' },
    })
    await opened.destination.idle()
    expect(opened.outcomes).toMatchObject([{ _tag: 'Delivered' }])
    opened.destination.enable()
    expect((await opened.destination.send(track(3)))._tag).toBe('Right')
    expect(opened.destination.stats()).toMatchObject({ refused: 1, accepted: 2 })
    const off = open({ enabled: false, webhooks: [{ url: 'http://127.0.0.1:9/' }] })
    expect(await off.destination.send(track(1))).toMatchObject({ left: { _tag: 'Disabled' } })
  })

  it('answers Full at its bound; ready resolves when there is room', async () => {
    const gate = { open: false }
    const receiver = await receive(() => (gate.open ? status(200) : status(503)))
    const opened = open(to(receiver), { maxCount: 2 })
    await opened.destination.send(track(1))
    await opened.destination.send(track(2))
    const third = track(3)
    expect(await opened.destination.send(third)).toMatchObject({
      left: { _tag: 'Full', limit: 2, input: third },
    })
    let through = false
    const ready = opened.destination.ready().then(() => (through = true))
    await receiver.arrived(4)
    expect(through).toBe(false)
    gate.open = true
    await ready
    expect((await opened.destination.send(third))._tag).toBe('Right')
    await opened.destination.idle()
    expect(adds(opened)).toBe(true)
  })

  it('refuses invalid events with every fault, and large ones with their size', async () => {
    const receiver = await receive()
    const opened = open(to(receiver))
    const wrong = { type: 'track', properties: 7 } as unknown as Call
    const answers = [
      await opened.destination.send(wrong),
      await opened.destination.send(track('big', { properties: { text: 'x'.repeat(64_000) } })),
      await opened.destination.send(track('fine')),
    ]
    await opened.destination.idle()
    expect(answers).toMatchObject([
      {
        left: {
          _tag: 'Invalid',
          faults: expect.arrayContaining([expect.objectContaining({ path: 'event' })]),
        },
      },
      { left: { _tag: 'TooLarge', limit: 64_000, id: 'mbig' } },
      { right: { id: 'mfine' } },
    ])
    expect(opened.destination.stats()).toMatchObject({ refused: 2, accepted: 1, delivered: 1 })
  })

  it('close lets requests in flight end, answers the other events, and leaves no socket', async () => {
    const slow = await receive((request) =>
      request.body.toString().includes('"m1"') ? status(200, 50) : status(503),
    )
    const opened = open(to(slow), { retry: exponential({ base: 60_000 }) })
    await opened.destination.send(track(1))
    await opened.destination.send(track(2))
    await slow.arrived(2)
    const closing = opened.destination.close()
    expect(opened.destination.close()).toBe(closing)
    expect(await opened.destination.send(track(3))).toMatchObject({ left: { _tag: 'Closed' } })
    const { totals, abandoned } = await closing
    expect(totals).toMatchObject({ accepted: 2, delivered: 1, abandoned: 1, waiting: 0 })
    expect(abandoned.map((item) => item.id)).toEqual(['m2'])
    expect(opened.outcomes.map((outcome) => outcome._tag).sort()).toEqual(['Abandoned', 'Delivered'])
    await expect.poll(slow.connections).toBe(0)
  })

  it('retries after a timeout, which is logged as an error once', async () => {
    const sleepy = await receive([{ do: 'silence' }, { do: 'silence' }])
    const opened = open(to(sleepy), { timeout: 250 })
    await opened.destination.send(track(1))
    await opened.destination.idle()
    expect(opened.outcomes).toMatchObject([{ _tag: 'Delivered', attempts: 3 }])
    expect(opened.errors).toHaveLength(1)
    expect(opened.errors[0]).toMatch(/time/i)
  })

  it('a self-signed certificate is final, gets no request, and is logged as an error', async () => {
    const own = await receive([], { tls: testCertificates().selfSigned })
    const opened = open(to(own))
    await opened.destination.send(track(1))
    await opened.destination.send(track(2))
    await opened.destination.idle()
    expect(opened.outcomes.map((outcome) => outcome._tag)).toEqual(['Rejected', 'Rejected'])
    expect(own.received).toHaveLength(0)
    expect(opened.errors.filter((line) => line.includes('certificate')).length).toBeGreaterThan(0)
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

describe('orderBy', () => {
  it('that throws sends the event without order, and is logged as a Defect', async () => {
    const receiver = await receive()
    const defects: unknown[] = []
    const { destination } = open(to(receiver), {
      orderBy: () => {
        throw new Error('no key')
      },
      onEvent: (event) => {
        if (event._tag === 'Defect') defects.push(event.where)
      },
    })
    await destination.send(track(1))
    expect(await destination.idle()).toMatchObject({ delivered: 1 })
    expect(defects).toEqual(['orderBy'])
  })
})
