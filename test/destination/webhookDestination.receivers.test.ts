import { readFileSync } from 'node:fs'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { both, deadline } from '../../src/policy/retryPolicy.ts'
import { loopbackReceiver } from '../../src/testing/loopbackReceiver.ts'
import type { Fault, FaultScript } from '../../src/testing/faults.ts'
import { adds, destinationsUnderTest, quick, status, to, track } from './destinationsUnderTest.ts'

const { open, receive } = destinationsUnderTest()

describe('webhookDestination', () => {
  it('the first success delivers; the others are not asked again', async () => {
    const [bad, good] = [await receive(() => status(503)), await receive()]
    const opened = open(to(bad, good))
    await opened.destination.send(track(1))
    await opened.destination.idle()
    await bad.arrived(1)
    expect(opened.outcomes).toMatchObject([{ _tag: 'Delivered', attempts: 1, receipt: { status: 200 } }])
    expect([bad.received.length, good.received.length]).toEqual([1, 1])
  })

  it('sends the same bytes again, and asks no URL that refused', async () => {
    const refusing = await receive(() => status(404))
    const slow = await receive([status(503), status(503)])
    const opened = open(to(refusing, slow))
    await opened.destination.send(track(1))
    await opened.destination.idle()
    expect(opened.outcomes).toMatchObject([{ _tag: 'Delivered', attempts: 3 }])
    expect([refusing.received.length, slow.received.length]).toEqual([1, 3])
    const seen = slow.received.map(
      ({ body, headers }) => `${body.toString()} ${String(headers['x-signature'])}`,
    )
    expect(new Set(seen).size).toBe(1)
  })

  it('when all refuse, the event is rejected with every cause in the order of the URLs', async () => {
    const [a, b] = [
      await receive(() => status(410, 20)),
      await receive(() => ({ do: 'redirect', to: 'self' })),
    ]
    const opened = open(to(a, b))
    await opened.destination.send(track(1))
    await opened.destination.idle()
    expect(opened.outcomes).toMatchObject([
      {
        _tag: 'Rejected',
        failure: {
          _tag: 'AllFailed',
          causes: [{ failure: { reason: 'status', status: 410 } }, { failure: { reason: 'redirect' } }],
        },
      },
    ])
    expect(b.received).toHaveLength(1)
  })

  it('expires at its deadline', async () => {
    const dead = await receive(() => status(500))
    const opened = open(to(dead), { retry: both(quick, deadline(40)) })
    await opened.destination.send(track(1))
    await opened.destination.idle()
    expect(opened.outcomes).toMatchObject([
      { _tag: 'Expired', failure: { lastFailure: { _tag: 'AllFailed' } } },
    ])
    expect(opened.destination.stats()).toMatchObject({ expired: 1, waiting: 0 })
  })

  it('a receiver that does not answer in time is asked again, and the timeout is logged as an error once', async () => {
    const sleepy = await receive([{ do: 'silence' }, { do: 'silence' }])
    const opened = open(to(sleepy), { timeout: 40 })
    await opened.destination.send(track(1))
    await opened.destination.idle()
    expect(opened.outcomes).toMatchObject([{ _tag: 'Delivered', attempts: 3 }])
    expect(opened.errors).toHaveLength(1)
    expect(opened.errors[0]).toMatch(/time/i)
  })

  it('a self-signed certificate gets no request, is final, and is logged as an error', async () => {
    const read = (name: string): Buffer => readFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url))
    const own = await receive([], {
      tls: { cert: read('selfSigned.cert.pem'), key: read('selfSigned.key.pem') },
    })
    const opened = open(to(own))
    await opened.destination.send(track(1))
    await opened.destination.send(track(2))
    await opened.destination.idle()
    expect(opened.outcomes.map((outcome) => outcome._tag)).toEqual(['Rejected', 'Rejected'])
    expect(own.received).toHaveLength(0)
    expect(opened.errors.filter((line) => line.includes('certificate')).length).toBeGreaterThan(0)
  })

  it('a URL that hangs delays no healthy one', async () => {
    const [hanging, healthy] = [await receive(() => ({ do: 'silence' })), await receive()]
    const opened = open(to(hanging, healthy), { timeout: 60_000 })
    for (let n = 0; n < 500; n++) await opened.destination.send(track(n))
    await opened.destination.idle()
    expect(opened.destination.stats()).toMatchObject({ delivered: 500, waiting: 0 })
    expect(hanging.received.length).toBeLessThanOrEqual(16)
    expect(hanging.connections()).toBeLessThanOrEqual(16)
  })

  it('a lane full of leftovers is passed over, and that is counted', async () => {
    const [hanging, healthy] = [await receive(() => ({ do: 'silence' })), await receive()]
    const opened = open(to(hanging, healthy), { timeout: 60_000, maxInFlight: 20 })
    for (let n = 0; n < 200; n++) await opened.destination.send(track(n))
    await opened.destination.idle()
    const counts = Object.values(opened.destination.stats().urls)
    expect(opened.destination.stats().delivered).toBe(200)
    expect(counts.reduce((sum, url) => sum + url.passedOver, 0)).toBe(200 - 16 - 20)
  })

  it('accounts for every event whatever the receivers do', async () => {
    const fault: fc.Arbitrary<Fault> = fc.constantFrom<Fault>(
      status(200),
      status(204),
      status(503),
      status(404),
      { do: 'reset' },
      { do: 'garbage' },
      { do: 'redirect', to: 'self' },
      { do: 'silence' },
    )
    const script: fc.Arbitrary<FaultScript> = fc.array(fault, { maxLength: 6, size: 'max' })
    const tags = new Set<string>()
    await fc.assert(
      fc.asyncProperty(
        fc.array(script, { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 1, max: 6 }),
        async (scripts, count) => {
          const receivers = await Promise.all(scripts.map((each) => loopbackReceiver(each)))
          const opened = open(to(...receivers), { timeout: 15, retry: both(quick, deadline(5_000)) })
          for (let n = 0; n < count; n++) await opened.destination.send(track(n))
          await opened.destination.idle()
          await opened.destination.close({ timeout: 0 })
          expect(adds(opened)).toBe(true)
          expect(opened.destination.stats()).toMatchObject({ accepted: count, waiting: 0, abandoned: 0 })
          expect(new Set(opened.outcomes.map((outcome) => outcome.item.id)).size).toBe(count)
          expect(opened.outcomes).toHaveLength(count)
          for (const outcome of opened.outcomes) tags.add(outcome._tag)
          await Promise.all(receivers.map((receiver) => receiver.close()))
        },
      ),
      { numRuns: 60 },
    )
    expect([...tags]).toEqual(expect.arrayContaining(['Delivered', 'Rejected']))
  }, 120_000)
})
