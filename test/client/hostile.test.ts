import { isLeft, isRight } from 'fp-ts/lib/Either.js'
import { describe, expect, it } from 'vitest'
import type { Client } from '../../src/client/Client.ts'
import { event, open } from './virtual.ts'

const fail = (): never => {
  throw new Error('a planted error')
}

const anything = (call: unknown): never => call as never

describe('hostile calls', () => {
  const cycle: Record<string, unknown> = { ...event('m') }
  cycle['properties'] = { cycle }
  let reads = 0
  const fickle = {
    ...event('fickle'),
    properties: {
      get value() {
        return reads++ % 2 === 0 ? 1 : BigInt(1)
      },
    },
  }
  const refused: ReadonlyArray<readonly [string, unknown]> = [
    ['nothing', undefined],
    ['null', null],
    ['text', 'track'],
    ['a function', fail],
    ['a list', [event('m')]],
    [
      'a proxy that throws',
      new Proxy({}, { ownKeys: fail, get: fail, getOwnPropertyDescriptor: fail, getPrototypeOf: fail }),
    ],
    [
      'a proxy that is revoked',
      (() => {
        const { proxy, revoke } = Proxy.revocable({}, {})
        revoke()
        return proxy
      })(),
    ],
    [
      'a getter that throws',
      {
        ...event('m'),
        get properties() {
          return fail()
        },
      },
    ],
    ['22: a cycle', cycle],
    ['22: a BigInt', { ...event('m'), properties: { big: BigInt(1) } }],
    ['22: a toJSON that throws', { ...event('m'), properties: { toJSON: fail } }],
    ['an object that changes when it is looked at again', fickle],
    ['NaN', { ...event('m'), properties: { n: Number.NaN } }],
    ['a Map', { ...event('m'), properties: { map: new Map() } }],
    ['an own __proto__', { ...event('m'), properties: JSON.parse('{"__proto__":1}') as object }],
    [
      'too deep',
      { ...event('m'), properties: JSON.parse('{"a":'.repeat(300) + '1' + '}'.repeat(300)) as object },
    ],
  ]
  it.each(refused)('%s is refused, and the next call goes its way', async (_, call) => {
    const { client, ended } = open()
    const answer = client.track(anything(call))
    expect(isLeft(answer) && answer.left._tag).toBe('Invalid')
    expect(isRight(client.track(event('next')))).toBe(true)
    expect(await client.flush()).toMatchObject({ accepted: 1, delivered: 1 })
    expect(ended()).toEqual(['Delivered next'])
  })

  it('a frozen call, one behind a proxy, and one that stands for another are as good as any', async () => {
    const { client, ended } = open()
    const freeze = (value: object): object => Object.freeze(value)
    client.track(anything(freeze({ ...event('frozen'), properties: freeze({ a: 1 }) })))
    client.track(anything(new Proxy({ ...event('proxied'), properties: new Proxy({ a: 1 }, {}) }, {})))
    client.track(anything({ toJSON: () => event('meant') }))
    client.track(anything({ ...event('dated'), properties: { at: new Date(0) } }))
    await client.flush()
    expect(ended()).toEqual(['frozen', 'proxied', 'meant', 'dated'].map((id) => `Delivered ${id}`))
  })

  it('keys that no event has are left out, and told', () => {
    const { client, told } = open()
    client.track(anything({ ...event('m'), colour: 'red' }))
    expect(told.flatMap((each) => (each._tag === 'UnknownKeys' ? each.keys : []))).toEqual(['colour'])
  })

  it('a call that calls the client: what it sends is sent, and the order is that of acceptance', async () => {
    const calls: string[] = []
    const nested = (client: Client): object => ({
      ...event('outer'),
      properties: {
        toJSON: () => {
          if (calls.length === 0) {
            calls.push('inner')
            client.track(event('inner'))
          }
          return {}
        },
      },
    })
    const { client, requests } = open()
    client.track(anything(nested(client)))
    await client.flush()
    expect(requests()).toEqual(['0 inner,outer'])
  })
})
