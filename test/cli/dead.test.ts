import { existsSync, writeFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { createClient } from '../../src/client/createClient.ts'
import { webhookDestination } from '../../src/destination/createDestination.ts'
import { lmdbOutbox } from '../../src/outbox/lmdb/lmdbOutbox.ts'
import { failing, headrace, linesOf, receiverOf, recordsOf, scratch, start, track } from './inProcess.ts'

/** The outbox of a destination in which events have died, and the receiver that refused them. */
const outboxWith = async (events: ReadonlyArray<object>, keepDead = 100_000) => {
  let status = 410
  const receiver = await receiverOf(() => ({ do: 'status', code: status }))
  const path = `${scratch()}/outbox`
  const settings = { webhooks: [{ url: receiver.url }] }
  const destination = webhookDestination(settings, { outbox: { path, keepDead }, logger: false })
  for (const event of events)
    await destination.send({ type: 'track', userId: 'u1', event: 'Sold', ...event } as never)
  await destination.idle()
  await destination.close()
  return { path, receiver, recover: () => (status = 200) }
}

const dead = (path: string, ...args: ReadonlyArray<string>) => headrace(['dead', ...args, '--outbox', path])

it('lists, shows, counts first, puts back and deletes what is meant', async () => {
  const identify = { type: 'identify', event: undefined, messageId: 'b' }
  const { path, receiver, recover } = await outboxWith([{ messageId: 'a' }, identify])
  const ls = await dead(path, 'ls')
  expect(linesOf(ls.stdout)).toEqual([
    expect.stringMatching(/^1 +rejected +\S+Z +track +a +http.* 410, after 1 attempt$/),
    expect.stringMatching(/^2 +rejected +\S+Z +identify +b +http.* 410, after 1 attempt$/),
  ])
  expect(ls.stderr).toBe('headrace: 2 of 2 dead letters · 0 events wait\n')

  const some = await dead(path, 'ls', '--kind', 'identify', '--since', '1h', '--output', 'json')
  expect(recordsOf(some.stdout)).toMatchObject([
    { v: 1, t: 'dead', id: '2', outcome: 'rejected', n: 1, call: { type: 'identify', userId: 'u1' } },
  ])
  const found = async (...flags: string[]) => linesOf((await dead(path, 'ls', ...flags)).stdout).length
  expect([await found('--reason', 'rejected'), await found('--reason', 'status')]).toEqual([2, 2])
  expect([await found('--reason', 'expired'), await found('--since', '2999-01-01T00:00:00Z')]).toEqual([0, 0])

  const first = { id: '1', causes: [{ status: 410 }], call: { event: 'Sold' } }
  expect(JSON.parse((await dead(path, 'show', '1')).stdout)).toMatchObject(first)
  const none = 'its number is in the first column of headrace dead ls\n'
  for (const [action = '', ...args] of [['show'], ['redrive'], ['purge', '--status', '410', '--yes']]) {
    const stderr = `headrace dead ${action}: there is no dead letter m1 to ${action}: ${none}`
    expect(await dead(path, action, 'm1', ...args)).toMatchObject({ code: 1, stderr })
    expect((await dead(path, action, '', ...args)).code).toBe(2)
  }
  expect((await dead(path, 'ls', '--reason', 'foo')).stderr).toContain("headrace's own words: rejected")
  expect((await dead(path, 'ls', '--reason', 'cut')).stderr).not.toContain('own words')

  const would = 'of 2 dead letters would be put back to wait; do it with --yes\n'
  for (const [status, count] of Object.entries({ 503: '0', 410: '2' }))
    expect((await dead(path, 'redrive', '--status', status)).stdout).toBe(`${count} ${would}`)
  const put = await dead(path, 'redrive', '--kind', 'track', '--yes')
  expect(put.stdout).toBe('1 dead letter was put back to wait\n')
  expect(put.stderr).toContain(`headrace send --outbox ${path} --to URL`)
  recover()
  const before = receiver.received.length
  expect((await headrace(['send', '--outbox', path, '--to', receiver.url])).code).toBe(0)
  const bodies = receiver.received.slice(before).map(({ body }) => body.toString())
  expect(bodies).toEqual([expect.stringContaining('"messageId":"a"')])
  const unsaid = await dead(path, 'purge', '--yes')
  expect([unsaid.code, unsaid.stderr]).toEqual([2, expect.stringContaining('or give --all')])
  expect((await dead(path, 'purge', '--all', '--yes')).stdout).toBe('1 dead letter was deleted\n')
  expect((await dead(path, 'ls')).stderr).toContain('0 of 0 dead letters')
})

it('shows each dead message of a client, and the next client sends what was put back', async () => {
  let code = 401
  const receiver = await receiverOf(() => ({ do: 'status', code }))
  const path = `${scratch()}/outbox`
  const open = () =>
    createClient('a key', { endpoint: receiver.url, outbox: { path }, logger: false, drainOnExit: false })
  const client = open()
  client.track({ userId: 'u1', event: 'Seen', messageId: 'm1', properties: { a: 1 } })
  client.identify({ userId: 'u1', messageId: 'm2' })
  expect(await client.flush()).toMatchObject({ rejected: 2 })
  await client.close()

  const ls = await dead(path, 'ls')
  expect(ls.stdout).toMatch(/rejected .* track {4}m1 .*401/)
  expect(ls.stdout).toMatch(/rejected .* identify m2 .*401/)
  const call = { type: 'track', messageId: 'm1', event: 'Seen', properties: { a: 1 } }
  expect(recordsOf((await dead(path, 'show', '1', '--output', 'json')).stdout)).toMatchObject([{ call }])
  const put = await dead(path, 'redrive', '--kind', 'track', '--yes')
  expect(put.stderr).toMatch(/^headrace: start the process that has this folder/)

  code = 200
  const { totals } = await open().close()
  expect(totals).toMatchObject({ delivered: 1 })
  const last = receiver.received.at(-1)?.body.toString()
  expect(last).toContain('"messageId":"m1"')
  expect(last).not.toContain('"messageId":"m2"')
})

it('knows records that cannot be read: lists and deletes them, and leaves them in a redrive', async () => {
  const path = `${scratch()}/outbox`
  const codec = { kind: 'events', toText: (text: string) => text, fromText: String, sizeOf: () => 7 }
  const store = lmdbOutbox<string>({ path, codec })
  await store.enqueue(['not an event'])
  await store.close()
  const receiver = await receiverOf()
  const sent = await headrace(['send', '--outbox', path, '--to', receiver.url], { input: track('a') })
  const told = `1 new dead letter, 1 damaged record among them; ${path} holds 1: see headrace dead ls`
  expect([sent.code, sent.stderr]).toEqual([3, expect.stringContaining(told)])

  const ls = await dead(path, 'ls', '--reason', 'corrupt', '--output', 'json')
  const raw = expect.stringContaining('not an event') as string
  expect(recordsOf(ls.stdout)).toMatchObject([{ t: 'dead', outcome: 'corrupt', raw }])
  expect((await dead(path, 'ls')).stdout).toContain('not an event')
  expect((await dead(path, 'redrive', '--yes')).stdout).toBe('0 dead letters were put back to wait\n')
  const stderr = expect.stringContaining("'--unreadable' cannot be used with option '--reason") as string
  const both = ['--unreadable', '--reason', 'expired']
  expect(await dead(path, 'purge', ...both)).toMatchObject({ code: 2, stderr })
  const meant = '1 of 1 dead letters would be deleted; do it with --yes\n'
  expect((await dead(path, 'purge', '--unreadable')).stdout).toBe(meant)
  expect((await dead(path, 'purge')).stdout).toContain('do it with --all --yes\n')
  const purged = await dead(path, 'purge', '--unreadable', '--yes', '--output', 'json')
  expect(recordsOf(purged.stdout)).toEqual([{ v: 1, t: 'purge', done: true, count: 1, unreadable: 1 }])
  expect((await dead(path, 'ls')).stderr).toContain('0 of 0 dead letters')
})

it('keeps as many as the application did, tells of removed ones, and takes one by its id', async () => {
  const { path, receiver } = await outboxWith([{}, {}, {}, {}, {}], 2)
  const told = 'headrace: 2 of 2 dead letters · 3 older dead letters removed to make room · 0 events wait\n'
  expect((await dead(path, 'ls')).stderr).toBe(told)
  const sent = await headrace(['send', '--outbox', path, '--to', receiver.url], { input: track('a') })
  expect(sent.stderr).toContain(
    `1 new dead letter; ${path} holds 2, 1 older dead letter removed to make room: see`,
  )
  const meant = '1 of 2 dead letters would be put back to wait; do it with --yes\n'
  expect((await dead(path, 'redrive', '5')).stdout).toBe(meant)
  expect((await dead(path, 'redrive', '5', '--yes')).stdout).toBe('1 dead letter was put back to wait\n')
  expect((await dead(path, 'purge', '6', '--yes')).stdout).toBe('1 dead letter was deleted\n')
  expect(recordsOf((await dead(path, 'ls', '--output', 'json')).stdout)).toEqual([])
})

it('writes nothing with --output quiet, and ends when the reader of stdout has gone', async () => {
  const { path } = await outboxWith(Array.from({ length: 300 }, () => ({})))
  for (const action of ['redrive', 'purge'])
    expect(await dead(path, action, '--output', 'quiet')).toMatchObject({ code: 0, stdout: '' })
  const listing = start(['dead', 'ls', '--outbox', path])
  listing.stdout.once('data', () => listing.stdout.destroy(Object.assign(Error('gone'), { code: 'EPIPE' })))
  expect(await listing.ended).toMatchObject({ code: 0 })
  const full = await headrace(['dead', 'redrive', '--outbox', path], { stdout: failing('ENOSPC') })
  const stderr = 'headrace dead redrive: the output could not be written: ENOSPC\n'
  expect(full).toMatchObject({ code: 1, stderr })
})

it('H11: escapes or replaces what could steer a terminal', async () => {
  const { path } = await outboxWith([{ messageId: '\u009b31m\u202e\u007f', properties: { a: '\u200b' } }])
  for (const args of [['ls'], ['show', '1'], ['show', '1', '--output', 'json'], ['ls', '--output', 'json']]) {
    const { stdout } = await dead(path, ...args)
    expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}]/u)
    expect(stdout).toContain(args.length === 1 ? '?31m??' : '\\u009b31m\\u202e\\u007f')
  }
})

it('makes no folder, and opens no other one', async () => {
  const folder = scratch()
  await lmdbOutbox({ path: `${folder}/items` }).close()
  expect((await dead(`${folder}/items`, 'ls')).stderr).toContain('in its program, by outbox.dead\n')
  expect((await dead(`${folder}/nope`, 'ls')).stderr).toContain('no such file or directory')
  expect(existsSync(`${folder}/nope`)).toBe(false)
  writeFileSync(`${folder}/file`, '')
  const { code, stderr } = await dead(folder, 'ls')
  expect(stderr).toBe(`headrace dead ls: --outbox '${folder}': this folder is not an outbox\n`)
  expect([code, existsSync(`${folder}/data.mdb`)]).toEqual([2, false])
})
