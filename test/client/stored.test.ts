/** A client whose messages wait in a folder: real disk, real HTTP, the machine's clock. */
import { expect, it } from 'vitest'
import type { Client } from '../../src/client/client.ts'
import { createClient, type ClientOptions } from '../../src/client/index.ts'
import { ConfigError, OutboxError } from '../../src/destination/index.ts'
import { lmdbOutbox } from '../../src/outbox/lmdb/lmdbOutbox.ts'
import { newFolder } from '../support/folder.ts'
import type { Receiver } from '../../src/testing/loopbackReceiver.ts'
import { receiverOf } from '../support/http.ts'

const endpoint = async (code: () => number): Promise<Receiver> => {
  const receiver = await receiverOf(() => ({ do: 'status', code: code() }))
  return receiver
}

const event = (n: number) => ({ userId: 'u1', event: 'Seen', messageId: `m${String(n)}` })

/** Two lives need not know of each other: the folder is given back at the end of the first. */
const open = (receiver: Receiver, path: string, options: ClientOptions = {}): Client =>
  createClient('a key', {
    endpoint: receiver.url,
    outbox: { path },
    logger: false,
    drainOnExit: false,
    flushAfter: Infinity,
    ...options,
  })

/** The ids that arrived, in the order of their first arrival, and what else came twice. */
const arrived = ({ received }: Receiver): ReadonlyArray<string> => {
  const ids = received.flatMap(({ body }) => {
    const { batch } = JSON.parse(body.toString()) as { batch: ReadonlyArray<{ messageId: string }> }
    return batch.map(({ messageId }) => messageId)
  })
  return [...new Set(ids)]
}

it('what waited at a close is there for the next one: closed batches, those in a retry, and the one that was open', async () => {
  let code = 503
  const [path, receiver] = [newFolder(), await endpoint(() => code)]
  const first = open(receiver, path)
  for (let n = 0; n < 47; n++) first.track(event(n))
  await receiver.arrived(1)
  const { totals, abandoned } = await first.close({ timeout: 0 })
  expect(totals).toMatchObject({ accepted: 47, delivered: 0, waiting: 47 })
  expect(abandoned).toEqual([])

  code = 200
  const second = open(receiver, path)
  expect(second.stats()).toMatchObject({ accepted: 47, waiting: 47, notPersisted: 0 })
  second.track(event(47))
  expect(await second.persisted()).toBe(true)
  const { totals: after } = await second.close()
  expect(after).toMatchObject({ accepted: 48, delivered: 48, waiting: 0 })
  expect(arrived(receiver)).toHaveLength(48)
})

it('a folder of a destination is not taken for one of a client, and bad options are named', async () => {
  const [path, receiver] = [newFolder(), await endpoint(() => 200)]
  const codec = { toText: JSON.stringify, fromText: JSON.parse, sizeOf: () => 1, kind: 'events' }
  await lmdbOutbox<string>({ path, codec }).close()
  expect(() => open(receiver, path)).toThrow(OutboxError)
  for (const outbox of [{ path: '' }, { path, maxCount: 0 }, { path, size: 3 }, { folder: path }])
    // The types forbid it.
    expect(() => open(receiver, path, { outbox: outbox as never })).toThrow(ConfigError)
  expect(() => open(receiver, path, { overflow: 'dropOldest' })).toThrow(/dropOldest/)
})
