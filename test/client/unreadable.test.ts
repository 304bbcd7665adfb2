/** A disk that spoils what a client keeps there: nobody waits for it, and it goes on counting as waiting. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, it, onTestFinished } from 'vitest'
import type { Client } from '../../src/client/Client.ts'
import type { ClientOptions } from '../../src/client/ClientOptions.ts'
import { createClient } from '../../src/client/createClient.ts'
import { batchCodec } from '../../src/client/keeping/batchCodec.ts'
import type { Message } from '../../src/client/Message.ts'
import { lmdbOutbox } from '../../src/outbox/lmdb/lmdbOutbox.ts'
import type { LmdbOutboxStats } from '../../src/outbox/lmdb/LmdbContract.ts'
import { exponential } from '../../src/policy/retryPolicy.ts'
import { scriptedSink } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { spoil } from '../outbox/lmdb/spoil.ts'
import { copyStore } from './keeping/grounds.ts'
import { busy, event, yes } from './virtual.ts'

const folder = (): string => {
  const path = mkdtempSync(`${tmpdir()}/headrace-client-`)
  onTestFinished(() => {
    rmSync(path, { recursive: true, force: true })
  })
  return path
}

/** A client whose endpoint is down until it is told otherwise. */
const open = (path: string, options: ClientOptions = {}) => {
  const clock = virtualClock()
  let down = true
  const sink = scriptedSink({ clock, reply: () => ({ verdict: down ? busy : yes }) })
  const client = createClient('a key', {
    sink,
    clock,
    outbox: { path },
    logger: false,
    drainOnExit: false,
    flushAfter: Infinity,
    retry: exponential(),
    ...options,
  })
  const heal = (): void => {
    down = false
  }
  return { client, clock, heal }
}

const send = (client: Client, ...ids: string[]): void => {
  for (const id of ids) expect(client.track(event(id))._tag).toBe('Right')
}

const statsIn = async (path: string): Promise<LmdbOutboxStats> => {
  const store = lmdbOutbox({ path, codec: batchCodec })
  const stats = store.stats()
  await store.close()
  return stats
}

/** What a kill leaves of three messages, in batches of so many. */
const killed = async (size: number): Promise<string> => {
  const [before, after] = [folder(), folder()]
  const { client } = open(before, { size })
  send(client, 'm1', 'm2', 'm3')
  expect(await client.persisted()).toBe(true)
  copyStore(before, after)
  await client.close({ timeout: 0 })
  return after
}

it.each([
  ['a part of an open batch', 20],
  ['a closed batch', 3],
])('keeps nobody waiting: %s', async (_, size) => {
  const path = await killed(size)
  spoil(path, '"messageId":"m2"')
  const given: Array<Promise<unknown>> = []
  const { client, heal } = open(path, { waitUntil: (ended) => void given.push(ended) })
  heal()
  expect(client.stats()).toMatchObject({ accepted: 3, waiting: 3 })
  expect(given).toEqual([])
  for (const id of ['m4', 'm5']) {
    send(client, id)
    await client.flush()
    await given.at(-1)
  }
  expect(given).toHaveLength(2)
  expect(await client.close({ timeout: Infinity })).toMatchObject({
    totals: { accepted: 5, delivered: 2, waiting: 3 },
    abandoned: [],
  })
  expect(await statsIn(path)).toMatchObject({ waiting: 3, unreadable: 3, quarantined: 1 })
})

it('keeps nobody waiting who saw it accepted, nor those who come later', async () => {
  const path = folder()
  const given: Array<Promise<unknown>> = []
  const told: Message[] = []
  const { client, clock, heal } = open(path, { size: 2, waitUntil: (ended) => void given.push(ended) })
  client.outcomes$.subscribe(({ item }) => told.push(item))
  send(client, 'm1', 'm2', 'm3', 'm4')
  expect(await client.persisted()).toBe(true)
  spoil(path, '"messageId":"m4"')
  heal()
  const flushed = client.flush()
  const flushedLater = client.flush({ timeout: Infinity })
  while (client.stats().delivered < 2) await clock.advance(1_000)
  expect(await flushed).toMatchObject({ accepted: 4, delivered: 2, waiting: 2 })
  await flushedLater
  await given[0]
  // A flush that begins when all has come to rest.
  expect(await client.flush()).toMatchObject({ waiting: 2 })
  send(client, 'm5', 'm6')
  expect(await client.flush()).toMatchObject({ accepted: 6, delivered: 4, waiting: 2 })
  expect(given).toHaveLength(2)
  await given[1]
  expect(told.map(({ id }) => id)).toEqual(['m1', 'm2', 'm5', 'm6'])
  await client.close()
  expect(await statsIn(path)).toMatchObject({ waiting: 2, unreadable: 2, quarantined: 1 })
})
