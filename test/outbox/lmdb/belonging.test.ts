/** Whose a folder is. */
import { readFileSync, rmSync } from 'node:fs'
import { expect, it, onTestFinished } from 'vitest'
import { createClient } from '../../../src/client/createClient.ts'
import { createCollector } from '../../../src/collector/createCollector.ts'
import { lmdbOutbox } from '../../../src/outbox/lmdb/lmdbOutbox.ts'
import { openLmdbOutbox } from '../../../src/outbox/lmdb/openLmdbOutbox.ts'
import { OutboxError } from '../../../src/outbox/lmdb/OutboxError.ts'
import { refused } from '../../../src/core/failure.ts'
import { rejected } from '../../../src/core/outcome.ts'
import { newFolder } from './grounds.ts'
import { codec } from './killedItems.js'

const folder = (): string => {
  const path = newFolder()
  onTestFinished(() => {
    rmSync(path, { recursive: true, force: true })
  })
  return path
}

const open = (path: string, owner?: string) =>
  lmdbOutbox<string>({ path, codec, ...(owner === undefined ? {} : { owner }) })

const thrownBy = (act: () => unknown): OutboxError | undefined => {
  try {
    act()
    return undefined
  } catch (error) {
    if (error instanceof OutboxError) return error
    throw error
  }
}

it('is whose it was first, as long as something lies in it', async () => {
  const path = folder()
  // It was made before there were owners.
  const made = open(path)
  await made.append('x')
  await made.close()
  await open(path, 'a').close()

  const opened = openLmdbOutbox<string>({ path, codec, owner: 'b' })
  expect(opened).toMatchObject({
    _tag: 'Left',
    left: {
      reason: 'otherOwner',
      message: `the outbox in ${path} holds what belongs to "a", and was opened for "b": give each its own folder, or, if it is the same one under another name, set the owner of this outbox to "a"`,
    },
  })
  // It was given back, and whoever does not say who he is may have it.
  const again = open(path)
  expect(again.stats().waiting).toBe(1)
  await again.close()
  await open(path, 'a').close()
})

it('is nobody’s when nothing lies in it', async () => {
  const path = folder()
  const first = open(path, 'a')
  await first.append('x')
  const [entry] = await first.take(0, 1, 0)
  if (entry !== undefined) await first.end(entry, rejected('x', 1, refused('status')))
  await first.close()
  expect(thrownBy(() => open(path, 'b'))?.reason).toBe('otherOwner')

  const forgetting = open(path)
  await forgetting.dead.purge(() => true)
  await forgetting.close()
  await open(path, 'b').close()
  const last = open(path, 'b')
  await last.append('y')
  await last.close()
  expect(thrownBy(() => open(path, 'a'))?.reason).toBe('otherOwner')
})

const sources = [{ id: 'web', writeKey: 'wk' }]
const collector = (folders: Readonly<Record<string, object>>) =>
  createCollector(
    {
      sources,
      destinations: Object.entries(folders).map(([name, outbox]) => ({
        name,
        sources: ['web'],
        outbox: outbox as { path: string },
        webhooks: [{ url: 'http://127.0.0.1:9/' }],
      })),
    },
    { logger: false },
  )

it('of a destination of a collector is not opened for another one, unless that one says so', async () => {
  const [one, other] = [folder(), folder()]
  const first = collector({ a: { path: one }, b: { path: other } })
  await first.accept('web', { type: 'track', userId: 'u1', event: 'Sold' })
  await first.close({ timeout: 0 })

  const swapped = thrownBy(() => collector({ a: { path: other }, b: { path: one } }))
  expect(swapped?.reason).toBe('otherOwner')
  expect(swapped?.message).toMatch(
    /^destination "a": the outbox in .* belongs to "b", and was opened for "a"/,
  )

  const renamed = collector({ c: { path: one, owner: 'a' }, b: { path: other } })
  expect(renamed.stats().destinations['c']?.waiting).toBe(1)
  await renamed.close({ timeout: 0 })
})

it('of a client belongs to whom it says, and to no write key: a new one sends what waits', async () => {
  const path = folder()
  const client = (key: string, more: object = {}) =>
    createClient(key, {
      endpoint: 'http://127.0.0.1:9/',
      outbox: { path, ...more },
      logger: false,
      drainOnExit: false,
    })
  const first = client('first-write-key', { owner: 'web' })
  first.track({ userId: 'u1', event: 'Seen' })
  await first.close({ timeout: 0 })
  expect(thrownBy(() => client('first-write-key', { owner: 'shop' }))?.reason).toBe('otherOwner')

  const second = client('second-write-key', { owner: 'web' })
  expect(second.stats().waiting).toBe(1)
  await second.close({ timeout: 0 })
  const third = client('third-write-key')
  expect(third.stats().waiting).toBe(1)
  await third.close({ timeout: 0 })
  expect(readFileSync(`${path}/data.mdb`).includes('write-key')).toBe(false)
})
