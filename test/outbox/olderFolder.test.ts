/** Folders that an earlier headrace wrote, by test/fixtures/folders/make.js. */
import { readFileSync, writeFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { take, type Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { createClient } from '../../src/client/createClient.ts'
import { storedMessages } from '../../src/client/message.ts'
import { systemClock, type Outcome } from '../../src/index.ts'
import { webhookDestination } from '../../src/destination/createDestination.ts'
import { storedEvents } from '../../src/destination/record.ts'
import { lmdbOutbox } from '../../src/outbox/lmdb/lmdbOutbox.ts'
import type { Receiver } from '../../src/testing/loopbackReceiver.ts'
import { all } from '../support/check.ts'
import { newFolder } from '../support/folder.ts'
import { receiverOf } from '../support/http.ts'

const HOUR = 3_600_000
const WRITTEN = Date.UTC(2026, 0, 1)
const LATE = WRITTEN + 4 * HOUR + 1_000
const FIRST = { destination: WRITTEN + 57, client: WRITTEN + 86 }

const copyOf = (name: string): string => {
  const path = newFolder()
  const file = new URL(`../fixtures/folders/${name}.mdb.gz`, import.meta.url)
  writeFileSync(`${path}/data.mdb`, gunzipSync(readFileSync(file)))
  return path
}

const answering = (code: number): Promise<Receiver> => receiverOf(() => ({ do: 'status', code }))

const optionsAt = (now: number, path: string) =>
  ({ clock: { ...systemClock, now: () => now }, logger: false, outbox: { path } }) as const

const textsOf = async (outcomes$: Observable<Outcome<{ readonly id: string }>>, count: number) => {
  const outcomes = await all(outcomes$.pipe(take(count)))
  return outcomes.map(({ _tag, item, attempts }) => `${_tag} ${item.id} ${String(attempts)}`).sort()
}

describe('the folder of a destination', () => {
  const open = ({ url }: Receiver, now: number, path: string) =>
    webhookDestination({ webhooks: [{ url }] }, optionsAt(now, path))

  it('holds new events, one that waits for a retry, and a dead letter', async () => {
    const outbox = lmdbOutbox({ path: copyOf('destination'), codec: storedEvents })
    const failed = { reason: 'status', status: 503 }
    expect(await outbox.lease(Number.MAX_VALUE, { count: 9, retries: 9 })).toMatchObject([
      {
        item: { id: 'failed', items: [{ type: 'track', event: 'Sold', userId: 'u1' }] },
        firstAttemptAt: FIRST.destination,
        progress: { attempts: 2, lastFailure: { _tag: 'AllFailed', causes: [{ failure: failed }] } },
      },
      ...['held', 'new 1', 'new 2'].map((id) => ({ item: { id } })),
    ])
    const causes = [{ failure: { _tag: 'Refused', reason: 'status', status: 410 } }]
    const outcome = { _tag: 'Rejected', attempts: 1, failure: { _tag: 'AllFailed', causes } }
    expect(await outbox.dead.list()).toMatchObject([
      { at: WRITTEN + 56, reason: 'ended', entry: { item: { id: 'gone' } }, outcome },
    ])
    await outbox.close()
  })

  it('is drained, also of its dead letter', async () => {
    const receiver = await answering(200)
    const destination = open(receiver, WRITTEN + HOUR, copyOf('destination'))
    const drained = ['Delivered failed 3', ...['held', 'new 1', 'new 2'].map((id) => `Delivered ${id} 1`)]
    expect(await textsOf(destination.outcomes$, 4)).toEqual(drained)
    expect(await destination.redrive(({ outcome }) => outcome._tag === 'Rejected')).toBe(1)
    expect(await destination.idle()).toMatchObject({ accepted: 5, delivered: 5, waiting: 0 })
    await destination.close()
    const idOf = (body: Buffer) => (JSON.parse(body.toString()) as { messageId: string }).messageId
    const ids = receiver.received.map(({ body }) => idOf(body)).sort()
    expect(ids).toEqual(['failed', 'gone', 'held', 'new 1', 'new 2'])
  })

  it('keeps the deadline of a retry', async () => {
    const destination = open(await answering(503), LATE, copyOf('destination'))
    const [outcome] = await all(destination.outcomes$.pipe(take(1)))
    const failure = { _tag: 'Expired', attempts: 2, firstAttemptAt: FIRST.destination }
    expect(outcome).toMatchObject({ _tag: 'Expired', item: { id: 'failed' }, attempts: 2, failure })
    const { totals } = await destination.close({ timeout: 0 })
    expect(totals).toMatchObject({ expired: 1, waiting: 3 })
    expect(await destination.idle()).toMatchObject({ waiting: 3 })
  })
})

describe('the folder of a client', () => {
  const open = ({ url: endpoint }: Receiver, now: number, path: string) =>
    createClient('a key', { endpoint, drainOnExit: false, flushAfter: Infinity, ...optionsAt(now, path) })

  it('holds new messages and two that wait for a retry', async () => {
    const outbox = lmdbOutbox({ path: copyOf('client'), codec: storedMessages })
    const progress = { attempts: 2, lastFailure: { _tag: 'Retryable', reason: 'status', status: 503 } }
    const tried = { firstAttemptAt: FIRST.client, progress }
    expect(await outbox.lease(Number.MAX_VALUE, { count: 9, retries: 9 })).toMatchObject([
      ...['failed', 'failed too'].map((id) => ({ item: { id }, ...tried })),
      ...['held', 'new'].map((id) => ({ item: { id, items: ['track'] } })),
    ])
    await outbox.close()
  })

  it('is drained', async () => {
    const client = open(await answering(200), WRITTEN + HOUR, copyOf('client'))
    const ended = textsOf(client.outcomes$, 4)
    expect(await client.flush()).toMatchObject({ accepted: 4, delivered: 4, waiting: 0 })
    const retries = ['Delivered failed 3', 'Delivered failed too 3']
    expect(await ended).toEqual([...retries, 'Delivered held 1', 'Delivered new 1'])
    await client.close()
  })

  it('keeps the deadline of a retry', async () => {
    const client = open(await answering(503), LATE, copyOf('client'))
    expect(await textsOf(client.outcomes$, 2)).toEqual(['Expired failed 2', 'Expired failed too 2'])
    const { totals } = await client.close({ timeout: 0 })
    expect(totals).toMatchObject({ expired: 2, waiting: 2 })
  })
})
