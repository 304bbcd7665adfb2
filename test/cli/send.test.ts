import { execFileSync } from 'node:child_process'
import { existsSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { describe, expect, it, test } from 'vitest'
import type { Misbehaviour } from '../../src/testing/faults.ts'
import { failing, headrace, linesOf, picky, receiverOf, recordsOf } from './inProcess.ts'
import { scratch, start, steady, track } from './inProcess.ts'

const NOWHERE = 'http://127.0.0.1:9/'
const once = ['--retry-for', '0s']
const REFUSED_CONNECTION = `${NOWHERE} network (connection refused: nothing listens there; no request was sent)`
const A = track('A')
const BAD = track('Bad')

describe('what send prints, and its exit code', () => {
  it('3: some events are dead', async () => {
    const { url } = await picky()
    const dead = await headrace(['send', '--to', url], { input: A + BAD })
    expect([...linesOf(steady(dead.stdout))].sort()).toEqual([
      'delivered  line 1    track    A  http://127.0.0.1:PORT/ 200',
      'rejected   line 2    track    Bad  http://127.0.0.1:PORT/ 400',
    ])
    expect([dead.code, ...linesOf(steady(dead.stderr))]).toEqual([
      3,
      'headrace: http://127.0.0.1:PORT/  1 succeeded, 1 failed',
      'headrace: read 2 · delivered 1 · rejected 1',
      'headrace: 1 not delivered; --dead FILE keeps them to send again',
    ])
  })

  it('1: the output fails on the way, and delivery goes on; a signature cannot be written', async () => {
    const { url, received } = await picky()
    const input = A + track('B')
    const { code, stderr } = await headrace(['send', '--to', url], { stdout: failing('ENOSPC'), input })
    expect(stderr).toContain('headrace send: the output could not be written: ENOSPC\n')
    expect([code, received.length]).toEqual([1, 2])
    const surroundings = { stdout: failing('ENOSPC'), env: { SECRET: 'correct horse' } }
    const signed = await headrace(['sign', '--secret-env', 'SECRET'], surroundings)
    const told = 'headrace sign: the output could not be written: ENOSPC\n'
    expect(signed).toMatchObject({ code: 1, stderr: told })
  })
})

test('a misspelt key is told once, with its line, and the reason of a dead letter is not', async () => {
  const { url } = await picky()
  const misspelt = track('B', { propertis: {}, reason: 'r' })
  const { code, stderr } = await headrace(['send', '--to', url], { input: A + misspelt + misspelt })
  const told = 'left out   line 2    propertis: not a field of this kind of event (reported once)'
  expect([code, ...linesOf(stderr).filter((line) => line.startsWith('left out'))]).toEqual([0, told])
})

describe('--output', () => {
  const input = `oops\n${A}${BAD}`

  it('json is NDJSON that ends in a summary that adds up', async () => {
    const { url } = await picky()
    const { code, stdout } = await headrace(['send', '--to', url, '--output', 'json'], { input })
    const sink = { url: 'http://127.0.0.1:PORT/' }
    const good = { v: 1, line: 2, id: 'A', type: 'track' }
    const bad = { v: 1, line: 3, id: 'Bad', type: 'track' }
    const faults = [{ path: '', message: 'not JSON at character 1' }]
    const why = { reason: 'status', status: 400 }
    const records = recordsOf(steady(stdout))
    expect(records.slice(0, -1).sort((a, b) => Number(a['line']) - Number(b['line']))).toEqual(
      expect.arrayContaining([
        { v: 1, t: 'refused', line: 1, reason: 'notJson', faults },
        { ...good, t: 'attempt', ...sink, n: 1, ok: true, ms: 0, status: 200 },
        { ...good, t: 'outcome', outcome: 'delivered', n: 1, ...sink, status: 200, causes: [] },
        { ...bad, t: 'attempt', ...sink, n: 1, ok: false, ms: 0, ...why },
        { ...bad, t: 'outcome', outcome: 'rejected', n: 1, causes: [{ ...sink, ...why }] },
        { v: 1, t: 'url', ...sink, delivered: 1, failed: 1, passedOver: 0 },
      ]),
    )
    expect([code, records.length]).toEqual([3, 7])
    expect(linesOf(stdout).at(-1)).toBe(
      '{"v":1,"t":"summary","read":3,"refused":1,"accepted":2,"delivered":1,"rejected":1,"expired":0,"dropped":0,"abandoned":0,"waiting":0}',
    )
  })

  it('quiet has nothing on stdout, and on stderr what is wrong and the account', async () => {
    const { url } = await picky()
    const { code, stdout, stderr } = await headrace(['send', '--to', url, '--output', 'quiet'], { input })
    expect([code, stdout]).toEqual([3, ''])
    expect(stderr).toMatch(/^refused {4}line 1 .*\n.*\nheadrace: read 3 .*\nheadrace: 1 not delivered.*\n$/)
  })
})

test('secrets, header values and queries appear nowhere', async () => {
  const { url } = await picky()
  const dead = `${scratch()}/dead`
  const env = { SECRET: 'hunter2-secret' }
  const secrets = ['--secret-env', 'SECRET', '--header', 'Authorization: hunter2-header', '--dead', dead]
  const input = `{"password":"hunter2-event\n${A}${BAD}`
  for (const [code, ...args] of [
    [3, 'send', '--to', `${url}?token=hunter2-query`, ...secrets],
    [3, 'send', '--to', `${url}?token=hunter2-query`, ...secrets, '--output', 'json'],
    [5, 'send', '--to', `${NOWHERE}?hunter2-query`, ...once, ...secrets],
    [2, 'send', '--to', `ftp://x/?hunter2-query`, '--header', 'hunter2-header'],
    [2, 'send', '--to', 'http://hunter2-user:hunter2-password@x/'],
    [2, 'send', '--to', url, '--header', 'X: hunter2\u0007header', '--secret-env', 'hunter2-name'],
    [2, 'send', '--to', url, '--secret=hunter2-flag'],
    [2, 'send', '--to', url, '-shunter2-flag'],
    [2, 'send', '--to', url, '--header'],
    [1, 'verify', '--secret-env', 'SECRET', '--signature', 'hunter2-signature'],
  ] as const) {
    const ended = await headrace(args, { env, input })
    expect(ended.stdout + ended.stderr).not.toContain('hunter2')
    expect(ended.code).toBe(code)
  }
  expect(readFileSync(dead, 'utf8')).not.toContain('hunter2')
})

describe('--dead', () => {
  it('keeps what was not delivered in the form in which it came, and it can be sent again', async () => {
    const dead = `${scratch()}/dead.ndjson`
    const timestamp = '2024-02-29T12:00:00.000Z'
    const properties = { ö: [1, null], reason: 'mine' }
    const more = { type: 'track', timestamp, userId: 'u1', event: 'Bad', properties }
    const event = { messageId: 'm-1', ...more, integrations: { All: true } }
    const alias = { type: 'alias', messageId: 'm-2', timestamp, previousId: 'a', userId: 'b' }
    const input = [event, alias].map((each) => `${JSON.stringify(each)}\n`).join('')
    const first = await headrace(['send', '--to', NOWHERE, ...once, '--dead', dead], { input })
    expect(first.code).toBe(5)
    expect(first.stderr).toContain(`headrace: 2 not delivered, now in ${dead}, which can be sent again\n`)
    const reason = `expired: ${REFUSED_CONNECTION}`
    expect(recordsOf(readFileSync(dead, 'utf8'))).toEqual([event, alias].map((each) => ({ ...each, reason })))

    const receiver = await receiverOf()
    expect((await headrace(['send', dead, '--to', receiver.url])).code).toBe(0)
    const bodies = receiver.received.map(({ body }) => JSON.parse(body.toString()) as unknown)
    expect(bodies).toHaveLength(2)
    const merged = { 'Previous ID': 'a', 'User ID': 'b', messageId: 'm-2' }
    expect(bodies).toContainEqual(expect.objectContaining(merged))
    expect(bodies).toContainEqual(expect.objectContaining({ ...more, messageId: 'm-1' }))
  })

  it('is not made when there is nothing for it, and what is in it stays', async () => {
    const folder = scratch()
    const { url } = await picky()
    await headrace(['send', '--to', url, '--dead', `${folder}/none`], { input: A })
    expect(existsSync(`${folder}/none`)).toBe(false)
    writeFileSync(`${folder}/some`, '{"type":"delete","userId":"u"}')
    await headrace(['send', '--to', url, '--dead', `${folder}/some`], { input: BAD })
    expect(linesOf(readFileSync(`${folder}/some`, 'utf8')).length).toBe(2)
  })

  it('is checked before anything is sent', async () => {
    const folder = scratch()
    writeFileSync(`${folder}/events`, A)
    const { url, received } = await picky()
    for (const [path, sentence] of [
      [`${folder}/events`, /--dead is the input file: give another, or/],
      [folder, /--dead '.*' is a folder: name a file/],
      [`${folder}/no/dead`, /--dead '.*' cannot be written: no such file or directory/],
      ['x'.repeat(300), /--dead 'x*' cannot be written: name too long; give another file/],
      ['', /--dead must not be empty/],
    ] as const) {
      const { code, stderr } = await headrace(['send', `${folder}/events`, '--to', url, '--dead', path])
      expect(stderr).toMatch(sentence)
      expect(code).toBe(2)
    }
    expect(received).toEqual([])
  })

  it('tells when it cannot be written after all', async () => {
    const { url } = await picky()
    const { code, stderr } = await headrace(['send', '--to', url, '--dead', '/dev/full'], { input: A + BAD })
    expect(code).toBe(1)
    const why = "--dead '/dev/full' could not be written: no space left on device; 1 events are not in it"
    expect(stderr).toContain(`headrace: ${why}\n`)
  })
})

const deep = `{"type":"track","userId":"u","event":"e","properties":${'{"a":'.repeat(300)}1${'}'.repeat(301)}`
const traits = (a: string): string => `{"type":"identify","userId":"u","traits":{"a":"${a}"}}`

const lines: ReadonlyArray<readonly [line: string, says: string]> = [
  ['oops', 'not JSON at character 1'],
  ['[]', 'must be an object'],
  ['{"type":"pige","userId":"u"}', 'type must be one of page, screen, identify, track, alias, group, delete'],
  ['{"type":"track","userId":7,"event":"e"}', 'userId must be a string, not a number'],
  ['{"type":"page","userId":"u","properties":{"url":7}}', 'properties.url must be a string, not a number'],
  [deep, 'nested'],
  [traits('x'.repeat(64_000)), 'the limit is 64000'],
  [traits('x'.repeat(1_100_000)), 'longer than 1048576 bytes'],
]

it('a bad line costs itself only, and says what would be right, whatever is wrong with it', async () => {
  const receiver = await receiverOf()
  // A good one before, between and after: each bad line has an even number.
  const input = `${lines.map(([line], at) => `${track(`good ${at}`)}${line}\n`).join('')}${track('good last')}`
  const { code, stderr } = await headrace(['send', '--to', receiver.url], { input })
  expect(code).toBe(4)
  lines.forEach(([, says], at) => {
    const said = linesOf(stderr)[at]
    expect(said).toMatch(new RegExp(`^refused {4}line ${2 * at + 2} `))
    expect(said).toContain(says)
  })
  expect(stderr).toContain(`(${lines.length} refused) · delivered ${lines.length + 1}\n`)
})

/** It answers events named Down with 503, leaves those named Silent unanswered, and takes the others. */
const receiver = () =>
  receiverOf(({ body }): Misbehaviour => {
    if (body.includes('"event":"Silent"')) return { do: 'silence' }
    return { do: 'status', code: body.includes('"event":"Down"') ? 503 : 200 }
  })

describe('Ctrl-C', () => {
  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('H9: %s stops reading and loses none', async (name) => {
    const { url } = await receiver()
    // The writer of a named pipe goes on.
    const pipe = `${scratch()}/pipe`
    execFileSync('mkfifo', [pipe])
    writeSync(openSync(pipe, 'r+'), A)
    expect((await start(['send', pipe, '--dead', '/', '--to', url]).ended).code).toBe(2)
    const { stdin, signal, says, ended } = start(['send', name === 'SIGTERM' ? pipe : '-', '--to', url])
    stdin.write(A)
    await says(/^delivered/m)
    signal(name)
    const { code, stderr } = await ended
    expect(code).toBe(7)
    expect(linesOf(stderr)).toEqual([
      'headrace: Press Ctrl-C again to quit now. Stopping: 0 waiting, at most 11s.',
      expect.stringContaining('1 succeeded'),
      'headrace: read 1 · delivered 1',
      'headrace: stopped: the input was not read to its end',
    ])
  })

  it('hands back what waits for a retry, to be sent again', async () => {
    const { url } = await receiver()
    const dead = `${scratch()}/dead`
    const flags = ['--output', 'json', '--grace', '0s', '--dead', dead]
    const { stdin, signal, says, ended } = start(['send', '--to', url, ...flags])
    stdin.end(A + track('Down'))
    await says(/"t":"outcome".*\n[^]*"t":"waiting"|"t":"waiting".*\n[^]*"t":"outcome"/)
    signal()
    const { code, stdout } = await ended
    const counts = { accepted: 2, delivered: 1, abandoned: 1, waiting: 0 }
    expect([code, recordsOf(stdout).at(-1)]).toMatchObject([7, counts])
    const reason = expect.stringMatching(/^abandoned: http.* 503$/) as unknown
    expect(recordsOf(readFileSync(dead, 'utf8'))).toMatchObject([{ event: 'Down', reason }])
  })

  it('lets what is on its way arrive', async () => {
    const opened = await receiverOf([{ do: 'status', code: 200, after: 300 }])
    const { stdin, signal, ended } = start(['send', '--to', opened.url])
    stdin.write(A)
    await opened.arrived(1)
    signal()
    expect(await ended).toMatchObject({ code: 7, stderr: expect.stringContaining('delivered 1') })
  })

  test.each([
    ['SIGINT', 'send', '--to'],
    ['SIGHUP', 'send', '--to'],
    ['SIGHUP', 'batch', '--write-key-env', 'KEY', '--endpoint'],
  ] as const)('H9: a second %s stops %s at once: what may be undelivered is kept', async (name, ...args) => {
    const opened = await receiver()
    const dead = `${scratch()}/dead`
    const command = [...args, opened.url, '--timeout', '10m', '--dead', dead]
    const { stdin, signal, exits, complains, ended } = start(command, { env: { KEY: 'wk' } })
    stdin.end(track('Silent'))
    await opened.arrived(1)
    signal(name)
    await complains(/Stopping/)
    signal(name)
    // A third one changes nothing, neither the exit code.
    signal(name)
    expect(await ended).toMatchObject({ code: 5, stderr: expect.stringContaining('waiting 1\n') })
    expect(exits).toEqual([5])
    const [kept] = recordsOf(readFileSync(dead, 'utf8'))
    expect(kept).toMatchObject({ event: 'Silent', reason: 'abandoned: stopped at once' })
  })

  it('while it waits for room, too', async () => {
    const opened = await receiver()
    const flags = ['--max-waiting', '2', '--grace', '0s', '--timeout', '300ms']
    const { stdin, signal, ended } = start(['send', '--to', opened.url, ...flags])
    stdin.write(track('Silent').repeat(5))
    await opened.arrived(2)
    signal()
    // The third was read from the pipe and never taken, so it does not count as read.
    expect(await ended).toMatchObject({ code: 5, stderr: expect.stringContaining('read 2 · abandoned 2\n') })
  })
})

it('goes on delivering when the reader of stdout has gone', async () => {
  const { url, received } = await receiver()
  const { stdin, stdout, says, ended } = start(['send', '--to', url])
  stdin.write(A)
  await says(/^delivered/)
  stdout.destroy(Object.assign(new Error('gone'), { code: 'EPIPE' }))
  stdin.end(Array.from({ length: 200 }, (_, at) => track(`more ${at}`)).join(''))
  const { code, stderr } = await ended
  expect([code, received.length]).toEqual([0, 201])
  expect(linesOf(stderr).at(-1)).toBe('headrace: read 201 · delivered 201')
})

it('reads no further than --max-waiting', async () => {
  const opened = await receiver()
  const flags = ['--max-waiting', '3', '--timeout', '10m', '--output', 'json']
  const { stdin, complains } = start(['send', '--to', opened.url, ...flags])
  stdin.write(`${track('Silent').repeat(3)}oops\n${track('Silent')}oops\n`)
  // The bad line behind the third is looked at, the one behind the fourth is not: the fourth waits for room.
  await complains(/^refused {4}line 4/m)
  await opened.arrived(3)
  expect([opened.connections(), opened.received.length]).toEqual([3, 3])
})
