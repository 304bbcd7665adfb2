import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, it, onTestFinished } from 'vitest'
import { webhookDestination } from '../../src/destination/createDestination.ts'
import type { DestinationOptions } from '../../src/destination/destination.ts'
import { ConfigError } from '../../src/core/refusal.ts'
import { OutboxError } from '../../src/outbox/lmdb/OutboxError.ts'
import { verifyRaw } from '../../src/signing/verify.ts'
import { loopbackReceiver } from '../../src/testing/loopbackReceiver.ts'

const folder = (): string => {
  const path = mkdtempSync(`${tmpdir()}/headrace-stored-`)
  onTestFinished(() => {
    rmSync(path, { recursive: true, force: true })
  })
  return path
}

const track = (messageId: string) => ({ type: 'track', userId: 'u1', event: 'Sold', messageId }) as const

it('what was accepted and not delivered is delivered by the next one, the same bytes under the same id', async () => {
  const path = folder()
  let healthy = false
  const receiver = await loopbackReceiver(() => ({ do: 'status', code: healthy ? 200 : 503 }))
  onTestFinished(receiver.close)
  const open = (sharedSecret: string) =>
    webhookDestination(
      { sharedSecret, webhooks: [{ url: receiver.url }] },
      { outbox: { path }, logger: false, messageIdHeader: 'X-Message-Id' },
    )

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
  expect(
    after.map(({ headers }) => String(headers['x-message-id'])).sort((a, b) => a.localeCompare(b)),
  ).toEqual(['m1', 'm2', 'm3'])
})

it('keeps its dead letters, and puts them back to wait after a restart', async () => {
  const path = folder()
  let code = 410
  const receiver = await loopbackReceiver(() => ({ do: 'status', code }))
  onTestFinished(receiver.close)
  const open = () =>
    webhookDestination({ webhooks: [{ url: receiver.url }] }, { outbox: { path }, logger: false })

  const first = open()
  await first.send(track('m1'))
  expect(await first.idle()).toMatchObject({ rejected: 1 })
  await first.close()

  code = 200
  const second = open()
  expect(await second.redrive(({ outcome }) => outcome._tag === 'Rejected')).toBe(1)
  expect(await second.idle()).toMatchObject({ delivered: 1, waiting: 0 })
  await second.close()
})

it('lets in no more than there is room for, though what is on its way into the folder is not in it yet', async () => {
  const receiver = await loopbackReceiver()
  onTestFinished(receiver.close)
  const destination = webhookDestination(
    { webhooks: [{ url: receiver.url }] },
    { outbox: { path: folder(), maxCount: 2 }, logger: false },
  )
  let turnedAway = 0
  const send = async (id: string): Promise<void> => {
    for (;;) {
      await destination.ready()
      if ((await destination.send(track(id)))._tag === 'Right') return
      // Whoever is let through and turned away, again and again, stops the event loop of its process.
      if (++turnedAway > 100) throw new Error('it is let through for ever')
    }
  }
  const ids = Array.from({ length: 20 }, (_, at) => `m${at}`)
  await Promise.all(ids.map(send))
  expect(turnedAway).toBe(0)
  expect(await destination.idle()).toMatchObject({ accepted: 20, delivered: 20 })
  await destination.close()
})

it('whoever comes again and again, with what will never find room, leaves the event loop its turns', async () => {
  const destination = webhookDestination(
    { webhooks: [{ url: 'http://127.0.0.1:9/' }] },
    { maxBytes: 1, logger: false },
  )
  let turns = 0
  setImmediate(() => turns++)
  for (let tries = 0; turns === 0; tries++) {
    expect(tries).toBeLessThan(100)
    await destination.ready()
    expect((await destination.send(track('m1')))._tag).toBe('Left')
  }
  await destination.close()
})

it('a folder that is in use or is no outbox is an error of its own, with the way out', async () => {
  const path = folder()
  const open = (where: string) =>
    webhookDestination(
      { webhooks: [{ url: 'http://127.0.0.1:9/' }] },
      { outbox: { path: where }, logger: false },
    )
  const first = open(path)
  const reasonOf = (where: string): string => {
    try {
      open(where)
    } catch (error) {
      if (error instanceof OutboxError) return error.reason
    }
    return 'it opened'
  }
  expect(reasonOf(path)).toBe('inUse')
  await first.close()
  const foreign = folder()
  writeFileSync(`${foreign}/data.mdb`, 'mine')
  expect(reasonOf(foreign)).toBe('notAnOutbox')
  expect(reasonOf('/dev/null/outbox')).toBe('noAccess')
})

it.each<[unknown, string]>([
  ['./outbox', 'outbox must be { path } of a folder, or an Outbox'],
  [null, 'outbox must be { path } of a folder, or an Outbox'],
  [{ path: 'a', enqueue: undefined }, 'outbox must be { path } of a folder, or an Outbox'],
  [{}, 'outbox.path is missing: it must be a string that is not empty'],
  [{ path: 5, maxcount: 5 }, 'unknown option "outbox.maxcount"'],
])('an outbox of %j is a fault that is named', (outbox, fault) => {
  // Not every caller has types.
  const options = { outbox: outbox as DestinationOptions['outbox'], logger: false } as DestinationOptions
  const open = () => webhookDestination({ webhooks: [{ url: 'http://127.0.0.1:9/' }] }, options)
  expect(open).toThrow(ConfigError)
  expect(open).toThrow(fault)
})

it('what is wrong with the policy is said before the folder is opened', async () => {
  const path = folder()
  // The types forbid it.
  const open = (retry: unknown) =>
    webhookDestination(
      { webhooks: [{ url: 'http://127.0.0.1:9' }] },
      { outbox: { path }, retry: retry as never },
    )
  expect(() => open(5)).toThrow(/retry must be a RetryPolicy/)
  // Nobody has it open.
  await open(undefined).close()
})
