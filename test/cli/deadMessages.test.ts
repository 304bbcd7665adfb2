/** `headrace dead` over the folder of a client. */
import { spawn } from 'node:child_process'
import { existsSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { createClient } from '../../src/client/createClient.ts'
import type { Client } from '../../src/client/client.ts'
import { webhookDestination } from '../../src/destination/createDestination.ts'
import { lmdbOutbox } from '../../src/outbox/lmdb/lmdbOutbox.ts'
import { loopbackReceiver } from '../../src/testing/loopbackReceiver.ts'
import { headrace, recordsOf, scratch } from './command.ts'

it('shows each message that died, puts it back to wait alone, and the next client sends it', async () => {
  let code = 401
  const receiver = await loopbackReceiver(() => ({ do: 'status', code }))
  onTestFinished(receiver.close)
  const path = `${scratch()}/outbox`
  const open = (): Client =>
    createClient('a key', { endpoint: receiver.url, outbox: { path }, logger: false, drainOnExit: false })
  const client = open()
  client.track({ userId: 'u1', event: 'Seen', messageId: 'm1', properties: { a: 1 } })
  client.identify({ userId: 'u1', messageId: 'm2' })
  expect(await client.flush()).toMatchObject({ rejected: 2 })
  await client.close()

  const ls = await headrace(['dead', 'ls', '--outbox', path])
  expect(ls.stdout).toMatch(/rejected .* track {4}m1 .*401/)
  expect(ls.stdout).toMatch(/rejected .* identify m2 .*401/)
  expect(ls.stderr).toContain('2 of 2 dead letters; 0 events wait')
  const [letter] = recordsOf(
    (await headrace(['dead', 'show', '1', '--outbox', path, '--output', 'json'])).stdout,
  )
  expect(letter).toMatchObject({
    call: { type: 'track', messageId: 'm1', event: 'Seen', properties: { a: 1 } },
  })
  const put = await headrace(['dead', 'redrive', '--outbox', path, '--kind', 'track', '--yes'])
  expect(put.stdout).toBe('1 dead letters were put back to wait\n')

  code = 200
  const again = open()
  expect(again.stats()).toMatchObject({ accepted: 1, waiting: 1 })
  const { totals } = await again.close()
  expect(totals).toMatchObject({ accepted: 1, delivered: 1 })
  expect(receiver.received.at(-1)?.body.toString()).toContain('"messageId":"m1"')
  expect(receiver.received.at(-1)?.body.toString()).not.toContain('"messageId":"m2"')
})

it('makes no outbox where there is none', async () => {
  const folder = scratch()
  const { code, stderr } = await headrace(['dead', 'ls', '--outbox', folder])
  expect([code, stderr]).toEqual([
    2,
    `headrace dead ls: --outbox '${folder}': no events wait in this folder\n`,
  ])
  expect(existsSync(`${folder}/data.mdb`)).toBe(false)
})

it('says what could not be read, and forgets it when it is told to', async () => {
  const path = `${scratch()}/outbox`
  const codec = { kind: 'events', toText: (text: string) => text, fromText: String, sizeOf: () => 7 }
  const store = lmdbOutbox<string>({ path, codec })
  await store.enqueue(['nothing that an event would be'])
  await store.close()
  const receiver = await loopbackReceiver()
  onTestFinished(receiver.close)
  const destination = webhookDestination(
    { webhooks: [{ url: receiver.url }] },
    { outbox: { path }, logger: false },
  )
  await destination.send({ type: 'track', userId: 'u1', event: 'Seen' })
  // It was accepted and has not ended, so it is not left out of the sum.
  expect(await destination.idle()).toMatchObject({ accepted: 2, delivered: 1, waiting: 1 })
  await destination.close()

  const ls = await headrace(['dead', 'ls', '--outbox', path])
  expect(ls.stderr).toContain(
    '0 of 0 dead letters; 1 events wait; 1 records could not be read: see headrace dead purge --unreadable',
  )
  const args = ['dead', 'purge', '--unreadable', '--outbox', path]
  expect((await headrace(args)).stdout).toBe(
    '1 records that could not be read would be forgotten for good; do it with --yes\n',
  )
  expect((await headrace([...args, '--yes'])).stdout).toBe(
    '1 records that could not be read were forgotten for good\n',
  )
  expect((await headrace(['dead', 'ls', '--outbox', path])).stderr).toContain('0 dead letters; 0 events wait')
})

it('counts what waits in the folder of a client by its messages when it forgets what cannot be read', async () => {
  const receiver = await loopbackReceiver(() => ({ do: 'status', code: 503 }))
  onTestFinished(receiver.close)
  const path = `${scratch()}/outbox`
  const client = createClient('a key', {
    endpoint: receiver.url,
    outbox: { path },
    logger: false,
    drainOnExit: false,
  })
  for (let at = 0; at < 50; at++) client.track({ userId: 'u1', event: 'Seen' })
  expect(await client.persisted()).toBe(true)
  await client.close({ timeout: 0 })
  await headrace(['dead', 'purge', '--unreadable', '--yes', '--outbox', path])
  expect((await headrace(['dead', 'ls', '--outbox', path])).stderr).toContain('50 events wait')
})

it('says what keeps it from its output, and that nothing is known of what cannot be read', async () => {
  const path = `${scratch()}/outbox`
  const codec = { kind: 'events', toText: (text: string) => text, fromText: String, sizeOf: () => 7 }
  await lmdbOutbox<string>({ path, codec }).close()
  const purge = await headrace([
    'dead',
    'purge',
    '--unreadable',
    '--status',
    '400',
    '--yes',
    '--outbox',
    path,
  ])
  expect([purge.code, purge.stderr]).toEqual([
    2,
    'headrace dead purge: --unreadable means all that cannot be read, of which nothing else is known: leave the filters out\n',
  ])
  const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
  const child = spawn(process.execPath, [main, 'dead', 'redrive', '--outbox', path], {
    stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
  })
  let stderr = ''
  child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const code = await new Promise((resolve) => child.on('close', resolve))
  expect([code, stderr]).toEqual([1, 'headrace dead redrive: the output could not be written: ENOSPC\n'])
})
