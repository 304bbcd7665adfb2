/** The code blocks of the pages about PostgreSQL, over a real one. Left out if there is no server. */
import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { loopbackReceiver } from '../../src/testing/index.ts'
import { checkExamples, collectExamples, type Fence } from '../support/examples.ts'
import { sharedPostgres } from '../support/servers.js'

const fences = collectExamples().filter(({ file }) => /docs\/(outbox|scale)\.md/.test(file))
const blocks = fences.filter(({ language, text }) => language === 'ts' && text.includes('DATABASE_URL'))
const isSql = /^(select|grant)\b/
const statements = fences.filter(({ language, text }) => language === 'text' && isSql.test(text))

/** Asks a block that serves until SIGTERM. */
const DRIVER = `
import { once } from 'node:events'
if (!server.listening) await once(server, 'listening')
const address = server.address()
const at = 'http://127.0.0.1:' + (typeof address === 'object' ? address?.port : '')
const status = async (path: string, init = {}) => (await fetch(at + path, init)).status
while ((await status('/readyz')) !== 200) await sleep(10)
const body = JSON.stringify({ writeKey: 'wk', type: 'track', userId: 'u1', event: 'Sold' })
const headers = { 'Content-Type': 'application/json' }
console.log(await status('/healthz'), await status('/v1/track', { method: 'POST', headers, body })) // => 200 200
process.emit('SIGTERM')
console.log(await status('/readyz'), await status('/healthz')) // => 503 200
server.emit('asked')
`
/** It drains for its time, and until it was asked. */
const drained = (text: string) =>
  text.replace('sleep(Number(DRAIN))', "Promise.all([$&, once(server, 'asked')])")

test('they run', async () => {
  const { url } = await sharedPostgres()
  const hook = await loopbackReceiver()
  const own = { DATABASE_URL: url, WRITE_KEY: 'wk', HOOK_URL: hook.url, PORT: '0', DRAIN: '200' }
  for (const [name, value] of Object.entries(own)) vi.stubEnv(name, value)
  const serves = ({ text }: Fence): boolean => text.includes('/readyz')
  const texts = blocks.map((fence) => (serves(fence) ? drained(fence.text) + DRIVER : fence.text))
  const run = blocks.map((fence, at) => ({ ...fence, flags: [], text: texts[at] ?? '' }))
  expect([run.length, run.filter(serves).length, statements.length > 3]).toEqual([3, 1, true])
  expect(await checkExamples(run, 120_000)).toEqual(run.map(() => []))
  vi.unstubAllEnvs()
  const pool = new pg.Pool({ connectionString: url })
  await pool.query('create role app')
  for (const { text } of statements) await pool.query(text)
  expect(hook.received).toHaveLength(1)
  await Promise.all([pool.end(), hook.close()])
})
