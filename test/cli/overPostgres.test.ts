import { writeFileSync } from 'node:fs'
import { describe, expect, it, test } from 'vitest'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { newSchema } from '../support/servers.js'
import { openSchema } from '../support/postgresWorld.ts'
import { configFile, headrace, receiverOf, scratch, start, track } from './inProcess.ts'

describe('commands over PostgreSQL', async () => {
  const { pool, schema, url } = await openSchema()
  const at = (queue: string) => ['--outbox', url, '--queue', queue, '--schema', schema]
  const waiting = async (queue: string) =>
    (await pool.query(`select from ${schema}.item where queue = $1`, [queue])).rowCount

  it('sends what an earlier run left, and what was redriven', async () => {
    let code = 503
    const { url: to, arrived } = await receiverOf(() => ({ do: 'status', code }))
    const send = ['send', '--to', to, '--grace', '0s']
    const first = start([...send, ...at('q')])
    first.stdin.end(track('a') + track('b'))
    await arrived(2)
    first.signal()
    expect((await first.ended).stderr).toContain('2 wait in the queue q: the same command sends them\n')
    code = 410
    const second = await headrace([...send, '--outbox-env', 'DB', ...at('q').slice(2)], { env: { DB: url } })
    expect(second.code).toBe(3)
    expect(second.stderr).toContain(`headrace dead ls --outbox-env NAME --queue q --schema ${schema}\n`)
    expect((await headrace(['dead', 'ls', ...at('q')])).stderr).toContain('2 of 2 dead letters')
    const { stdout } = await headrace(['dead', 'redrive', ...at('q'), '--yes'])
    expect([stdout, await waiting('q')]).toEqual(['2 dead letters were put back to wait\n', 2])
    code = 200
    const account = { code: 0, stderr: expect.stringMatching(/: read 0 · delivered 2\n$/) as unknown }
    expect([await headrace([...send, ...at('q')]), await waiting('q')]).toMatchObject([account, 0])
  })

  it('goes on in a file behind the events of the last run', async () => {
    let code = 503
    const { url: to, received, arrived } = await receiverOf(() => ({ do: 'status', code }))
    const file = `${scratch()}/events.ndjson`
    writeFileSync(file, ['a', 'b', 'c', 'd'].map((event) => track(event)).join(''))
    const args = ['send', file, '--to', to, '--grace', '0s', ...at('file')]
    const first = start([...args, '--max-waiting', '2'])
    await arrived(2)
    first.signal()
    expect((await first.ended).stderr).toContain('2 wait in the queue file: the same command sends them')
    code = 200
    const before = received.length
    const { stderr } = await headrace(args)
    expect(stderr).toContain(`${file}: going on after line 2`)
    expect(received.length - before).toBe(4)
    expect((await headrace(args)).stderr).toContain('the input holds nothing new')
    expect((await headrace([...args, '--from-start'])).stderr).toContain('delivered 4')
  })

  it('shares a queue: two processes end, and each event is sent once', async () => {
    const { url: to, received } = await receiverOf()
    const ended = ['a', 'b'].map((from) => {
      const input = Array.from({ length: 100 }, (_, n) => track(`${from}${n}`)).join('')
      return headrace(['send', '--to', to, ...at('two'), '--max-waiting', '10'], { input })
    })
    expect([(await Promise.all(ended)).map(({ code }) => code), received.length]).toEqual([[0, 0], 200])
  })

  it('collects for each destination into a queue of its own, and says when it drains', async () => {
    const clock = virtualClock()
    const answer = { do: 'status', code: 503, after: 1, headers: { 'Retry-After': '86400' } } as const
    const busy = await receiverOf(() => answer, { clock })
    const hooks = { sources: ['web'], webhooks: [{ url: busy.url }] }
    const destinations = ['a', 'b'].map((name) => ({ name, ...hooks }))
    const file = configFile({ sources: [{ id: 'web', writeKey: 'wk' }], destinations })
    const { says, signal, ended } = start(['collect', '0', '--config', file, ...at('c'), '--grace', '1h'])
    const endpoint = /http:\S+/.exec(await says(/\n/))?.[0] ?? ''
    const body = JSON.stringify({ writeKey: 'wk', batch: [{ type: 'track', userId: 'u1', event: 'Sold' }] })
    const headers = { 'Content-Type': 'application/json' }
    expect((await fetch(endpoint, { method: 'POST', headers, body })).status).toBe(200)
    const probe = async (path: string) => (await fetch(new URL(path, endpoint))).status
    expect([await probe('/healthz'), await probe('/readyz')]).toEqual([200, 200])
    await busy.arrived(2)
    signal()
    expect([await probe('/healthz'), await probe('/readyz')]).toEqual([200, 503])
    clock.tick(1)
    expect((await ended).code).toBe(7)
    expect([await waiting('c/a'), await waiting('c/b')]).toEqual([1, 1])
  })

  test('a command makes the schema, or prints what does; dead makes no queue', async () => {
    const [own, other] = [newSchema(), newSchema()]
    expect((await headrace(['outbox', 'migrate', '--outbox', url, '--schema', own])).code).toBe(0)
    await pool.query((await headrace(['outbox', 'sql', '--schema', other])).stdout)
    await pool.query(`select from ${own}.version, ${other}.version`)
    const { code, stderr } = await headrace(['dead', 'ls', ...at('typo')])
    const sentence = `headrace dead ls: --queue: there is no queue typo in the schema ${schema}\n`
    expect([code, stderr]).toEqual([2, sentence])
    expect((await headrace(['dead', 'ls', ...over('h:port/d')])).stderr).toMatch(/open: Invalid URL\n/)
    await pool.query(`insert into ${schema}.queue values ('own', 'orders')`)
    expect((await headrace(['dead', 'ls', ...at('own')])).stderr).toContain('program, by outbox.dead\n')
  })

  const q = ['--queue', 'q']
  const over = (server: string) => ['--outbox', `postgres://${server}`, ...q]
  test.each<[sentence: RegExp, args: ReadonlyArray<string>]>([
    [/nowhere is missing: run .*"headrace outbox migrate"\n/, ['--outbox', url, ...q, '--schema', 'nowhere']],
    [/: --outbox: the outbox in PostgreSQL did not open: .*ECONNREFUSED/, over('a@127.0.0.1:1/b')],
    [/--outbox must have no password.*--outbox-env, PGPASSWORD or a \.pgpass/, over('a:hunter2@b/c')],
    [/: --outbox postgres:\/\/… needs --queue NAME\n/, ['--outbox', url]],
    [/: --queue and --schema need --outbox postgres:/, ['--outbox', 'folder', ...q]],
    [/--queue and --schema need --outbox/, ['--schema', 's']],
    [/--outbox must be a folder, or a URL such as postgres:/, ['--outbox', 'nats://a', ...q]],
    [/--outbox: the outbox in PostgreSQL did not open: Invalid URL\n/, ['--outbox-env', 'DB', ...q]],
    [/--schema must be a name of at most 50/, ['--outbox', url, ...q, '--schema', 'A;']],
  ])('wrong usage ends with 2 and one sentence: %s', async (sentence, args) => {
    const env = { DB: 'postgres://a:hunter2@b:c/d' }
    const { code, stderr } = await headrace(['send', '--to', 'http://127.0.0.1:9/', ...args], { env })
    expect([code, stderr]).toEqual([2, expect.stringMatching(sentence)])
    expect(stderr).toMatch(/^headrace send: (?!.*hunter2).*\n$/)
  })
})
