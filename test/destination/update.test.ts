import { left } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import { closed } from '../../src/core/refusal.ts'
import { withConcurrency } from '../../src/sink/concurrency.ts'
import type { Destination } from '../../src/destination/destination.ts'
import { webhook } from '../../src/http/webhook.ts'
import { secretFrom, verifyRaw } from '../../src/signing/index.ts'
import type { Received } from '../../src/testing/loopbackReceiver.ts'
import { until } from '../support/http.ts'
import { destinationsUnderTest, status, to, track } from './destinationsUnderTest.ts'

const { open, receive } = destinationsUnderTest()

const isSignedBy = (secret: string, request: Received | undefined): boolean =>
  request !== undefined && verifyRaw(secret, request.body, request.headers['x-signature'])._tag === 'Right'

describe('update', () => {
  it('sends what waits with the new secret to the new URL; the request in flight ends by the old', async () => {
    const [before, after] = [await receive([status(503, 60)]), await receive()]
    const opened = open({ ...to(before), sharedSecret: 'old' })
    await opened.destination.send(track(1))
    await before.arrived(1)
    expect(opened.destination.update({ ...to(after), sharedSecret: 'new' })._tag).toBe('Right')
    await opened.destination.idle()
    expect(isSignedBy('old', before.received[0])).toBe(true)
    expect(isSignedBy('new', after.received[0])).toBe(true)
    expect([before.received.length, after.received.length]).toEqual([1, 1])
    const { urls, ...counts } = opened.destination.stats()
    const ends = { rejected: 0, expired: 0, dropped: 0, abandoned: 0, waiting: 0 }
    expect(counts).toMatchObject({ accepted: 1, delivered: 1, ...ends })
    expect(Object.keys(urls)).toEqual([after.url])
    await until(() => before.connections() === 0)
    expect(after.connections()).toBe(1)
  })

  it.each(['before', 'after', 'none'] as const)('what waits in a layer goes by the new: %s', async (to) => {
    const urls = { before: await receive([status(200, 60)]), after: await receive() }
    const settings = (secret: string, url = urls.before.url) => ({ webhooks: [{ url, secret }] })
    const { destination, defects } = open(settings('old'), { layer: withConcurrency({ concurrency: 1 }) })
    for (const n of [1, 2]) await destination.send(track(n))
    await urls.before.arrived(1)
    if (to === 'none') await destination.close({ timeout: 0 })
    else destination.update(settings('new', urls[to].url))
    await destination.idle()
    const received = [...urls.before.received, ...urls.after.received]
    const isNew = [...received.map((each) => isSignedBy('new', each)), ...defects]
    expect(isNew).toEqual(to === 'none' ? [false] : [false, true])
  })

  it('changes secret and headers of the same URL, and keeps the connection of a URL that stays', async () => {
    const receiver = await receive()
    const standardSecret = `whsec_${Buffer.alloc(24, 1).toString('base64')}`
    const { destination } = open({ ...to(receiver), sharedSecret: 'old', standardSecret })
    const sendAndWait = async (n: number): Promise<void> => {
      await destination.send(track(n))
      await destination.idle()
    }
    await sendAndWait(1)
    destination.update({ ...to(receiver), sharedSecret: 'old', standardSecret: [standardSecret] })
    await sendAndWait(2)
    expect(receiver.accepted()).toBe(1)
    const webhooks = [{ url: receiver.url, headers: { 'X-New': 'yes' } }]
    destination.update({ webhooks, sharedSecret: 'old', standardSecret })
    await sendAndWait(3)
    destination.update({ ...to(receiver), sharedSecret: 'new' })
    await sendAndWait(4)
    expect(receiver.received.map((each) => isSignedBy('new', each))).toEqual([false, false, false, true])
    const added = receiver.received.map(({ headers }) => ['webhook-signature' in headers, 'x-new' in headers])
    expect(added.join(' ')).toBe('true,false true,false true,true false,false')
    await until(() => receiver.connections() === 1)
  })

  it('is all or nothing, but for the toggle, which stays; and answers Closed after a close', async () => {
    const receiver = await receive()
    const { destination } = open(to(receiver), { messageIdHeader: 'X-Id' })
    const faultsOf = (given: unknown) => {
      // What code without types may give.
      const answer = destination.update(given as Parameters<Destination['update']>[0])
      return answer._tag === 'Left' && !('_tag' in answer.left) ? answer.left.map(({ path }) => path) : []
    }
    expect(faultsOf({ webhooks: [], sharedSecret: '' })).toEqual(['sharedSecret', 'webhooks'])
    const webhooks = [{ url: 'http://127.0.0.1:9/' }, { url: receiver.url, headers: { 'x-id': 'mine' } }]
    expect(faultsOf({ webhooks })).toEqual(['webhooks[1].headers.x-id'])
    const wrong = 'settings of a webhook destination: webhooks[1].headers.x-id belongs'
    expect(() => open({ webhooks }, { messageIdHeader: 'X-Id' })).toThrow(wrong)
    await destination.send(track(1))
    await destination.idle()
    expect(receiver.received.length).toBe(1)
    destination.update({ ...to(receiver), enabled: false })
    destination.update(to(receiver))
    expect(destination.stats().enabled).toBe(false)
    await destination.close()
    expect(destination.update(to(receiver))).toEqual(left(closed(undefined)))
  })
})

describe('a secret that is a function', () => {
  it('is asked at each attempt, by a destination and by a webhook', async () => {
    const receiver = await receive([status(503)])
    let asked = 0
    const { destination } = open({ ...to(receiver), sharedSecret: (): string => `secret ${++asked}` })
    await destination.send(track(1))
    await destination.idle()
    expect(receiver.received.map((each, at) => isSignedBy(`secret ${at + 1}`, each))).toEqual([true, true])
    // @ts-expect-error a secret is not a number
    expect(() => webhook({ url: receiver.url, secret: 5 })).toThrow('secret')
  })

  it('costs the attempt if it throws or answers no secret, which may be tried again', async () => {
    const receiver = await receive()
    const answers = ['throws', '', Promise.resolve('late'), secretFrom('right')]
    const sharedSecret = (): string => {
      const answer = answers.shift()
      if (answer === 'throws') throw new Error('planted')
      const isSecret = typeof answer === 'object' && '_tag' in answer && answer._tag === 'Right'
      // What code without types may answer.
      return (isSecret ? answer.right : answer) as string
    }
    const opened = open({ ...to(receiver), sharedSecret })
    await opened.destination.send(track(1))
    await opened.destination.idle()
    expect(receiver.received.map((each) => isSignedBy('right', each))).toEqual([true])
    expect(opened.outcomes).toMatchObject([{ _tag: 'Delivered', attempts: 4 }])
    expect(opened.defects).toEqual(Array.from({ length: 3 }, () => receiver.url))
  })
})
