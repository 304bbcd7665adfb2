/** The natural end of a program, seen from outside: in processes of their own, with the built package. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { promisify } from 'node:util'
import { describe, it } from 'vitest'
import { loopbackReceiver, type FaultScript } from '../../src/testing/index.ts'

const CLIENT = new URL('../../dist/client/index.js', import.meta.url).href

/** Runs a program that has `createClient`, and as `url` its endpoint. It must end with 0. */
const run = (program: string, url: string, env: Readonly<Record<string, string>>) => {
  const source = `import { createClient } from ${JSON.stringify(CLIENT)}\nconst url = ${JSON.stringify(url)}\n${program}`
  const args = ['--input-type=module', '--eval', source]
  return promisify(execFile)(process.execPath, args, { env: { ...process.env, DEBUG: '', ...env } })
}

/** Whether the connection is kept, which closes by itself after seconds. */
const KEPT = `import { subscribe } from 'node:diagnostics_channel'
subscribe('undici:client:connected', ({ socket }) =>
  process.on('exit', () => console.log(socket.destroyed ? 'closed' : 'kept')))`

const OUTCOMES = 'client.outcomes$.subscribe(({ _tag }) => console.log(_tag))'
const TWO = "client.track({ userId: 'u', event: 'a' })\nclient.track({ userId: 'u', event: 'b' })"

interface Program {
  readonly what: string
  readonly options: string
  readonly then: string
  readonly script?: FaultScript
  readonly env?: Readonly<Record<string, string>>
  readonly stdout: string
  readonly stderr?: RegExp
  readonly requests?: number
}

const programs: ReadonlyArray<Program> = [
  {
    what: 'sends what waits in its folder, and waits neither for the next batch nor for its connection',
    options: 'logger: false, outbox: { path }',
    then: `${TWO}\nawait client.close({ timeout: 0 })
      createClient('key', { endpoint: url, flushAfter: 3_600_000, outbox: { path } })\n${KEPT}`,
    script: [],
    stdout: 'kept\n',
    requests: 1,
  },
  {
    what: 'sends what several clients have, after retries that are due in time',
    options: 'logger: false, random: () => 0',
    then: `for (let n = 0; n < 12; n++) {
      const client = createClient('key', { endpoint: url, logger: false, random: () => 0.05 })
      ${OUTCOMES}
      client.track({ userId: 'u', event: 'a' })
    }`,
    script: [{ do: 'status', code: 503 }, { do: 'hangUp' }],
    stdout: 'Delivered\n'.repeat(12),
  },
  {
    what: 'sends what is sent at its end, and what an end leads to, without waiting for the next batch',
    options: 'flushAfter: 60_000',
    then: `let left = 2
      client.outcomes$.subscribe(({ _tag }) => {
        console.log(_tag)
        if (left-- > 0) client.track({ userId: 'u', event: 'next' })
      })
      process.once('beforeExit', () => client.track({ userId: 'u', event: 'last' }))`,
    script: [],
    stdout: 'Delivered\n'.repeat(3),
  },
  {
    what: 'leaves when the time is over if the endpoint never answers, and says what it abandons',
    options: 'drainOnExit: 300, size: 1',
    then: `${OUTCOMES}\n${TWO}`,
    script: [{ do: 'silence' }],
    stdout: 'Abandoned\nAbandoned\n',
    stderr: /abandoned/,
  },
  {
    what: 'does not wait for a retry that is not due in time',
    options: 'logger: false, random: () => 0.999, drainOnExit: 900',
    then: `${OUTCOMES}\n${TWO}`,
    stdout: 'Abandoned\nAbandoned\n',
  },
  {
    what: 'leaves at once with drainOnExit off, and tells nothing of a request',
    options: 'drainOnExit: false, size: 1',
    then: TWO,
    script: [{ do: 'silence' }],
    stdout: '',
  },
  {
    what: 'is held by a flush, a call that lost its room, and a close, which ends its connection',
    options: 'logger: false, random: () => 0.05, drainOnExit: false, maxCount: 2',
    then: `${KEPT}\n${TWO}
      console.log((await client.flush()).delivered)
      const send = () => client.ready().then(() => client.track({ userId: 'u', event: 'c' }))
      await Promise.all([send(), send(), send()])
      console.log((await client.close()).totals.delivered)`,
    script: [503, 503].map((code) => ({ do: 'status', code })),
    stdout: '2\n5\nclosed\n',
  },
  {
    what: 'has no listener while it is idle; with DEBUG it logs messages and attempts, no payload and no key',
    options: '',
    then: `console.log(process.listenerCount('beforeExit'))
      client.track({ userId: 'u', event: 'a', messageId: 'm1', properties: { secret: 'in here' }, colour: 'red' })
      client.track({ userId: 'u' })
      console.log(process.listenerCount('beforeExit'))
      await client.flush()
      console.log(process.listenerCount('beforeExit'))`,
    script: [],
    env: { DEBUG: 'analytics' },
    stdout: '0\n1\n0\n',
    stderr:
      /^(?![^]*(in here|the key))(?=[^]*colour)(?=[^]*m1: accepted)(?=[^]*not accepted: event: is missing)(?=[^]*delivered 200)[^]*m1: delivered/,
  },
]

describe('44: a program that ends by itself', () =>
  it.concurrent.for(programs)('$what', async (program, { expect, onTestFinished }) => {
    const { options, then, script, env = {}, stdout, stderr = /^$/, requests } = program
    const endpoint = script === undefined ? undefined : await loopbackReceiver(script)
    const path = mkdtempSync(`${tmpdir()}/headrace-`)
    onTestFinished(() => (rmSync(path, { recursive: true }), endpoint?.close()))
    const source = `const path = ${JSON.stringify(path)}\nconst client = createClient('the key', { endpoint: url, ${options} })\n${then}`
    const ended = await run(source, endpoint?.url ?? 'http://127.0.0.1:9/', env)
    expect(ended).toMatchObject({ stdout, stderr: expect.stringMatching(stderr) })
    if (requests !== undefined) expect(endpoint?.received).toHaveLength(requests)
  }))
