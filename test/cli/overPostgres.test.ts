/** Commands over a real PostgreSQL. Left out if there is no server. */
import { readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it, test } from 'vitest'
import { newSchema, programs } from '../support/postgres.js'
import { openSchema } from '../support/postgresWorld.ts'
import { headrace, receiverOf, recordsOf, scratch, start, track } from './inProcess.ts'

const withServer = programs.initdb === '' ? describe.skip : describe
withServer('commands over PostgreSQL', async () => {
  const { pool, schema, url } = await openSchema()
  const at = (queue: string) => ['--outbox', url, '--queue', queue, '--schema', schema]
  const waiting = async (queue: string): Promise<number> =>
    (await pool.query(`select from ${schema}.item where queue = $1`, [queue])).rowCount ?? 0

  it('sends what an earlier run left, and what a dead letter was redriven', async () => {
    let code = 503
    const { url: to, arrived, received } = await receiverOf(() => ({ do: 'status', code }))
    const first = start(['send', '--to', to, ...at('q'), '--grace', '0s'])
    first.stdin.end(track('a') + track('b'))
    await arrived(2)
    first.signal()
    const { stderr } = await first.ended
    expect(stderr).toContain('2 wait in the queue q: the same command delivers them\n')
    code = 410
    const second = await headrace(['send', '--to', to, '--outbox-env', 'DB', ...at('q').slice(2)], {
      env: { DB: url },
    })
    expect(second.code).toBe(3)
    expect(second.stderr).toContain(`headrace dead ls --outbox-env NAME --queue q --schema ${schema}\n`)
    const listed = await headrace(['dead', 'ls', ...at('q'), '--output', 'json'])
    expect(recordsOf(listed.stdout)).toMatchObject([{ outcome: 'rejected' }, { outcome: 'rejected' }])
    const moved = await headrace(['dead', 'redrive', ...at('q'), '--yes'])
    expect([moved.stdout, await waiting('q')]).toEqual(['2 dead letters were put back to wait\n', 2])
    code = 200
    const last = await headrace(['send', '--to', to, ...at('q')])
    expect([last.code, await waiting('q')]).toEqual([0, 0])
    expect(received.length).toBeGreaterThan(5)
  })

  it('shares a queue: each of two processes ends, and each event is sent once', async () => {
    const { url: to, received } = await receiverOf()
    const input = (from: string) => Array.from({ length: 100 }, (_, n) => track(`${from}${n}`)).join('')
    const send = (from: string) =>
      headrace(['send', '--to', to, ...at('two'), '--max-waiting', '10'], { input: input(from) })
    const ended = await Promise.all([send('a'), send('b')])
    expect(ended.map(({ code }) => code)).toEqual([0, 0])
    expect(received.length).toBe(200)
  })

  it('collects for each destination into a queue of its own, and says when it drains', async () => {
    const receiver = await receiverOf(() => ({ do: 'silence' }))
    const file = `${scratch()}/collector.json`
    const destination = (name: string) => ({ name, sources: ['web'], webhooks: [{ url: receiver.url }] })
    const settings = {
      sources: [{ id: 'web', writeKey: 'wk' }],
      destinations: [destination('a'), destination('b')],
    }
    writeFileSync(file, JSON.stringify(settings))
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

  test('the schema is made by a command, or by what it prints', async () => {
    const [own, other] = [newSchema(), newSchema()]
    const made = await headrace(['outbox', 'migrate', '--outbox', url, '--schema', own])
    expect([made.code, made.stdout]).toEqual([0, `the schema ${own} is ready\n`])
    await pool.query((await headrace(['outbox', 'sql', '--schema', other])).stdout)
    for (const schema of [own, other])
      expect((await pool.query(`select version from ${schema}.version`)).rows).toEqual([{ version: 1 }])
  })

  const q = ['--queue', 'q']
  const closed = 'postgres://postgres@127.0.0.1:1/postgres'
  test.each<[what: string, args: ReadonlyArray<string>, sentence: string | RegExp]>([
    [
      'a missing schema',
      ['--outbox', url, ...q, '--schema', 'nowhere'],
      /its schema nowhere is missing: run .*"headrace outbox migrate"/,
    ],
    [
      'no server',
      ['--outbox', closed, ...q],
      /^--outbox: the outbox in PostgreSQL did not open: .*ECONNREFUSED/,
    ],
    [
      'a password',
      ['--outbox', 'postgres://a:hunter2@b/c', ...q],
      /^--outbox must have no password.*--outbox-env, PGPASSWORD or a \.pgpass/,
    ],
    ['no queue', ['--outbox', url], /^--queue and --outbox postgres:.* belong together/],
    [
      'a queue in a folder',
      ['--outbox', 'folder', ...q],
      /^--queue and --outbox postgres:.* belong together/,
    ],
    [
      'another server',
      ['--outbox', 'nats://a', ...q],
      /^--outbox must be a folder, or a URL such as postgres:/,
    ],
    [
      'a variable without a URL',
      ['--outbox-env', 'DB', ...q],
      /^--outbox-env names a variable without a postgres:\/\/ URL/,
    ],
    ['a wrong schema', ['--outbox', url, ...q, '--schema', 'A;'], /^--schema must be a name of at most 50/],
    [
      'a file',
      ['--outbox', url, ...q, import.meta.filename],
      /^PostgreSQL keeps no place in FILE: give --from-start/,
    ],
  ])('wrong usage ends with 2 and one sentence: %s', async (_, args, sentence) => {
    const { code, stderr } = await headrace(['send', '--to', 'http://127.0.0.1:9/', ...args], {
      env: { DB: 'hunter2' },
    })
    expect([code, stderr.split('\n').length]).toEqual([2, 2])
    expect(stderr.replace('headrace send: ', '')).toMatch(sentence)
    expect(stderr).not.toContain('hunter2')
  })

  it('makes no queue to look for dead letters, and takes no folder for a collector', async () => {
    const none = await headrace(['dead', 'ls', ...at('typo')])
    expect([none.code, none.stderr]).toEqual([
      2,
      `headrace dead ls: --queue: there is no queue typo in the schema ${schema}\n`,
    ])
    const file = `${scratch()}/collector.json`
    writeFileSync(file, readFileSync(new URL('../../docs/examples/events.ndjson', import.meta.url)))
    expect((await headrace(['dead', 'ls'])).stderr).toMatch(/--outbox is missing/)
  })
})
