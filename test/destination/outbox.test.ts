import { expect, it } from 'vitest'
import type { Event } from '../../src/event/index.ts'
import { left, right } from '../../src/core/either.ts'
import { full } from '../../src/core/refusal.ts'
import type { Payload } from '../../src/index.ts'
import { memoryOutbox } from '../../src/outbox/index.ts'
import { storedEvents } from '../../src/destination/record.ts'
import { lmdbOutbox } from '../../src/outbox/lmdb/lmdbOutbox.ts'
import { webhookDestination, ConfigError } from '../../src/destination/index.ts'
import type { DestinationOptions } from '../../src/destination/destination.ts'
import { verifyRaw } from '../../src/signing/verify.ts'
import { logLine } from '../../src/log/debug.ts'
import type { LogEvent } from '../../src/log/logEvent.ts'
import { newFolder } from '../support/folder.ts'
import { receiverOf } from '../support/http.ts'
import { track } from './virtual.ts'

const nowhere = { webhooks: [{ url: 'http://127.0.0.1:9/' }] }

it('events of an earlier process are delivered: the same bytes and id, signed with the current secret', async () => {
  const path = newFolder()
  let healthy = false
  const receiver = await receiverOf(() => ({ do: 'status', code: healthy ? 200 : 404 }))
  const statuses = [{ from: 404, to: 404, means: 'retry' }] as const
  const options = { outbox: { path }, logger: false, messageIdHeader: 'X-Message-Id', statuses } as const
  const open = (sharedSecret: string) =>
    webhookDestination({ sharedSecret, webhooks: [{ url: receiver.url }] }, options)

  const first = open('an old secret')
  for (const id of ['m1', 'm2', 'm3']) expect((await first.send(track(id)))._tag).toBe('Right')
  await receiver.arrived(3)
  const { totals, abandoned } = await first.close({ timeout: 0 })
  expect(totals).toMatchObject({ accepted: 3, delivered: 0, abandoned: 0, waiting: 3 })
  expect(abandoned).toEqual([])

  healthy = true
  const second = open('a new secret')
  expect(second.stats()).toMatchObject({ accepted: 3, waiting: 3 })
  expect(await second.idle()).toMatchObject({ delivered: 3, waiting: 0 })
  await second.close()

  // A retry may come before another's first attempt, so all that came before the restart is looked at.
  const [before, after] = [receiver.received.slice(0, -3), receiver.received.slice(-3)]
  const bodies = (all: typeof after): ReadonlyArray<string> =>
    [...new Set(all.map(({ body }) => body.toString()))].sort((a, b) => a.localeCompare(b))
  expect(bodies(after)).toEqual(bodies(before))
  for (const { body, headers } of after)
    expect(verifyRaw('a new secret', body, headers['x-signature'])._tag).toBe('Right')
  const ids = after.map(({ headers }) => String(headers['x-message-id']))
  expect(ids.sort((a, b) => a.localeCompare(b))).toEqual(['m1', 'm2', 'm3'])
})

it.each([{}, { orderBy: ({ type }: Event) => type }])('sendIn over a host outbox: %o', async (order) => {
  const outbox = {
    ...memoryOutbox<Payload<Event>>(),
    stored: [''],
    async enqueueIn(_client: unknown, items: ReadonlyArray<Payload<Event>>) {
      this.stored = items.map(({ id }) => id)
      return items[0]?.id === 'm1' ? right(undefined) : left(full(items[0] as Payload<Event>, 'count', 1))
    },
  }
  const destination = webhookDestination(nowhere, { outbox, ...order, logger: false })
  const sendIn = async (id: string) => destination.sendIn(() => undefined, track(id))
  expect(await destination.sendIn(() => undefined, {} as never)).toMatchObject({ left: { _tag: 'Invalid' } })
  expect(await sendIn('m1')).toEqual(right({ id: 'm1' }))
  expect(await sendIn('m2')).toMatchObject({ left: { _tag: 'Full', input: track('m2') } })
  destination.disable()
  expect(await sendIn('m3')).toMatchObject({ left: { _tag: 'Disabled' } })
  destination.enable()
  await destination[Symbol.asyncDispose]()
  expect(await sendIn('m3')).toMatchObject({ left: { _tag: 'Closed' } })
  expect(outbox.stored).toEqual(['m2'])
  // The outbox is free again.
  await webhookDestination(nowhere, { outbox, logger: false }).close()
})

it('the order within a key holds over a restart', async () => {
  const outbox = { path: newFolder() }
  let code = 503
  const receiver = await receiverOf(() => ({ do: 'status', code }))
  const options = { outbox, orderBy: ({ type }: Event) => type, logger: false } as const
  const open = () => webhookDestination({ webhooks: [{ url: receiver.url }] }, options)
  const first = open()
  for (const id of ['m1', 'm2']) await first.send(track(id))
  await receiver.arrived(1)
  await first.close({ timeout: 0 })
  code = 200
  const second = open()
  await second.send(track('m3'))
  await second.idle()
  const ids = receiver.received.map(({ body }) => /m\d/.exec(String(body))?.[0])
  for (const each of [[...new Set(ids)], ids.slice(-3)]) expect(each).toEqual(['m1', 'm2', 'm3'])
  await second.close()
})

it('a stored event that cannot be read counts as rejected, and is logged once', async () => {
  const path = newFolder()
  const before = lmdbOutbox({ path, codec: { ...storedEvents, toText: () => 'not an event' } })
  await before.enqueue([{ id: 'm1', items: [], text: '', byteLength: 0 } as unknown as Payload<Event>])
  await before.close()
  const told: LogEvent[] = []
  const onEvent = (event: LogEvent) => told.push(event)
  const destination = webhookDestination(nowhere, { outbox: { path, maxCount: 1 }, logger: false, onEvent })
  const ready = destination.ready()
  expect(await destination.idle()).toMatchObject({ accepted: 1, rejected: 1, waiting: 0 })
  await ready
  const log = told.filter(({ _tag }) => _tag === 'Corrupt' || _tag === 'Defect').map(logLine)
  expect(log).toEqual(['the stored record 1 cannot be read; it is a dead letter now'])
  await destination.close()
})

it('ready counts events that are still being written to the folder', async () => {
  const receiver = await receiverOf()
  const options = { outbox: { path: newFolder(), maxCount: 2 }, logger: false } as const
  const destination = webhookDestination({ webhooks: [{ url: receiver.url }] }, options)
  let refused = 0
  const send = async (id: string): Promise<void> => {
    for (;;) {
      await destination.ready()
      if ((await destination.send(track(id)))._tag === 'Right') return
      if (++refused > 100) throw new Error('ready resolves for ever')
    }
  }
  const ids = Array.from({ length: 20 }, (_, at) => `m${at}`)
  await Promise.all(ids.map(send))
  expect(refused).toBe(0)
  expect(await destination.idle()).toMatchObject({ accepted: 20, delivered: 20 })
  await destination.close()
})

it.each<[unknown, string]>([
  ['./outbox', 'outbox must be an Outbox, a factory of one, or { path } of a folder'],
  [null, 'outbox must be an Outbox, a factory of one, or { path } of a folder'],
  [{ path: 'a', enqueue: undefined }, 'unknown option "outbox.enqueue"'],
  [{}, 'outbox must be an Outbox, a factory of one, or { path } of a folder'],
  [{ path: 5, maxcount: 5 }, 'unknown option "outbox.maxcount"'],
])('an outbox of %j is refused', (outbox, fault) => {
  // Not every caller has types.
  const options = { outbox: outbox as DestinationOptions['outbox'], logger: false } as DestinationOptions
  const open = () => webhookDestination(nowhere, options)
  expect(open).toThrow(ConfigError)
  expect(open).toThrow(fault)
})

it('options are checked before the folder is opened', async () => {
  const path = newFolder()
  // The types forbid it.
  const open = (retry: unknown) => webhookDestination(nowhere, { outbox: { path }, retry: retry as never })
  expect(() => open(5)).toThrow(/retry must be a policy of headrace/)
  await open(undefined).close()
})
