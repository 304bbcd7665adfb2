/** Commands over a real PostgreSQL. Left out if there is no server. */
import { writeFileSync } from 'node:fs'
import { describe, expect, it, test } from 'vitest'
import { newSchema, programs } from '../support/postgres.js'
import { openSchema } from '../support/postgresWorld.ts'
import { headrace, receiverOf, scratch, start, track } from './inProcess.ts'

const withServer = programs.initdb === '' ? describe.skip : describe
withServer('commands over PostgreSQL', async () => {
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
    expect((await first.ended).stderr).toContain('2 wait in the queue q: the same command delivers them\n')
    code = 410
    const env = { DB: url }
    const second = await headrace([...send, '--outbox-env', 'DB', ...at('q').slice(2)], { env })
    expect(second.code).toBe(3)
    expect(second.stderr).toContain(`headrace dead ls --outbox-env NAME --queue q --schema ${schema}\n`)
    expect((await headrace(['dead', 'ls', ...at('q')])).stderr).toContain('2 of 2 dead letters')
    const { stdout } = await headrace(['dead', 'redrive', ...at('q'), '--yes'])
    expect([stdout, await waiting('q')]).toEqual(['2 dead letters were put back to wait\n', 2])
    code = 200
    expect([(await headrace([...send, ...at('q')])).code, await waiting('q')]).toEqual([0, 0])
  })

  it('shares a queue: two processes end, and each event is sent once', async () => {
    const { url: to, received } = await receiverOf()
    const ended = ['a', 'b'].map((from) => {
      const input = Array.from({ length: 100 }, (_, n) => track(`${from}${n}`)).join('')
      return headrace(['send', '--to', to, ...at('two'), '--max-waiting', '10'], { input })
    })
    expect((await Promise.all(ended)).map(({ code }) => code)).toEqual([0, 0])
    expect(received.length).toBe(200)
  })

  it('collects for each destination into a queue of its own, and says when it drains', async () => {
    const webhooks = [{ url: (await receiverOf(() => ({ do: 'silence' }))).url }]
    const destinations = ['a', 'b'].map((name) => ({ name, sources: ['web'], webhooks }))
    const file = `${scratch()}/collector.json`
    writeFileSync(file, JSON.stringify({ sources: [{ id: 'web', writeKey: 'wk' }], destinations }))
    const { says, signal, ended } = start(['collect', '0', '--config', file, ...at('c'), '--grace', '1s'])
    const endpoint = /http:\S+/.exec(await says(/\n/))?.[0] ?? ''
    const body = JSON.stringify({ writeKey: 'wk', batch: [{ type: 'track', userId: 'u1', event: 'Sold' }] })
    const headers = { 'Content-Type': 'application/json' }
    expect((await fetch(endpoint, { method: 'POST', headers, body })).status).toBe(200)
    signal()
    expect((await fetch(new URL('/readyz', endpoint))).status).toBe(503)
    expect((await ended).code).toBe(7)
    expect([await waiting('c/a'), await waiting('c/b')]).toEqual([1, 1])
  })

  test('a command makes the schema, or prints what does', async () => {
    const [own, other] = [newSchema(), newSchema()]
    expect((await headrace(['outbox', 'migrate', '--outbox', url, '--schema', own])).code).toBe(0)
    await pool.query((await headrace(['outbox', 'sql', '--schema', other])).stdout)
    await pool.query(`select from ${own}.version, ${other}.version`)
  })

  const q = ['--queue', 'q']
  const over = (server: string) => ['--outbox', `postgres://${server}`, ...q]
  test.each<[args: ReadonlyArray<string>, sentence: RegExp]>([
    [['--outbox', url, ...q, '--schema', 'nowhere'], /nowhere is missing: run .*"headrace outbox migrate"\n/],
    [over('a@127.0.0.1:1/b'), /: --outbox: the outbox in PostgreSQL did not open: .*ECONNREFUSED/],
    [over('a:hunter2@b/c'), /--outbox must have no password.*--outbox-env, PGPASSWORD or a \.pgpass/],
    [['--outbox', url], /--queue and --outbox postgres:.* belong together/],
    [['--outbox', 'folder', ...q], /--queue and --outbox postgres:.* belong together/],
    [['--outbox', 'nats://a', ...q], /--outbox must be a folder, or a URL such as postgres:/],
    [['--outbox-env', 'DB', ...q], /--outbox: the outbox in PostgreSQL did not open: Invalid URL\n/],
    [['--outbox', url, ...q, '--schema', 'A;'], /--schema must be a name of at most 50/],
    [['--outbox', url, ...q, import.meta.filename], /PostgreSQL keeps no place in FILE: give --from-start/],
  ])('wrong usage ends with 2 and one sentence: %j', async (args, sentence) => {
    const env = { DB: 'postgres://a:hunter2@b:c/d' }
    const { code, stderr } = await headrace(['send', '--to', 'http://127.0.0.1:9/', ...args], { env })
    expect([code, stderr]).toEqual([2, expect.stringMatching(sentence)])
    expect(stderr).toMatch(/^headrace send: (?!.*hunter2).*\n$/)
  })

  it('makes no queue when it looks for dead letters', async () => {
    const { code, stderr } = await headrace(['dead', 'ls', ...at('typo')])
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining(`there is no queue typo in the schema ${schema}`),
    ])
  })
})
