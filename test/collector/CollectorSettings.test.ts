import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createCollector } from '../../src/collector/createCollector.ts'
import { decodeCollectorSettings } from '../../src/collector/settings.ts'
import { ConfigError } from '../../src/core/refusal.ts'
import { secretFrom } from '../../src/signing/secret.ts'
import { memory } from '../../src/sink/memory.ts'
import { basic } from './mounts.ts'

const hooks = { name: 'Hooks', sources: ['web'], webhooks: [{ url: 'https://a.example/hook' }] }
const right = { sources: [{ id: 'web', writeKey: 'wk-s3cr3t' }], destinations: [hooks] }

const faultsOf = (input: unknown): ReadonlyArray<string> => {
  const decoded = decodeCollectorSettings(input)
  return decoded._tag === 'Left' ? decoded.left.map(({ path, message }) => `${path} ${message}`) : []
}

const withSource = (more: object): object => ({ ...right, sources: [{ ...right.sources[0], ...more }] })
const withDestination = (more: object): object => ({ ...right, destinations: [{ ...hooks, ...more }] })

describe('the settings of a collector', () => {
  it.each<[string, unknown, ReadonlyArray<string>]>([
    ['nothing', undefined, [' the settings must be an object with sources and destinations']],
    [
      'no members',
      {},
      [
        'sources must be an array of one source or more, each with an id and a writeKey',
        'destinations must be an array',
      ],
    ],
    [
      'no source',
      { ...right, sources: [], destinations: [] },
      ['sources must be an array of one source or more, each with an id and a writeKey'],
    ],
    [
      'a source that is none',
      { ...right, sources: [5] },
      [
        'sources[0] must be an object with an id and a writeKey',
        'destinations[0].sources[0] is no id of a source',
      ],
    ],
    [
      'a misspelt key',
      { ...right, destination: [] },
      ['destination is no setting; there are sources, destinations'],
    ],
    [
      'a misspelt source',
      withSource({ writekey: 1 }),
      ['sources[0].writekey is no setting; there are id, writeKey, enabled, deletions'],
    ],
    [
      'no id',
      withSource({ id: '' }),
      ['sources[0].id must be a string that is not empty', 'destinations[0].sources[0] is no id of a source'],
    ],
    ['no key', withSource({ writeKey: '' }), ['sources[0].writeKey must not be empty']],
    [
      'a key that cannot be sent',
      withSource({ writeKey: 'a:b' }),
      ['sources[0].writeKey must not have a colon: Basic authentication would cut it there'],
    ],
    [
      'a key that is none',
      withSource({ writeKey: {} }),
      ['sources[0].writeKey must be a string, or a secret from secretFrom'],
    ],
    [
      'switches that are none',
      withSource({ enabled: 1, deletions: 'yes' }),
      ['sources[0].enabled must be true or false', 'sources[0].deletions must be true or false'],
    ],
    [
      'two of everything',
      { sources: [...right.sources, ...right.sources], destinations: [hooks, hooks] },
      [
        'sources[1].id is the same as sources[0].id',
        'sources[1].writeKey is the same as sources[0].writeKey',
        'destinations[1].name is the same as destinations[0].name',
      ],
    ],
    [
      'a destination that is none',
      { ...right, destinations: [null] },
      ['destinations[0] must be an object with a name, sources and webhooks'],
    ],
    [
      'no name',
      withDestination({ name: undefined }),
      ['destinations[0].name must be a string that is not empty'],
    ],
    [
      'a name that means all',
      withDestination({ name: 'All' }),
      ['destinations[0].name must not be All: in an integrations map that means every destination'],
    ],
    [
      'nothing connected',
      withDestination({ sources: [] }),
      ['destinations[0].sources must name the ids of one source or more'],
    ],
    [
      'an unknown source',
      withDestination({ sources: ['wbe'] }),
      ['destinations[0].sources[0] is no id of a source'],
    ],
    [
      'wrong webhooks',
      withDestination({ webhooks: [{ url: 'ftp://a.example' }], sharedSecret: '' }),
      [
        'destinations[0].sharedSecret must not be empty',
        'destinations[0].webhooks[0].url must begin with http:// or https://',
      ],
    ],
    [
      'a sink that is none',
      withDestination({ webhooks: undefined, sink: {} }),
      ['destinations[0].sink must be a sink'],
    ],
    [
      'both',
      withDestination({ sink: memory() }),
      ['destinations[0] must have either webhooks or a sink, not both'],
    ],
    [
      'neither',
      withDestination({ webhooks: undefined }),
      ['destinations[0].webhooks must be an array of 1 to 5 entries with a url'],
    ],
  ])('with %s are wrong', (_, input, faults) => {
    expect(faultsOf(input)).toEqual(faults)
  })

  it('that throw when they are looked at are wrong too', () => {
    const thrower = Object.defineProperty({}, 'sources', {
      get: () => expect.unreachable(),
      enumerable: true,
    })
    expect(faultsOf(thrower)).toEqual([' the settings could not be read: give plain data'])
  })

  it('never show a write key or a secret', () => {
    const decoded = decodeCollectorSettings({
      ...right,
      destinations: [
        {
          ...hooks,
          sharedSecret: 'shared-s3cr3t',
          webhooks: [{ url: 'https://a.example', secret: 'own-s3cr3t' }],
        },
        { name: 'Own', sources: ['web'], sink: memory(), sharedSecret: 'sink-s3cr3t' },
      ],
    })
    expect(decoded._tag).toBe('Right')
    expect(inspect(decoded, { depth: 9 }) + JSON.stringify(decoded)).not.toContain('s3cr3t')
    expect(inspect(createCollector(right), { depth: 9, showHidden: true })).not.toContain('s3cr3t')
    try {
      createCollector(withSource({ writeKey: ' wk-s3cr3t' }) as never)
      expect.unreachable()
    } catch (error) {
      expect(error).toBeInstanceOf(ConfigError)
      expect(inspect(error)).toMatch(/sources\[0\].writeKey must not begin or end with white space/)
      expect(inspect(error)).not.toContain('s3cr3t')
    }
  })

  it('may hold a write key as a secret', async () => {
    const secret = secretFrom('wk')
    if (secret._tag === 'Left') return expect.unreachable()
    const { handle } = createCollector({
      sources: [{ id: 'web', writeKey: secret.right }],
      destinations: [{ name: 'Own', sources: ['web'], sink: memory() }],
    })
    const ask = (key: string): Promise<Response> =>
      handle(
        new Request('http://x/v1/page', {
          method: 'POST',
          body: '{"userId":"u"}',
          headers: { Authorization: basic(key) },
        }),
      )
    expect((await ask('wk:')).status).toBe(200)
    expect((await ask('wk')).status).toBe(200)
    expect((await ask('wk:any password')).status).toBe(200)
    expect((await ask('wkx:')).status).toBe(401)
  })

  it.each([
    ['maxBatch', 0],
    ['maxMessage', 1.5],
    ['uploadTimeout', -1],
    ['maxUploading', Number.NaN],
    ['maxCount', 0],
  ])('go with numbers that are right: %s is named', (name, value) => {
    expect(() => createCollector(right, { [name]: value })).toThrow(
      new RegExp(`options of a collector are wrong[^]*${name} must be a whole number from 1`),
    )
  })

  it('go with options that are right for every webhook', () => {
    expect(() => createCollector(right, { messageIdHeader: 'not a header' })).toThrow(ConfigError)
  })
})
