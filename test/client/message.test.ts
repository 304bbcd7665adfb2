/** What a call becomes on the wire, and which calls are refused. */
import type { Client, ClientCall } from '../../src/client/client.ts'
import { bodyOf, maxHeldBytes } from '../../src/event/payload.ts'
import type { CallType, SentBatch } from '../../src/client/message.ts'
import { show } from '../../src/core/refusal.ts'
import { version } from '../../src/core/package.ts'
import { anything, event, open, turn } from './virtual.ts'
import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { throwing } from '../support/check.ts'

const wrong = (answer: ReturnType<Client['send']>): ReadonlyArray<string> =>
  isLeft(answer) && answer.left._tag === 'Invalid' ? answer.left.faults.map(({ path }) => path) : []

const sentOf = (it: SentBatch | undefined): ReadonlyArray<Record<string, unknown>> =>
  (JSON.parse(bodyOf(it ?? ({ members: [] } as never), 0)) as { batch: Array<Record<string, unknown>> }).batch

const one = async (call: ClientCall, options = {}): Promise<Record<string, unknown>> => {
  const { client, sink } = open({ size: 1, ...options })
  expect(isRight(client.send(call))).toBe(true)
  await turn()
  return sentOf(sink.calls[0]?.item)[0] ?? {}
}

const golden: Readonly<Record<CallType, (client: Client) => unknown>> = {
  identify: ({ identify }) => identify({ userId: 'u1', traits: { email: 'ada@example.com', plan: 'pro' } }),
  track: ({ track }) =>
    track({
      ...{ anonymousId: 'a1', event: 'Signed Up' },
      ...{ properties: { plan: 'pro', seats: 3 }, context: { ip: '192.0.2.1' } },
    }),
  page: ({ page }) =>
    page({
      ...{ userId: 'u1', name: 'Home', category: 'Docs' },
      ...{ properties: { url: 'https://a.example/', title: 'Ä' }, traits: { path: '/' } },
    }),
  screen: ({ screen }) => screen({ userId: 'u1', name: 'Start', properties: {} }),
  group: ({ group }) =>
    group({
      ...{ userId: 'u1', groupId: 'g1', traits: { seats: 3 } },
      integrations: { All: false, Mail: { list: 1 } },
    }),
  alias: ({ alias }) => alias({ previousId: 'a1', userId: 'u1', timestamp: '2024-02-29T12:00:00+02:00' }),
}

const goldenFile = new URL('../fixtures/client.json', import.meta.url)
type Bodies = Record<string, unknown>
// By kind, as the file has them.
const goldenBodies = JSON.parse(readFileSync(goldenFile, 'utf8').replaceAll('VERSION', version)) as Bodies

describe('what a client sends', () => {
  it.each(Object.entries(golden))('%s: the golden body (cases 1, 2, 8 to 10, 14)', async (type, call) => {
    const { client, sink } = open({ size: 1, newId: () => 'an-id' })
    call(client)
    await turn()
    const batch = sink.calls[0]?.item
    const body = bodyOf(batch ?? ({ members: [] } as never), Date.UTC(2026, 0, 1))
    expect(body).toBe(JSON.stringify(goldenBodies[type]))
    expect(batch).toMatchObject({ byteLength: Buffer.byteLength(body), items: [type] })
  })

  it('fills in the defaults of the options, and a call wins name by name', async () => {
    const context = { app: { name: 'shop' }, region: 'eu' }
    const options = { context, integrations: { All: false, Mail: true } }
    const call = { type: 'track', ...event('m') } as const
    expect(await one(call, options)).toMatchObject(options)
    const more = { ...call, context: { region: 'us' }, integrations: { Mail: false } }
    expect(await one(more, options)).toMatchObject({
      context: { app: { name: 'shop' }, region: 'us', library: { name: 'headrace-node', version } },
      integrations: { All: false, Mail: false },
    })
  })

  it('takes back what it handed back: the text of a message is a call again, and the same text', async () => {
    for (const call of Object.values(golden)) {
      const { client, sink } = open({ size: 1 })
      call(client)
      await turn()
      const text = sink.calls[0]?.item.members[0]?.text ?? ''
      client.send(JSON.parse(text) as ClientCall)
      await turn()
      expect(sink.calls[1]?.item.members[0]?.text).toBe(text)
    }
  })
})

describe('what a client refuses, before anything is queued', () => {
  it.each<readonly [string, (client: Client) => ReturnType<Client['send']>, string[]]>([
    ['2: an alias without both ids', ({ alias }) => alias(anything({})), ['previousId', 'userId']],
    ['3: a track without an event', ({ track }) => track(anything({ userId: 'u' })), ['event']],
    ['3: a page without a userId', ({ page }) => page(anything({ anonymousId: 'a' })), ['userId']],
    ['4: two empty ids', ({ identify }) => identify({ userId: '', anonymousId: '' }), ['userId']],
    ['5: an unknown type', ({ send }) => send(anything({ type: 'buy', userId: 'u' })), ['type']],
    ['5: no type', ({ send }) => send(anything({ userId: 'u' })), ['type']],
    ['a deletion', ({ send }) => send(anything({ type: 'delete', userId: 'u' })), ['type']],
    ['a type of another method', ({ track }) => track(anything({ ...event('m'), type: 'page' })), ['type']],
    [
      'every fault at once',
      ({ page }) => page(anything({ timestamp: 5, properties: { url: 7 }, context: 3 })),
      ['timestamp', 'properties.url', 'context', 'userId'],
    ],
  ])('%s', async (_, call, paths) => {
    const { client, sink, clock, told } = open({ size: 1 })
    expect(wrong(call(client)).toSorted()).toEqual(paths.toSorted())
    expect(client.track(event('next'))).toEqual({ _tag: 'Right', right: { id: 'next' } })
    await turn()
    expect(sink.calls.map(({ item }) => item.members.length)).toEqual([1])
    expect(client.stats()).toMatchObject({ accepted: 1, refused: 1, refusedBy: { Invalid: 1 } })
    expect(told.filter(({ _tag }) => _tag === 'NotAccepted')).toHaveLength(1)
    expect(clock.pending()).toBe(0)
  })

  it('4: an empty userId beside an anonymousId is none', async () =>
    expect(await one({ type: 'identify', userId: '', anonymousId: 'a' })).not.toHaveProperty('userId'))

  it('19: 32,000 bytes and not one more, and the neighbours do not notice', async () => {
    const { client, sink } = open({ size: 20 })
    const fill = (bytes: number) => client.track({ ...event('m'), properties: { pad: 'x'.repeat(bytes) } })
    client.track({ ...event('m'), properties: { pad: '' } })
    const spare = 32_000 - (client.stats().bytes - maxHeldBytes(0))
    expect(isRight(fill(spare))).toBe(true)
    const answer = fill(spare + 1)
    expect(answer).toMatchObject({ left: { _tag: 'TooLarge', limit: 32_000, size: 32_001, id: 'm' } })
    expect(isLeft(answer) && show(answer.left)).toContain('32000')
    void client.flush()
    await turn()
    expect(sink.calls[0]?.item.members).toHaveLength(2)
  })

  it('50: a disabled client checks, and queues nothing', async () => {
    const { client, sink, clock } = open({ enabled: false, size: 1 })
    expect(client.track(event('m'))).toMatchObject({ left: { _tag: 'Disabled' } })
    expect(wrong(client.track(anything({})))).toEqual(['event', 'userId'])
    const refusedBy = { Disabled: 1, Invalid: 1 }
    expect(client.stats()).toMatchObject({ enabled: false, accepted: 0, refusedBy })
    await client.close()
    expect([sink.calls.length, clock.pending()]).toEqual([0, 0])
  })
})

const fail = throwing('planted')

describe('hostile calls', () => {
  const cycle: Record<string, unknown> = { ...event('m') }
  cycle['properties'] = { cycle }
  let reads = 0
  const value = { enumerable: true, get: () => (reads++ % 2 === 0 ? 1 : BigInt(1)) }
  const fickle = { ...event('fickle'), properties: Object.defineProperties<object>({}, { value }) }
  it.each<readonly [string, unknown]>([
    ['nothing', undefined],
    ['text', 'track'],
    ['a proxy that throws', new Proxy({}, { ownKeys: fail, get: fail, getPrototypeOf: fail })],
    ['22: a cycle', cycle],
    ['22: a BigInt', { ...event('m'), properties: { big: BigInt(1) } }],
    ['an object that changes when it is looked at again', fickle],
  ])('%s is refused, and the next call goes its way', async (_, call) => {
    const { client, ended } = open()
    const answer = client.track(anything(call))
    expect(isLeft(answer) && answer.left._tag).toBe('Invalid')
    expect(isRight(client.track(event('next')))).toBe(true)
    expect(await client.flush()).toMatchObject({ accepted: 1, delivered: 1 })
    expect(ended()).toEqual(['Delivered next'])
  })
})
