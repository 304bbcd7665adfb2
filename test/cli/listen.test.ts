import { readFileSync, statSync } from 'node:fs'
import { expect, it } from 'vitest'
import { signatureOf } from '../../src/signing/secret.ts'
import { runCommand } from '../../src/cli/program.ts'
import { collected, headrace, linesOf, receiverOf, recordsOf } from './inProcess.ts'
import { scratch, screenOf, served, start } from './inProcess.ts'

const env = { SECRET: 'correct horse' }
const body = '{"type":"track","messageId":"m1"}'

const opened = async (args: ReadonlyArray<string>) => {
  const command = start(['listen', '0', ...args], { env })
  const url = /http:[^"\s]+/.exec(await command.says(/\n/))?.[0] ?? ''
  const post = async (path: string, content: string, signature?: string): Promise<number> => {
    const headers = signature === undefined ? {} : { 'X-Signature': signature }
    const answer = await fetch(new URL(path, url), { method: 'POST', body: content, headers })
    await answer.text()
    return answer.status
  }
  return { ...command, url, post }
}

it('verifies, prints, and ends after a number of requests', async () => {
  const { ended, post } = await opened(['--secret-env', 'SECRET', '--once', '4'])
  expect([
    await post('/hook?token=hunter2', body, signatureOf(env.SECRET, body)),
    await post('/hook', body),
    await post('/hook', body, signatureOf('wrong horse', body)),
    await post('/hook', JSON.stringify(JSON.parse(body), null, 2), signatureOf(env.SECRET, body)),
  ]).toEqual([200, 401, 401, 401])
  const { code, stdout, stderr } = await ended
  expect(linesOf(stdout).slice(1)).toEqual([
    'authentic     POST /hook  track m1  33 bytes  answered 200',
    'not authentic POST /hook  track m1  33 bytes  answered 401  there is no signature: the sender has no secret, or a proxy removed the header',
    'not authentic POST /hook  track m1  33 bytes  answered 401  the signature belongs to another body or another secret: compare the secrets, and see that nothing on the way changes the body or compresses it',
    expect.stringContaining('the raw body does not match, but its re-serialised form does'),
  ])
  expect(stderr).toBe('headrace: requests 4 · authentic 1 · not authentic 3 · not checked 0\n')
  expect(code).toBe(1)
})

it('0 if all were authentic; 1 if it was stopped before', async () => {
  const fine = await opened(['--secret-env', 'SECRET', '--once', '1'])
  await fine.post('/', body, signatureOf(env.SECRET, body))
  expect((await fine.ended).code).toBe(0)
  const early = await opened(['--once', '2'])
  early.signal()
  expect((await early.ended).code).toBe(1)
})

it('answers 413 to a body of more than 1 MiB, and goes on', async () => {
  const { ended, post } = await opened(['--once', '1'])
  expect([await post('/', 'x'.repeat(1_048_577)), await post('/', body)]).toEqual([413, 200])
  expect((await ended).stderr).toMatch(/more than 1048576 bytes was answered with 413\n.*requests 1 /)
})

it('speaks NDJSON', async () => {
  const { ended, post, url } = await opened(['--output', 'json', '--once', '1'])
  await post('/a', body, 'x')
  const { stdout, stderr } = await ended
  expect(stderr).toBe('')
  expect(recordsOf(stdout)).toEqual([
    { v: 1, t: 'ready', url },
    {
      ...{ v: 1, t: 'request', n: 1, path: '/a', type: 'track', id: 'm1', bytes: 33, status: 200 },
      verdict: 'not checked',
      why: 'it is signed, and no secret was given: give --secret-env to verify it',
    },
    { v: 1, t: 'summary', requests: 1, authentic: 0, notAuthentic: 0, notChecked: 1 },
  ])
})

it('misbehaves on purpose, and keeps only what it took', async () => {
  const out = `${scratch()}/received`
  const failing = await opened(['--fail', '100%', '--out', out, '--once', '1'])
  expect(await failing.post('/', body)).toBe(503)
  await failing.ended
  const teapot = await opened(['--respond', '418', '--out', out, '--once', '1'])
  expect(await teapot.post('/', body)).toBe(418)
  await teapot.ended
  const slow = await opened(['--delay', '150ms', '--out', out, '--once', '4'])
  const before = performance.now()
  expect(await slow.post('/', body)).toBe(200)
  expect(performance.now() - before).toBeGreaterThan(140)
  await slow.post('/', 'two\nlines')
  await slow.post('/', '{"a":\n1}')
  await slow.post('/', '{no JSON \u001b[8m}')
  await slow.ended
  expect(statSync(out).mode & 0o777).toBe(0o600)
  expect(readFileSync(out, 'utf8')).toBe(`${body}\n"two\\nlines"\n"{\\"a\\":\\n1}"\n"{no JSON \\u001b[8m}"\n`)
})

it('1, and no answer: what it takes cannot be written', async () => {
  const { post, ended } = await opened(['--out', '/dev/full'])
  await expect(post('/', body)).rejects.toThrow()
  const { code, stdout, stderr } = await ended
  expect([code, stderr]).toEqual([1, expect.stringMatching(/--out could not be written: no space/)])
  expect(stdout).not.toContain('answered')
  expect((await headrace(['listen', '0', '--out', '/tmp'])).stderr).toMatch(/--out '\/tmp' is a folder/)
  const bad = await headrace(['listen', '0', '--out', '/nowhere/x'])
  expect([bad.code, bad.stderr]).toEqual([2, expect.stringMatching(/--out '.*x' cannot be written: no such/)])
})

it('takes only POST', async () => expect((await fetch((await opened([])).url)).status).toBe(405))

it('cannot have a port that is taken', async () => {
  const { url } = await opened([])
  const { code, stdout, stderr } = await headrace(['listen', new URL(url).port])
  expect([code, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(
    /^headrace listen: port \d+ at \S+ cannot be used: address already in use; give another PORT, or 0 for any\n$/,
  )
})

it('ends when the reader of stdout has gone', async () => {
  const { stdout, ended, post } = await opened([])
  stdout.destroy(Object.assign(new Error('gone'), { code: 'EPIPE' }))
  // The line of this request is the first that cannot be written.
  await post('/', body).catch(() => undefined)
  expect((await ended).code).toBe(0)
})

it('--out goes on when the reader of stdout has gone, with the account on stderr', async () => {
  const out = `${scratch()}/out.ndjson`
  const { stdout, ended, post } = await opened(['--out', out, '--output', 'json', '--once', '2'])
  stdout.destroy(Object.assign(new Error('gone'), { code: 'EPIPE' }))
  expect([await post('/', body), await post('/', body)]).toEqual([200, 200])
  expect(await ended).toMatchObject({ code: 0, stderr: expect.stringMatching(/^headrace: requests 2 /) })
  expect(readFileSync(out, 'utf8')).toBe(`${body}\n${body}\n`)
})

it('--bodies prints each body, also as JSON', async () => {
  const lines = await opened(['--bodies', '--once', '2'])
  await lines.post('/', body)
  await lines.post('/', 'two\nlines')
  const printed = linesOf((await lines.ended).stdout)
  expect([printed[2], printed[4]]).toEqual([body, '"two\\nlines"'])
  const json = await opened(['--bodies', '--output', 'json', '--once', '1'])
  await json.post('/', body)
  expect(recordsOf((await json.ended).stdout)[1]).toMatchObject({ t: 'request', body })
})

it('--forward-to passes on bytes and signature, and answers as it is answered; not what is forged', async () => {
  const { url, received } = await receiverOf([201, 503].map((code) => ({ do: 'status', code }) as const))
  const spaced = ' {"type": "track"}\n'
  const signature = signatureOf(env.SECRET, spaced)
  const { url: own, post } = await opened(['--secret-env', 'SECRET', '--forward-to', `${url}to?key=1`])
  expect((await fetch(own, { method: 'POST', body: spaced, headers: { Origin: 'null' } })).status).toBe(403)
  expect([await post('/', spaced, signature), await post('/', spaced, signature)]).toEqual([201, 503])
  expect([await post('/', spaced, 'forged'), received.length]).toEqual([401, 2])
  expect(received[0]).toMatchObject({ path: '/to?key=1', headers: { 'x-signature': signature } })
  expect(String(received[0]?.body)).toBe(spaced)
  const nowhere = await opened(['--forward-to', 'http://127.0.0.1:9/'])
  expect(await nowhere.post('/', body)).toBe(502)
  nowhere.signal()
  expect((await nowhere.ended).stderr).toContain('--forward-to could not be reached: connection refused')
  for (const url of ['ftp://a/', 'http://u:p@a/']) {
    const bad = await headrace(['listen', '0', '--forward-to', url])
    expect([bad.code, bad.stderr]).toEqual([2, expect.stringContaining('--forward-to must be a URL')])
  }
})

it('--forward-to passes over interim answers', async () => {
  const url = await served((request, response) => {
    response.writeContinue()
    response.writeEarlyHints({ link: '</a>; rel=preload' })
    request.resume().on('end', () => response.writeHead(202).end())
  })
  const { post } = await opened(['--forward-to', url])
  expect(await post('/', body)).toBe(202)
})

it.each([
  ['its sender has gone', ['--once', '1'], (_: () => void) => undefined],
  ['it is stopped', [], (signal: () => void) => signal()],
])('ends while a request is passed on, when %s', async (_, args, stop) => {
  const after = args.length > 0 ? 100 : 60_000
  const receiver = await receiverOf(() => ({ do: 'status', code: 200, after }))
  const { url, signal, ended } = await opened(['--forward-to', receiver.url, ...args])
  const gone = new AbortController()
  const asked = fetch(url, { method: 'POST', body, signal: gone.signal })
  await receiver.arrived(1)
  if (args.length > 0) gone.abort()
  asked.catch(() => undefined)
  stop(signal)
  expect((await ended).code).toBe(0)
})

it('draws a row for each path on a terminal, and no line for each request', async () => {
  const stops: Array<() => void> = []
  const host = { ...screenOf(true, { NO_COLOR: '1' }), on: (_: string, each: () => void) => stops.push(each) }
  Object.assign(host.stderr, { columns: 100 })
  const screen = collected(host.stderr)
  const printed = collected(host.stdout)
  const ended = runCommand(['listen', '0', '--respond', '418'], host)
  const [, url = ''] = /ready (\S+)\n/.exec(await printed.matches(/\n/)) ?? []
  await fetch(`${url}hook`, { method: 'POST', body })
  await screen.matches(/Failing {2}1 requests {2}0 answered 2xx {2}0 open {2}1 answered otherwise$/m)
  await screen.matches(/^:\d+\/hook {2}failing +[\d.]+\/s +p95 \S+ +1 failed, last: status 418$/m)
  await screen.matches(/^ {2}track {4}m1 {2}answered 418$/m)
  for (const stop of stops) stop()
  expect([await ended, printed.text()]).toEqual([0, `ready ${url}\n`])
})
