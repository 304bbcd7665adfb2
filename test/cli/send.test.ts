import { openSync } from 'node:fs'
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, test } from 'vitest'
import { headrace, linesOf, recordsOf, scratch, steady, track } from './command.ts'
import { picky } from './picky.ts'

const once = ['--retry-for', '0s']

describe('what send prints, and its exit code', () => {
  it('0: all delivered', async () => {
    const { url } = await picky()
    const { stdout, ...rest } = await headrace(['send', '--to', url], { input: track('A') + track('B') })
    expect([...linesOf(steady(stdout))].sort()).toEqual([
      'delivered  line 1    track    A  http://127.0.0.1:PORT/ 200',
      'delivered  line 2    track    B  http://127.0.0.1:PORT/ 200',
    ])
    expect({ ...rest, stderr: steady(rest.stderr) }).toEqual({
      code: 0,
      stderr: `headrace: http://127.0.0.1:PORT/  2 requests taken, 0 failed
headrace: 2 read = 2 accepted + 0 refused; 2 accepted = 2 delivered
`,
    })
  })

  it('0: an empty input, with a note', async () => {
    const ended = await headrace(['send', '--to', 'http://127.0.0.1:9/'], { input: '\n \n' })
    expect(ended).toEqual({
      code: 0,
      stdout: '',
      stderr: `headrace: 0 read = 0 accepted + 0 refused
headrace: the input holds no events, so there was nothing to send
`,
    })
  })

  it('3: some dead', async () => {
    const { url } = await picky()
    const { code, stdout, stderr } = await headrace(['send', '--to', url], {
      input: track('A') + track('Bad'),
    })
    expect(code).toBe(3)
    expect(steady(stdout)).toContain('rejected   line 2    track    Bad  http://127.0.0.1:PORT/ 400\n')
    expect(steady(stderr)).toBe(`headrace: http://127.0.0.1:PORT/  1 requests taken, 1 failed
headrace: 2 read = 2 accepted + 0 refused; 2 accepted = 1 delivered + 1 rejected
headrace: 1 not delivered; with --dead FILE they are kept, to be sent again
`)
  })

  it('4: some lines refused', async () => {
    const { url } = await picky()
    const { code, stderr } = await headrace(['send', '--to', url], { input: `oops\n${track('A')}` })
    expect(code).toBe(4)
    expect(steady(stderr)).toBe(`refused    line 1    not JSON: expected a value at character 1
headrace: http://127.0.0.1:PORT/  1 requests taken, 0 failed
headrace: 2 read = 1 accepted + 1 refused; 1 accepted = 1 delivered
`)
  })

  it('5: nothing delivered, which comes before 4', async () => {
    const { url } = await picky()
    const { code } = await headrace(['send', '--to', url], { input: `oops\n${track('Bad')}` })
    expect(code).toBe(5)
  })

  it('5: nobody listens', async () => {
    const { code, stdout } = await headrace(['send', '--to', 'http://127.0.0.1:9/', ...once], {
      input: track('A'),
    })
    expect(code).toBe(5)
    expect(stdout).toBe(
      'expired    line 1    track    A  http://127.0.0.1:9/ network (connection refused: nothing listens there; no request was sent)\n',
    )
  })

  it('2: nothing was sent', async () => {
    const { url, received } = await picky()
    const ended = await headrace(['send', '--to', url, '--timeout', '5'], { input: track('A') })
    expect(ended).toEqual({
      code: 2,
      stdout: '',
      stderr: 'headrace send: --timeout must be a number with a unit, such as 250ms, 5s, 10m or 4h\n',
    })
    expect(received).toEqual([])
  })

  it('1: the input fails on the way', async () => {
    // A process cannot read the unmapped beginning of its own memory.
    const { code, stderr } = await headrace(['send', '/proc/self/mem', '--to', 'http://127.0.0.1:9/'])
    expect(code).toBe(1)
    expect(stderr).toContain(
      'headrace: the input was not read to its end: the device failed; what was taken goes on\n',
    )
  })

  it('1: the output fails on the way, and delivery goes on', async () => {
    const { url, received } = await picky()
    const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
    const child = spawn(process.execPath, [main, 'send', '--to', url], {
      stdio: ['pipe', openSync('/dev/full', 'w'), 'pipe'],
    })
    let stderr = ''
    child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    child.stdin?.end(track('A') + track('B'))
    const code = await new Promise((resolve) => child.on('close', resolve))
    expect(stderr).toContain('headrace: the output could not be written: ENOSPC\n')
    expect(received.length).toBe(2)
    expect(code).toBe(1)
  })
})

test('a misspelt key is told once, with its line, and the reason of a dead letter is not', async () => {
  const { url } = await picky()
  const misspelt = (n: number): string =>
    `${JSON.stringify({ type: 'track', userId: 'u', event: 'A', messageId: String(n), propertis: {}, reason: 'r' })}\n`
  const { code, stderr } = await headrace(['send', '--to', url], {
    input: track('A') + misspelt(1) + misspelt(2),
  })
  expect(code).toBe(0)
  expect(linesOf(stderr).filter((line) => line.startsWith('left out'))).toEqual([
    'left out   line 2    propertis: not a field of this kind of event (told once)',
  ])
})

describe('--output', () => {
  const input = `oops\n${track('A')}${track('Bad')}`

  it('json is NDJSON that ends in a summary that adds up', async () => {
    const { url } = await picky()
    const { code, stdout } = await headrace(['send', '--to', url, '--output', 'json'], { input })
    expect(code).toBe(3)
    const sink = 'http://127.0.0.1:PORT/'
    const subject = (line: number, id: string) => ({ line, id, type: 'track' })
    const records = recordsOf(steady(stdout).replaceAll('"ms":MS', '"ms":0'))
    const byText = (a: unknown, b: unknown): number => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)
    expect([...records.slice(0, -1)].sort(byText)).toEqual(
      [
        {
          v: 1,
          t: 'refused',
          line: 1,
          reason: 'notJson',
          faults: [{ path: '', message: 'not JSON: expected a value at character 1' }],
        },
        { v: 1, t: 'attempt', ...subject(2, 'A'), url: sink, n: 1, ok: true, ms: 0, status: 200 },
        {
          v: 1,
          t: 'outcome',
          ...subject(2, 'A'),
          outcome: 'delivered',
          n: 1,
          url: sink,
          status: 200,
          causes: [],
        },
        {
          v: 1,
          t: 'attempt',
          ...subject(3, 'Bad'),
          url: sink,
          n: 1,
          ok: false,
          ms: 0,
          reason: 'status',
          status: 400,
        },
        {
          v: 1,
          t: 'outcome',
          ...subject(3, 'Bad'),
          outcome: 'rejected',
          n: 1,
          causes: [{ url: sink, reason: 'status', status: 400 }],
        },
        { v: 1, t: 'url', url: sink, delivered: 1, failed: 1, passedOver: 0 },
      ].sort(byText),
    )
    expect(linesOf(stdout).at(-1)).toBe(
      '{"v":1,"t":"summary","read":3,"refused":1,"accepted":2,"delivered":1,"rejected":1,"expired":0,"dropped":0,"abandoned":0,"waiting":0}',
    )
  })

  it('quiet has nothing on stdout, and on stderr what is wrong and the account', async () => {
    const { url } = await picky()
    const { code, stdout, stderr } = await headrace(['send', '--to', url, '--output', 'quiet'], { input })
    expect([code, stdout]).toEqual([3, ''])
    expect(stderr).toMatch(/^refused {4}line 1 .*\n.*\nheadrace: 3 read = .*\nheadrace: 1 not delivered.*\n$/)
  })

  it('has colours only when it is told to, for nobody looks at a pipe', async () => {
    const { url } = await picky()
    const plain = await headrace(['send', '--to', url], { input })
    expect(plain.stdout + plain.stderr).not.toContain('\u001b')
    const painted = await headrace(['--color', 'always', 'send', '--to', url], { input })
    expect(painted.stdout).toContain('\u001b[32mdelivered \u001b[39m')
  })
})

test('secrets, header values and queries appear nowhere', async () => {
  const { url } = await picky()
  const folder = scratch()
  const env = { SECRET: 'hunter2-secret' }
  const flags = [
    '--secret-env',
    'SECRET',
    '--header',
    'Authorization: hunter2-header',
    '--dead',
    `${folder}/dead`,
  ]
  const input = `{"password":"hunter2-event\n${track('A')}${track('Bad')}`
  const runs = await Promise.all([
    headrace(['send', '--to', `${url}?token=hunter2-query`, ...flags], { env, input }),
    headrace(['send', '--to', `${url}?token=hunter2-query`, ...flags, '--output', 'json'], { env, input }),
    headrace(['send', '--to', `http://127.0.0.1:9/?hunter2-query`, ...once, ...flags], { env, input }),
    headrace(['send', '--to', `ftp://x/?hunter2-query`, '--header', 'hunter2-header'], { env, input }),
    headrace(['send', '--to', 'http://hunter2-user:hunter2-password@x/'], { env, input }),
    headrace(['send', '--to', url, '--header', 'X: hunter2\u0007header', '--secret-env', 'hunter2-name'], {
      env,
    }),
    headrace(['send', '--to', url, '--secret=hunter2-flag'], { env }),
    headrace(['send', '--to', url, '--header'], { env }),
    headrace(['verify', '--secret-env', 'SECRET', '--signature', 'hunter2-signature'], { env, input: '{}' }),
  ])
  const { readFileSync } = await import('node:fs')
  const all = [...runs.map(({ stdout, stderr }) => stdout + stderr), readFileSync(`${folder}/dead`, 'utf8')]
  for (const text of all) expect(text).not.toContain('hunter2')
  expect(runs.map(({ code }) => code)).toEqual([3, 3, 5, 2, 2, 2, 2, 2, 1])
})
