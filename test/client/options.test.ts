import { inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createClient, ConfigError, type ClientOptions, OutboxError } from '../../src/client/index.ts'
import { lmdbOutbox } from '../../src/outbox/lmdb/lmdbOutbox.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import { faultPaths, thrown } from '../support/faults.ts'
import { newFolder } from '../support/folder.ts'
import { open } from './virtual.ts'

const faultsOf = (options: unknown, writeKey: unknown = 'a key'): ReadonlyArray<string> =>
  faultPaths(() => createClient(writeKey as string, options as ClientOptions))

describe('the options of a client', () => {
  const wrong: ReadonlyArray<readonly [string, unknown, ReadonlyArray<string>]> = [
    ['BA2: a size of nothing', { size: 0, flushAt: -1, flushAfter: NaN }, ['size', 'flushAt', 'flushAfter']],
    [
      'numbers',
      { maxMessageBytes: '1', maxBatchBytes: 1.5, maxCount: 0, maxBytes: -1, concurrency: 0, timeout: 0 },
      ['maxMessageBytes', 'maxBatchBytes', 'maxCount', 'maxBytes', 'concurrency', 'timeout'],
    ],
    ['12: an endpoint without a scheme', { endpoint: 'ingest.example' }, ['endpoint']],
    ['headers of the request', { headers: { Authorization: 'hidden' } }, ['headers.Authorization']],
    ['21: fits no batch', { maxMessageBytes: 30_000, maxBatchBytes: 30_047 }, ['maxMessageBytes']],
    ['a message that fits no queue', { maxBytes: 64_255 }, ['maxBytes']],
    [
      'things',
      {
        ...{ clock: {}, sink: {}, outbox: {}, logger: {}, retry: 5, overflow: 'block', enabled: 1 },
        drainOnExit: 'yes',
      },
      ['overflow', 'retry', 'enabled', 'outbox', 'sink', 'logger', 'drainOnExit', 'clock'],
    ],
    [
      'defaults that no event could have',
      { context: { device: 'x', n: NaN }, integrations: { All: 'no' } },
      ['context.device', 'context.n', 'integrations.All'],
    ],
    ['an outbox without dropOldest', { outbox: memoryOutbox(), overflow: 'dropOldest' }, ['overflow']],
    ['no object', 5, ['']],
    ['integrations of nothing', { integrations: '', context: 0 }, ['integrations', 'context']],
    [
      'things whose members are no functions',
      {
        outbox: { enqueue: 1, lease: 1, nack: 1, ack: 1 },
        sink: { name: 1, deliver: 1, close: 1 },
        clock: { now: 1, monotonic: 1, schedule: 1 },
      },
      ['outbox', 'sink', 'clock'],
    ],
  ]
  it.each(wrong)('%s', (_, options, paths) => expect(faultsOf(options).toSorted()).toEqual(paths.toSorted()))

  it('a write key', () => {
    for (const key of ['', null, 5, {}, ' padded', 'a:b']) expect(faultsOf({}, key)).toEqual(['writeKey'])
    expect(faultsOf({ sink: { name: 's', deliver: () => 0, close: () => 0 } }, '')).toEqual(['writeKey'])
  })

  it('names every fault at once, and no value', () => {
    const wrong = { size: 0, endpoint: 'http://user:hidden@a.example', headers: { Host: 'hidden' } }
    const error = thrown(() => createClient('se:cret', wrong))
    expect(error).toBeInstanceOf(ConfigError)
    const text = inspect(error) + JSON.stringify(error)
    expect(text).toContain('size')
    expect(text).not.toMatch(/hidden|se:cret/)
  })

  it('the key is in nothing that can be printed', () => {
    const client = createClient('the secret key', { logger: false })
    expect(inspect(client, { depth: 9, showHidden: true }) + JSON.stringify(client)).not.toContain('secret')
  })

  it('a folder of a destination is not taken for one of a client, and wrong options of a folder are named', async () => {
    const path = newFolder()
    const codec = { toText: JSON.stringify, fromText: JSON.parse, sizeOf: () => 1, kind: 'events' }
    await lmdbOutbox<string>({ path, codec }).close()
    expect(() => createClient('a key', { outbox: { path } })).toThrow(OutboxError)
    for (const outbox of [{ path: '' }, { path, maxCount: 0 }, { path, size: 3 }, { folder: path }])
      expect(faultsOf({ outbox })).toEqual([expect.stringMatching(/^outbox/)])
    expect(faultsOf({ outbox: { path }, overflow: 'dropOldest' })).toEqual(['overflow'])
  })

  it('all that may be set beside each other; 21: a message just fits its batch', () => {
    const bytes = { maxMessageBytes: 30_000, maxBatchBytes: 30_048, maxBytes: 60_256, flushAfter: Infinity }
    const more = { logger: console, drainOnExit: 5, ...bytes }
    const { client } = open({ overflow: 'dropNewest', outbox: memoryOutbox(), ...more })
    expect(client.stats()).toEqual({
      ...{ accepted: 0, delivered: 0, rejected: 0, expired: 0, dropped: 0, abandoned: 0, waiting: 0 },
      ...{ enabled: true, refused: 0, bytes: 0, batches: 0, attempts: 0, requests: 0, notPersisted: 0 },
      dead: 0,
      refusedBy: { Invalid: 0, TooLarge: 0, Full: 0, Disabled: 0, Closed: 0, NotStored: 0 },
    })
  })
})
