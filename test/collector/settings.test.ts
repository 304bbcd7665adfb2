import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createCollector, decodeCollectorSettings, ConfigError } from '../../src/collector/index.ts'
import type { CollectorSettings, CollectorOptions } from '../../src/collector/index.ts'
import { secretFrom } from '../../src/signing/secret.ts'
import { memory } from '../../src/sink/memory.ts'
import { faultPaths, pathsIn, thrown } from '../support/faults.ts'
import { ask, basic } from './kit.ts'

const hooks = { name: 'Hooks', sources: ['web'], webhooks: [{ url: 'https://a.example/hook' }] }
const right = { sources: [{ id: 'web', writeKey: 'wk-s3cr3t' }], destinations: [hooks] }
const pathsOf = (input: unknown): ReadonlyArray<string> => pathsIn(decodeCollectorSettings(input))
const thrower = Object.defineProperty({}, 'sources', { get: () => expect.unreachable(), enumerable: true })
const withSource = (more: object): object => ({ ...right, sources: [{ ...right.sources[0], ...more }] })
const withDestination = (more: object): object => ({ ...right, destinations: [{ ...hooks, ...more }] })
const twice = ['x', './x'].map((path) => ({ ...hooks, name: path, outbox: { path } }))

describe('the settings of a collector', () => {
  it.each<[string, unknown, ReadonlyArray<string>]>([
    ['nothing', undefined, ['']],
    ['no members', {}, ['sources', 'destinations']],
    ['no source', { ...right, sources: [], destinations: [] }, ['sources']],
    ['a source that is no object', { ...right, sources: [5] }, ['sources[0]']],
    ['a misspelt key', { ...right, destination: [] }, ['destination']],
    ['a misspelt key of a source', withSource({ writekey: 1 }), ['sources[0].writekey']],
    ['no id', withSource({ id: '' }), ['sources[0].id']],
    ['no key', withSource({ writeKey: '' }), ['sources[0].writeKey']],
    ['a key with a colon', withSource({ writeKey: 'a:b' }), ['sources[0].writeKey']],
    ['a key that is no secret', withSource({ writeKey: {} }), ['sources[0].writeKey']],
    ['a wrong flag', withSource({ enabled: 1 }), ['sources[0].enabled']],
    ['another wrong flag', withSource({ deletions: 'yes' }), ['sources[0].deletions']],
    [
      'two of everything',
      { sources: [...right.sources, ...right.sources], destinations: [hooks, hooks] },
      ['sources[1].id', 'sources[1].writeKey', 'destinations[1].name'],
    ],
    ['a destination that is null', { ...right, destinations: [null] }, ['destinations[0]']],
    ['no name', withDestination({ name: undefined }), ['destinations[0].name']],
    ['the name All', withDestination({ name: 'All' }), ['destinations[0].name']],
    ['no connected source', withDestination({ sources: [] }), ['destinations[0].sources']],
    ['an unknown source', withDestination({ sources: ['wbe'] }), ['destinations[0].sources[0]']],
    [
      'wrong webhooks',
      withDestination({ webhooks: [{ url: 'ftp://a.example' }], sharedSecret: '' }),
      ['destinations[0].sharedSecret', 'destinations[0].webhooks[0].url'],
    ],
    ['no sink', withDestination({ webhooks: undefined, sink: {} }), ['destinations[0].sink']],
    ['webhooks and a sink', withDestination({ sink: memory() }), ['destinations[0]']],
    ['neither webhooks nor a sink', withDestination({ webhooks: undefined }), ['destinations[0]']],
    [
      'a header of a standard secret',
      withDestination({
        standardSecret: [`whsec_${Buffer.alloc(24, 1).toString('base64')}`],
        webhooks: [{ url: 'http://a.example', headers: { 'webhook-id': '1' } }],
      }),
      ['destinations[0].webhooks[0].headers.webhook-id'],
    ],
    ['one folder for two destinations', { ...right, destinations: twice }, ['destinations[1].outbox.path']],
    ['an undefined secret', withDestination({ sharedSecret: undefined }), ['destinations[0].sharedSecret']],
    ['no folder', withDestination({ outbox: 'x' }), ['destinations[0].outbox']],
    ['a getter that throws', thrower, ['']],
  ])('with %s are refused', (_, input, paths) => expect(pathsOf(input)).toEqual(paths))

  it('never show a write key or a secret', () => {
    const decoded = decodeCollectorSettings({
      ...right,
      destinations: [
        { ...hooks, sharedSecret: 's3cr3t', webhooks: [{ url: 'https://a.example', secret: 'own-s3cr3t' }] },
        { name: 'Own', sources: ['web'], sink: memory(), sharedSecret: 'sink-s3cr3t' },
      ],
    })
    expect(decoded._tag).toBe('Right')
    expect(inspect(decoded, { depth: 9 }) + JSON.stringify(decoded)).not.toContain('s3cr3t')
    expect(inspect(createCollector(right), { depth: 9, showHidden: true })).not.toContain('s3cr3t')
    const error = thrown(() => createCollector(withSource({ writeKey: ' wk-s3cr3t' }) as never))
    expect(error).toBeInstanceOf(ConfigError)
    expect(inspect(error)).toMatch(/sources\[0\].writeKey must not begin or end with white space/)
    expect(inspect(error)).not.toContain('s3cr3t')
  })

  it('take a write key as a Secret', async () => {
    const secret = secretFrom('wk')
    if (secret._tag === 'Left') return expect.unreachable()
    const destinations = [{ name: 'Own', sources: ['web'], sink: memory() }]
    const collector = createCollector({ sources: [{ id: 'web', writeKey: secret.right }], destinations })
    const statusWith = async (key: string): Promise<number> =>
      (await ask(collector, '/v1/page', { userId: 'u' }, { Authorization: basic(key) })).status
    const statuses = await Promise.all(['wk:', 'wk', 'wk:any password', 'wkx:'].map(statusWith))
    expect(statuses).toEqual([200, 200, 200, 401])
  })
})

// A caller without types.
const optionPaths = (options: unknown, given: unknown = right): ReadonlyArray<string> =>
  faultPaths(() => createCollector(given as CollectorSettings, options as CollectorOptions))

describe('the options of a collector', () => {
  const wrong = {
    ...{ maxMessageBytes: 1.5, uploadTimeout: -1, maxUploadBytes: NaN, maxInFlight: 0 },
    ...{ messageIdHeader: 'not a header', maxBodyBytes: Infinity, nope: 1, whenfull: 'refuse' },
    ...{ whenFull: 'x', onEvent: 5, newId: 5, random: 0.5, orderBy: 'userId', outbox: { path: 'x' } },
    ...{ logger: true, clock: null, retry: {}, egress: 'x', statuses: 5, timeout: '5' },
  }
  it.each(Object.entries<unknown>(wrong))('are refused by name: %s %o', (name, value) =>
    expect(optionPaths({ [name]: value })).toEqual([name]),
  )

  it('are refused all at once, with the settings', () => {
    expect(
      optionPaths({ maxBatchBytes: 0, onEvent: 'x', whenfull: 'refuse' }, { ...right, destinations: 5 }),
    ).toEqual(['destinations', 'onEvent', 'maxBatchBytes', 'whenfull'])
    expect(optionPaths({ egress: { to: 'x' } })).toEqual(['egress.to'])
    // Else events would wait in memory, and not in the folders that were meant.
    expect(optionPaths({ outbox: undefined })).toEqual(['outbox'])
    expect(optionPaths({ outbox: () => undefined })).toEqual(['destinations[0].outbox'])
    const own = withDestination({ webhooks: [{ url: 'https://a.example/', headers: { 'X-Id': '1' } }] })
    const at = 'destinations[0].webhooks[0].headers.X-Id'
    expect(optionPaths({ messageIdHeader: 'X-Id' }, own)).toEqual([at])
  })

  it('are accepted if they are right', () => {
    const right = { logger: false, whenFull: 'refuse', maxBatchBytes: 1, egress: 'public' }
    expect(optionPaths({ ...right, onEvent: undefined })).toEqual([])
  })
})
