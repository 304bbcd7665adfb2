import { left, right } from 'fp-ts/lib/Either.js'
import { Agent, MockAgent, errors } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { refused } from '../../src/index.ts'
import { createClient } from '../../src/client/index.ts'
import { webhookDestination } from '../../src/destination/index.ts'
import { webhook, type WebhookOptions } from '../../src/http/webhook.ts'
import { deliverOnce, hear, payloadOf } from '../sink/deliverOnce.ts'
import { receiverOf } from '../support/http.ts'
import { throwing } from '../support/check.ts'

const ORIGIN = 'http://receiver.example'
const url = `${ORIGIN}/hook`
const payload = payloadOf('{"a":1}')

const mocked = (): MockAgent => {
  const agent = new MockAgent()
  agent.disableNetConnect()
  onTestFinished(() => agent.close())
  return agent
}

const hookOver = (dispatcher: MockAgent, more: Partial<WebhookOptions> = {}) => {
  const hook = webhook({ url, dispatcher, ...more })
  onTestFinished(() => hook.close({ timeout: 10 }))
  return hook
}

const next = (agent: MockAgent) => agent.get(ORIGIN).intercept({ path: '/hook', method: 'POST' })

describe('a dispatcher of the host', () => {
  it('H7: a request that throws on the spot costs its item, and frees its place', async () => {
    const agent = mocked()
    agent.dispatch = throwing('thrown on the spot')
    const hook = hookOver(agent, { connections: 1 })
    for (let n = 0; n < 3; n++) {
      const { verdicts } = await deliverOnce(hook, payload)
      expect(verdicts).toMatchObject([{ left: { reason: 'network', detail: 'thrown on the spot' } }])
    }
  })

  it('carries the requests, with their headers and bodies', async () => {
    const agent = mocked()
    const seen: unknown[] = []
    next(agent).reply((request) => (seen.push(request.headers, request.body), { statusCode: 202 }))
    const { verdicts } = await deliverOnce(hookOver(agent, { secret: 's' }), payload)
    expect(verdicts).toEqual([right({ sink: `${ORIGIN}/hook`, status: 202 })])
    expect(JSON.stringify(seen)).toContain('X-Signature')
    expect(seen[1]).toEqual(Buffer.from('{"a":1}'))
  })

  it('that fails is a failure of the attempt', async () => {
    const agent = mocked()
    next(agent).reply(410)
    const hook = hookOver(agent)
    expect((await deliverOnce(hook, payload)).verdicts).toEqual([left(refused('status', { status: 410 }))])
    const wantsPassword = new errors.InvalidArgumentError('Proxy Authentication Required (407)')
    for (const error of [new Error('proxy is down'), wantsPassword]) {
      next(agent).replyWithError(error)
      expect((await deliverOnce(hook, payload)).verdicts).toMatchObject([left({ _tag: 'Retryable' })])
    }
  })

  it('is not closed with the sink, which aborts what was cancelled or is under way', async () => {
    const receiver = await receiverOf(() => ({ do: 'silence' }))
    const agent = new Agent()
    const hook = webhook({ url: receiver.url, dispatcher: agent, timeout: Infinity })
    const [{ cancel }, { told }] = [hear(hook, payload), hear(hook, payload)]
    await receiver.arrived(2)
    cancel()
    await hook.close({ timeout: 10 })
    expect(told[0]).toMatchObject({ left: { detail: 'the close of the sink cut its request' } })
    expect(agent.closed).toBe(false)
    // Nothing is left that would keep the agent from closing.
    await agent.close()
  })

  it('does not send what was cancelled while it waited there', async () => {
    const receiver = await receiverOf([{ do: 'status', code: 200, after: 50 }])
    const agent = new Agent({ connections: 1, pipelining: 1 })
    const hook = webhook({ url: receiver.url, dispatcher: agent })
    const [first, { cancel }] = [deliverOnce(hook, payload), hear(hook, payload)]
    await receiver.arrived(1)
    cancel()
    await first
    expect((await deliverOnce(hook, payload)).verdicts).toMatchObject([{ right: { status: 200 } }])
    expect(receiver.received).toHaveLength(2)
    await hook.close({ timeout: 10 })
    await agent.close()
  })

  it('carries the requests of a client, and of all URLs of a destination', async () => {
    const dispatcher = mocked()
    next(dispatcher).reply(200).times(2)
    const client = createClient('wk', { endpoint: url, dispatcher })
    client.track({ userId: 'u', event: 'e' })
    expect(await client.close()).toMatchObject({ totals: { delivered: 1 } })
    const destination = webhookDestination({ webhooks: [{ url }] }, { dispatcher })
    await destination.send({ type: 'delete', userId: 'u' })
    expect(await destination.close()).toMatchObject({ totals: { delivered: 1 } })
  })

  it('connects by itself, so options of connections are refused beside it', () => {
    const dispatcher = mocked()
    const refused = /dispatcher connects by itself/
    expect(() => webhook({ url, dispatcher, connectWithin: 5 })).toThrow(refused)
    expect(() => createClient('wk', { tls: {}, dispatcher })).toThrow(refused)
    expect(() => webhookDestination({ webhooks: [{ url, tls: {} }] }, { dispatcher })).toThrow(refused)
    expect(() => webhook({ url, dispatcher: { dispatch: 1 } as never })).toThrow(/an undici Dispatcher/)
    // The text of the URL is still checked.
    expect(() => webhook({ url: 'http://169.254.169.254/', dispatcher })).toThrow(/not allowed/)
  })
})
