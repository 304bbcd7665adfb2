import { readFileSync, writeFileSync } from 'node:fs'
import { expect, it, test } from 'vitest'
import { verifyRaw } from '../../src/signing/verify.ts'
import events from '../fixtures/events.json' with { type: 'json' }
import { configFile, failing, headrace, linesOf, receiverOf } from './inProcess.ts'
import { recordsOf, scratch, start, steady } from './inProcess.ts'

const env = { WEB_KEY: 'wk-1', HOOKS_SECRET: 'correct horse' }

const opened = async (script?: Parameters<typeof receiverOf>[0], flags: string[] = [], isTTY = false) => {
  const receiver = await receiverOf(script)
  const webhooks = [{ url: receiver.url }]
  const file = configFile({
    sources: [{ id: 'web', writeKey: { env: 'WEB_KEY' }, deletions: true }],
    destinations: [{ name: 'hooks', sources: ['web'], sharedSecret: { env: 'HOOKS_SECRET' }, webhooks }],
  })
  const command = start(['collect', '0', '--config', file, ...flags], { env, isTTY })
  const endpoint = /http:[^"\s]+/.exec(await command.says(/\n/))?.[0] ?? ''
  const headers = { 'Content-Type': 'application/json', Authorization: `Basic ${btoa('wk-1:')}` }
  const post = (path: string, body: object): Promise<Response> =>
    fetch(new URL(path, endpoint), { method: 'POST', headers, body: JSON.stringify(body) })
  return { ...command, receiver, endpoint, post, file }
}

it('the whole service: a client posts batches, a collector forwards them, a receiver verifies them', async () => {
  const { signal, ended, endpoint, receiver } = await opened()
  const file = `${scratch()}/events.ndjson`
  writeFileSync(file, events.join('\n'))
  const flags = ['--endpoint', endpoint, '--write-key-env', 'WEB_KEY', '--output', 'json']
  const sent = await headrace(['batch', file, ...flags], { env })
  const { accepted, delivered } = recordsOf(sent.stdout).at(-1) as { accepted: number; delivered: number }
  expect(delivered).toBe(accepted)
  expect(accepted).toBeGreaterThan(300)
  signal()
  const { code, stdout, stderr } = await ended
  const account = new RegExp(`received ${accepted} \\(0 refused\\) · wanted by no destination (\\d+)`)
  const forwarded = accepted - Number(account.exec(stderr)?.[1])
  expect(stderr).toContain(`hooks: accepted ${forwarded} · delivered ${forwarded}`)
  expect(receiver.received.length).toBe(forwarded)
  for (const { body, headers } of receiver.received)
    expect(verifyRaw(env.HOOKS_SECRET, body, headers['x-signature'])._tag).toBe('Right')
  expect(linesOf(stdout).length).toBe(1 + forwarded)
  expect(code).toBe(0)
})

it('1: the output fails, which is told at once; the account goes to stderr', async () => {
  const file = configFile({ sources: [{ id: 'web', writeKey: 'wk' }], destinations: [] })
  const full = { stdout: failing('ENOSPC') }
  const { complains, signal, ended } = start(['collect', '0', '--config', file, '--output', 'json'], full)
  await complains(/the output could not be written: ENOSPC/)
  signal()
  expect(await ended).toMatchObject({ code: 1, stderr: expect.stringContaining('received 0') as string })
})

it('says it is ready, tells each end, and gives its account as NDJSON', async () => {
  const { signal, ended, post, says } = await opened(undefined, ['--output', 'json'])
  expect((await post('/v1/track', { userId: 'u1', event: 'Sold', messageId: 'm1' })).status).toBe(200)
  expect((await post('/v1/delete', { userId: 'u1' })).status).toBe(200)
  await says(/"type":"delete"/)
  signal('SIGTERM')
  const { code, stdout } = await ended
  const destinations = { hooks: { delivered: 2 } }
  expect(recordsOf(steady(stdout))).toMatchObject([
    { t: 'ready', url: 'http://127.0.0.1:PORT/v1/batch' },
    { t: 'outcome', destination: 'hooks', id: 'm1', type: 'track', outcome: 'delivered', n: 1, status: 200 },
    { t: 'outcome', destination: 'hooks', type: 'delete', outcome: 'delivered' },
    { t: 'summary', received: 1, accepted: 1, refused: 0, deletions: 1, destinations },
  ])
  expect(code).toBe(0)
})

it('3 if a receiver refused; 7 if something had not ended when it stopped', async () => {
  const refusing = await opened(() => ({ do: 'status', code: 410 }))
  await refusing.post('/v1/track', { userId: 'u1', event: 'Sold' })
  await refusing.says(/rejected/)
  refusing.signal()
  expect((await refusing.ended).code).toBe(3)

  const down = await opened(() => ({ do: 'status', code: 503 }), ['--grace', '0s'])
  await down.post('/v1/track', { userId: 'u1', event: 'Sold' })
  await down.receiver.arrived(1)
  down.signal()
  const stderr = expect.stringContaining('abandoned 1') as string
  expect(await down.ended).toMatchObject({ code: 7, stderr })
})

const silent = () => ({ do: 'silence' }) as const
test.each(['SIGINT', 'SIGHUP'] as const)('H9: gives its account when a second %s ends it', async (name) => {
  const { signal, exits, complains, ended, receiver, post } = await opened(silent, [], true)
  await post('/v1/track', { userId: 'u1', event: 'Sold' })
  await receiver.arrived(1)
  signal(name)
  await complains(/Stopping: 1 waiting/)
  signal(name)
  const { code, stderr } = await ended
  expect([stderr, code, exits]).toEqual([expect.stringContaining('hooks: accepted 1 · waiting 1'), 7, [7]])
})

it('TP7: reads its file again at SIGHUP without a terminal, and says what changed, or why nothing did', async () => {
  const { signal, complains, ended, receiver, post, file } = await opened()
  const next = await receiverOf()
  const written = readFileSync(file, 'utf8')
  signal('SIGHUP')
  await complains(/collector\.json is read again: nothing has changed\n/)
  writeFileSync(file, written.replace('"webhooks"', '"hooks"'))
  signal('SIGHUP')
  await complains(/headrace collect: nothing changes: .*unknown option "destinations\[0\]\.hooks"/)
  writeFileSync(file, written.replaceAll('"hooks"', '"next"').replace(receiver.url, next.url))
  signal('SIGHUP')
  await complains(/read again: destination next added, destination hooks removed\n/)
  expect((await post('/v1/track', { userId: 'u1', event: 'Sold' })).status).toBe(200)
  await next.arrived(1)
  writeFileSync(file, written.replaceAll('"hooks"', '"next"').replace(receiver.url, `${next.url}b`))
  signal('SIGHUP')
  await complains(/read again: destination next changed\n/)
  signal('SIGTERM')
  signal('SIGHUP')
  expect(receiver.received.length).toBe(0)
  expect((await ended).stderr).toContain('next: accepted 1')
})

it('TP7: 3 if a destination that is gone had lost an event, and its account is told', async () => {
  const { signal, says, complains, ended, post, file } = await opened(() => ({ do: 'status', code: 410 }))
  await post('/v1/track', { userId: 'u1', event: 'Sold' })
  await says(/rejected/)
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('"hooks"', '"next"'))
  signal('SIGHUP')
  await complains(/destination hooks removed/)
  signal('SIGTERM')
  const stderr = expect.stringMatching(/headrace: with removed ones: accepted 1 · rejected 1\n/) as string
  expect(await ended).toMatchObject({ code: 3, stderr })
})

it('TP7: 7 if a second signal stops a destination that was leaving', async () => {
  const { signal, complains, ended, post, file, receiver } = await opened(silent)
  await post('/v1/track', { userId: 'u1', event: 'Sold' })
  await receiver.arrived(1)
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('"hooks"', '"next"'))
  signal('SIGHUP')
  await complains(/destination hooks removed/)
  signal('SIGTERM')
  await complains(/Stopping/)
  signal('SIGTERM')
  expect((await ended).code).toBe(7)
})

it('TP7: tells a reload as NDJSON', async () => {
  const { signal, says, file } = await opened(undefined, ['--output', 'json'])
  writeFileSync(file, readFileSync(file, 'utf8').replace('"deletions":true', '"deletions":false'))
  signal('SIGHUP')
  await says(/\{"v":1,"t":"reload","changes":\["source web changed"\],"faults":\[\]\}/)
  writeFileSync(file, '{')
  signal('SIGHUP')
  await says(/"t":"reload","changes":\[\],"faults":\["[^"]*is not JSON/)
})

it('says whose folder cannot be opened', async () => {
  const box = scratch()
  writeFileSync(`${box}/data.mdb`, 'no store of ours')
  const webhooks = [{ url: 'http://127.0.0.1:9/' }]
  const destination = { name: 'a', sources: ['web'], sharedSecret: 's', webhooks, outbox: { path: box } }
  const config = configFile({ sources: [{ id: 'web', writeKey: 'wk' }], destinations: [destination] })
  const { code, stderr } = await headrace(['collect', '0', '--config', config])
  expect(stderr).toMatch(/^headrace collect: destination "a": .*data\.mdb was not written by headrace/)
  expect(code).toBe(2)
})
