/** The natural end of a program, seen from outside: in processes of their own, with the built package. */
import { spawn } from 'node:child_process'
import { describe, expect, it, onTestFinished } from 'vitest'
import { loopbackReceiver } from '../../src/testing/loopbackReceiver.ts'
import type { FaultScript } from '../../src/testing/faults.ts'

const CLIENT = new URL('../../dist/client/index.js', import.meta.url).href

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs a program that has `createClient`, and as `url` its endpoint. */
const run = (program: string, url: string, env: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  new Promise((resolve) => {
    const source = `import { createClient } from ${JSON.stringify(CLIENT)}\nconst url = ${JSON.stringify(url)}\n${program}`
    const child = spawn(process.execPath, ['--input-type=module', '--eval', source], {
      env: { ...process.env, DEBUG: '', ...env },
    })
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    child.on('close', (code) => resolve({ code, stdout, stderr }))
  })

const receiver = async (script: FaultScript = []) => {
  const opened = await loopbackReceiver(script)
  onTestFinished(() => opened.close())
  return opened
}

/** Says how long the process went on after the end of the program, in milliseconds. */
const LIFE = `const begun = performance.now()
process.on('exit', () => console.log(Math.round(performance.now() - begun)))`

const TWO = `client.track({ userId: 'u', event: 'a' })
client.track({ userId: 'u', event: 'b' })`

describe('44: the natural end of a program', () => {
  it('sends what is queued, and leaves within a round trip', async () => {
    const endpoint = await receiver()
    const { code, stdout } = await run(
      `const client = createClient('key', { endpoint: url, flushAfter: 60_000 })\n${TWO}\n${LIFE}`,
      endpoint.url,
    )
    expect(code).toBe(0)
    expect(endpoint.received).toHaveLength(1)
    // Far from any timer of the client: the flush is a minute away, and a kept connection would be open for seconds.
    expect(Number(stdout)).toBeLessThan(2_000)
  }, 30_000)

  it('also of several clients, after retries that are due in time', async () => {
    const endpoint = await receiver([{ do: 'status', code: 503 }, { do: 'hangUp' }])
    const { code, stdout } = await run(
      `for (let n = 0; n < 12; n++) {
         const client = createClient('key', { endpoint: url, logger: false, random: () => 0 })
         client.outcomes$.subscribe(({ _tag }) => console.log(_tag))
         client.track({ userId: 'u', event: 'a' })
       }`,
      endpoint.url,
    )
    expect(code).toBe(0)
    expect(stdout.trim().split('\n')).toEqual(Array.from({ length: 12 }, () => 'Delivered'))
  }, 30_000)

  it('an endpoint that never answers: it leaves when the time is over, and says what it abandons', async () => {
    const endpoint = await receiver([{ do: 'silence' }])
    const { code, stdout, stderr } = await run(
      `const client = createClient('key', { endpoint: url, drainOnExit: 300, size: 1 })
       client.outcomes$.subscribe(({ _tag }) => console.log(_tag))\n${TWO}`,
      endpoint.url,
    )
    expect(code).toBe(0)
    expect(stdout.trim().split('\n')).toEqual(['Abandoned', 'Abandoned'])
    expect(stderr).toContain('abandoned')
  }, 30_000)

  it('an endpoint that is down: it does not wait for a retry that is not due in time', async () => {
    const { code, stdout } = await run(
      `const client = createClient('key', { endpoint: url, logger: false, random: () => 0.999, drainOnExit: 900 })
       client.outcomes$.subscribe(({ _tag }) => console.log(_tag))\n${TWO}`,
      'http://127.0.0.1:9/',
    )
    expect([code, stdout.trim().split('\n')]).toEqual([0, ['Abandoned', 'Abandoned']])
  }, 30_000)

  it('with drainOnExit off it leaves at once and sends nothing', async () => {
    const endpoint = await receiver()
    const { code } = await run(
      `const client = createClient('key', { endpoint: url, drainOnExit: false })\n${TWO}`,
      endpoint.url,
    )
    expect([code, endpoint.received.length]).toEqual([0, 0])
  }, 30_000)

  it('a flush and a close that are awaited hold the process for as long as they take', async () => {
    const endpoint = await receiver([
      { do: 'status', code: 503 },
      { do: 'status', code: 503 },
    ])
    const { code, stdout } = await run(
      `const client = createClient('key', { endpoint: url, logger: false, random: () => 0.05, drainOnExit: false })\n${TWO}
       console.log((await client.flush()).delivered)
       client.track({ userId: 'u', event: 'c' })
       console.log((await client.close()).totals.delivered)`,
      endpoint.url,
    )
    expect([code, stdout]).toEqual([0, '2\n3\n'])
  }, 30_000)

  it('an idle client holds nothing, and no listener', async () => {
    const endpoint = await receiver()
    const { code, stdout } = await run(
      `const client = createClient('key', { endpoint: url })
       console.log(process.listenerCount('beforeExit'))
       client.track({ userId: 'u', event: 'a' })
       console.log(process.listenerCount('beforeExit'))
       await client.flush()
       console.log(process.listenerCount('beforeExit'))`,
      endpoint.url,
    )
    expect([code, stdout]).toEqual([0, '0\n1\n0\n'])
  }, 30_000)
})

describe('DEBUG=analytics', () => {
  const program = `const client = createClient('the key', { endpoint: url })
    client.track({ userId: 'u', event: 'a', messageId: 'm1', properties: { secret: 'in here' }, colour: 'red' })
    client.track({ userId: 'u' })
    await client.flush()`

  it('logs every message and attempt, and no payload and no key', async () => {
    const endpoint = await receiver()
    const { code, stderr } = await run(program, endpoint.url, { DEBUG: 'analytics' })
    expect(code).toBe(0)
    expect(stderr).toMatch(/analytics.*colour/)
    expect(stderr).toMatch(/analytics m1: accepted/)
    expect(stderr).toMatch(/analytics.*refused: event: is missing/)
    expect(stderr).toMatch(/analytics.*delivered 200/)
    expect(stderr).toMatch(/analytics m1: delivered/)
    expect(stderr).not.toMatch(/in here|the key/)
  }, 30_000)

  it('is silent without it', async () => {
    const endpoint = await receiver()
    expect((await run(program, endpoint.url)).stderr).toBe('')
  }, 30_000)
})
