import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { describe, expect, it, test } from 'vitest'
import { flagFaults } from '../../src/cli/send.ts'
import type { Receiver } from '../../src/testing/loopbackReceiver.ts'
import {
  failing,
  headrace,
  linesOf,
  picky,
  receiverOf,
  recordsOf,
  scratch,
  start,
  steady,
  track,
} from './inProcess.ts'

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
      stderr: `headrace: http://127.0.0.1:PORT/  2 requests succeeded, 0 failed
headrace: read 2 · delivered 2
`,
    })
  })

  it('0: an empty input, with a note', async () => {
    const ended = await headrace(['send', '--to', 'http://127.0.0.1:9/'], { input: '\n \n' })
    expect(ended).toEqual({
      code: 0,
      stdout: '',
      stderr: `headrace: read 0
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
    expect(steady(stderr)).toBe(`headrace: http://127.0.0.1:PORT/  1 requests succeeded, 1 failed
headrace: read 2 · delivered 1 · rejected 1
headrace: 1 not delivered; --dead FILE keeps them, to be sent again
`)
  })

  it('4: some lines refused', async () => {
    const { url } = await picky()
    const { code, stderr } = await headrace(['send', '--to', url], { input: `oops\n${track('A')}` })
    expect(code).toBe(4)
    expect(steady(stderr)).toBe(`refused    line 1    not JSON: expected a value at character 1
headrace: http://127.0.0.1:PORT/  1 requests succeeded, 0 failed
headrace: read 2 (1 refused) · delivered 1
`)
  })

  it('5: nothing delivered, which comes before 4', async () => {
    const { url } = await picky()
    const { code } = await headrace(['send', '--to', url], { input: `oops\n${track('Bad')}` })
    expect(code).toBe(5)
  })

  it('5: nothing listens', async () => {
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
      'headrace: the input was not read to its end: the device failed; delivery of what was accepted goes on\n',
    )
  })

  it('1: the output fails on the way, and delivery goes on', async () => {
    const { url, received } = await picky()
    const { code, stderr } = await headrace(['send', '--to', url], {
      stdout: failing('ENOSPC'),
      input: track('A') + track('B'),
    })
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
    'left out   line 2    propertis: not a field of this kind of event (reported once)',
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
    const records = recordsOf(steady(stdout))
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
    expect(stderr).toMatch(/^refused {4}line 1 .*\n.*\nheadrace: read 3 .*\nheadrace: 1 not delivered.*\n$/)
  })

  it('has no colours in a pipe unless it is told to', async () => {
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
  const all = [...runs.map(({ stdout, stderr }) => stdout + stderr), readFileSync(`${folder}/dead`, 'utf8')]
  for (const text of all) expect(text).not.toContain('hunter2')
  expect(runs.map(({ code }) => code)).toEqual([3, 3, 5, 2, 2, 2, 2, 2, 1])
})

describe('--dead', () => {
  it('keeps what was not delivered in the form in which it came, and it can be sent again', async () => {
    const folder = scratch()
    const dead = `${folder}/dead.ndjson`
    const event = {
      type: 'track',
      messageId: 'm-1',
      timestamp: '2024-02-29T12:00:00.000Z',
      userId: 'u1',
      event: 'Bad',
      properties: { ö: [1, null], reason: 'mine' },
      integrations: { All: true },
    }
    const alias = {
      type: 'alias',
      messageId: 'm-2',
      timestamp: event.timestamp,
      previousId: 'a',
      userId: 'b',
    }
    const input = [event, alias].map((each) => `${JSON.stringify(each)}\n`).join('')
    const first = await headrace(['send', '--to', 'http://127.0.0.1:9/', ...once, '--dead', dead], { input })
    expect(first.code).toBe(5)
    expect(first.stderr).toContain(
      `headrace: 2 not delivered, now in ${dead}; send them again with: headrace send ${dead} …\n`,
    )
    const deadLetters = recordsOf(readFileSync(dead, 'utf8'))
    const reason =
      'expired: http://127.0.0.1:9/ network (connection refused: nothing listens there; no request was sent)'
    expect(deadLetters).toEqual([
      { ...event, reason },
      { ...alias, reason },
    ])

    const receiver = await receiverOf()
    const second = await headrace(['send', dead, '--to', receiver.url])
    expect(second.code).toBe(0)
    const bodies = receiver.received.map(({ body }) => JSON.parse(body.toString()) as Record<string, unknown>)
    const { integrations: _, ...sent } = event
    const byType = (a: Record<string, unknown>, b: Record<string, unknown>) =>
      String(a['type']) < String(b['type']) ? -1 : 1
    expect([...bodies].sort(byType)).toEqual([
      expect.objectContaining({ 'Previous ID': 'a', 'User ID': 'b', messageId: 'm-2' }),
      expect.objectContaining(sent),
    ])
  })

  it('is not made when there is nothing for it, and what is in it stays', async () => {
    const folder = scratch()
    const { url } = await picky()
    await headrace(['send', '--to', url, '--dead', `${folder}/none`], { input: track('A') })
    expect(existsSync(`${folder}/none`)).toBe(false)
    writeFileSync(`${folder}/some`, '{"type":"delete","userId":"u"}')
    await headrace(['send', '--to', url, '--dead', `${folder}/some`], { input: track('Bad') })
    expect(linesOf(readFileSync(`${folder}/some`, 'utf8')).length).toBe(2)
  })

  it('is checked before anything is sent', async () => {
    const folder = scratch()
    writeFileSync(`${folder}/events`, track('A'))
    const { url, received } = await picky()
    const sentences: ReadonlyArray<readonly [path: string, RegExp]> = [
      [`${folder}/events`, /--dead is the input file: give another one/],
      [folder, /--dead '.*' is a folder: give the name of a file/],
      [`${folder}/no/dead`, /--dead '.*' cannot be written: there is no such file or folder/],
      ['', /--dead must be the name of a file/],
    ]
    for (const [path, sentence] of sentences) {
      const { code, stderr } = await headrace(['send', `${folder}/events`, '--to', url, '--dead', path])
      expect(stderr).toMatch(sentence)
      expect(code).toBe(2)
    }
    expect(received).toEqual([])
  })

  it('tells when it cannot be written after all', async () => {
    const { url } = await picky()
    const { code, stderr } = await headrace(['send', '--to', url, '--dead', '/dev/full'], {
      input: track('A') + track('Bad'),
    })
    expect(code).toBe(1)
    expect(stderr).toContain(
      "headrace: --dead '/dev/full' could not be written: the disk is full; 1 events are not in it\n",
    )
  })
})

test('faults of settings are told in the words of the flags, once', () => {
  const faults = [
    { path: 'webhooks', message: 'must have 1 to 5 entries, not 6' },
    { path: 'webhooks[1].url', message: 'is the same URL as webhooks[0].url' },
    { path: 'webhooks[0].headers.X-A', message: 'must be text' },
    { path: 'webhooks[1].headers.X-A', message: 'must be text' },
  ]
  expect(flagFaults(faults, 2)).toEqual([
    '--to may be given one to five times, not 2 times: leave some URLs out',
    '--to number 2 is the same URL as --to number 1',
    '--header X-A must be text',
  ])
  expect(flagFaults([{ path: 'webhooks[0].url', message: 'is no URL' }], 1)).toEqual(['--to is no URL'])
})

const to = ['--to', 'http://127.0.0.1:9/']
const env = { EMPTY: '', PADDED: 'secret\n' }

/** The sentences for wrong arguments. */
const said = async (args: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  const { stderr } = await headrace(['send', ...args], { env })
  return linesOf(stderr).map((line) => line.replace('headrace send: ', ''))
}

const six = Array.from({ length: 6 }, (_, at) => ['--to', `http://127.0.0.1:${at + 1}/`]).flat()
const address = '--to points to an address that is not allowed:'
const variable =
  '--secret-env must name a variable of the environment that holds the secret, and the one it names is'
const remedy = 'set it with export, or leave --secret-env out'

test.each<[what: string, args: ReadonlyArray<string>, ...sentences: ReadonlyArray<string>]>([
  ['no URL', [], '--to is missing: give one to five URLs, such as --to http://127.0.0.1:7412/hook'],
  ['six URLs', six, '--to may be given one to five times, not 6 times: leave some URLs out'],
  [
    'no scheme',
    ['--to', 'a.example/hook'],
    '--to is not a URL: it must look like https://receiver.example/hook',
  ],
  [
    'a space',
    ['--to', 'http://a.example/ b'],
    '--to must not have a backslash, a control character or white space: encode it with %',
  ],
  [
    'credentials',
    ['--to', 'http://u:p@a.example/'],
    '--to must not have a user name or a password, which logs would show: give a static header instead',
  ],
  ['one URL twice', [...to, '--to', 'HTTP://127.0.0.1:9'], '--to number 2 is the same as --to number 1'],
  [
    'cloud metadata',
    ['--to', 'http://169.254.169.254/'],
    `${address} 169.254.169.254 is a link-local address, where clouds serve their credentials: it is never dialled`,
  ],
  [
    'a private address',
    [...to, '--egress', 'public'],
    `${address} 127.0.0.1 is not an address of the public internet, and only those are dialled`,
  ],
  [
    'a header without a colon',
    [...to, '--header', 'X'],
    "--header must be a name, a colon and a value, such as 'X-Team: blue'",
  ],
  [
    'a header of ours',
    [...to, '--header', 'X-Signature: a'],
    '--header X-Signature belongs to the request and cannot be set',
  ],
  [
    'a line break in a header',
    [...to, '--to', 'http://127.0.0.1:10/', '--header', 'X-A: b\r\nX-B: c'],
    '--header X-A must be visible ASCII, with no line break, and with no space at its beginning or end',
  ],
  ['an unset secret', [...to, '--secret-env', 'NOPE'], `${variable} not set: ${remedy}`],
  ['an empty secret', [...to, '--secret-env', 'EMPTY'], `${variable} empty: ${remedy}`],
  [
    'a padded secret',
    [...to, '--secret-env', 'PADDED'],
    '--secret-env names a variable whose value cannot be a secret: it must not begin or end with white space, such as the newline at the end of a file',
  ],
  [
    'a word for a number',
    [...to, '--concurrency', 'many'],
    '--concurrency must be a whole number from 1 to 1000',
  ],
  ['no time at all', [...to, '--timeout', '0s'], '--timeout must be at least 1ms'],
])('%s', async (_, args, ...sentences) => {
  expect(await said(args)).toEqual(sentences)
})

it('is said all at once', async () => {
  const flags =
    '--timeout x --retry-for x --concurrency x --max-waiting x --grace x --egress x --output x --header x'
  expect((await said(flags.split(' '))).map((sentence) => sentence.split(' ')[0])).toEqual([
    ...['--to', '--header', '--timeout', '--retry-for', '--concurrency', '--max-waiting'],
    ...['--grace', '--egress', '--output'],
  ])
})

test.each<[what: string, args: ReadonlyArray<string>, sentence: string]>([
  ['a misspelt scheme', ['--to', 'htp://a.example/'], '--to must begin with http:// or https://'],
  [
    'a missing file',
    ['/nowhere/events', ...to],
    "'/nowhere/events' cannot be read: there is no such file or folder; give a file of events, or - for stdin",
  ],
  ['a folder', ['/', ...to], "'/' is a folder: give a file of events, one JSON object a line"],
  [
    'an unknown flag',
    [...to, '--sercet-env', 'A'],
    "unknown option '--sercet-env' (Did you mean --secret-env?); see headrace send --help",
  ],
  [
    'two files',
    ['a', 'b', ...to],
    "too many arguments for 'send'. Expected 1 argument but got 2; see headrace send --help",
  ],
])('%s ends with 2 and one sentence', async (_, args, sentence) => {
  const { code, stdout, stderr } = await headrace(['send', ...args], { input: track('A') })
  expect(linesOf(stderr)).toEqual([`headrace send: ${sentence}`])
  expect([code, stdout]).toEqual([2, ''])
})

const NOWHERE = 'http://127.0.0.1:9/'

const deep = (levels: number): string =>
  `{"type":"track","userId":"u","event":"e","properties":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`

const lines: ReadonlyArray<readonly [line: string, says: string]> = [
  ['oops', 'not JSON: expected a value at character 1'],
  ['{"type":"track"', 'not JSON: expected a comma or } at character 16'],
  ['{"type":"track",}', 'not JSON: expected a key in double quotes at character 17'],
  ["{'type':'track'}", 'not JSON: expected a key in double quotes or } at character 2'],
  ['{"a":1}{"b":2}', 'not JSON: expected nothing more at character 8'],
  ['NaN', 'not JSON: expected a value at character 1'],
  ['\u0000', 'not JSON: expected a value at character 1'],
  ['[]', 'must be an object'],
  ['null', 'must be an object'],
  ['"hunter2"', 'must be an object'],
  ['7', 'must be an object'],
  ['{}', 'type is missing'],
  ['{"type":"pige","userId":"u"}', 'type must be one of page, screen, identify, track, alias, group, delete'],
  ['{"type":"Track","userId":"u","event":"e"}', 'type must be one of page'],
  ['{"type":"toString","userId":"u"}', 'type must be one of page'],
  ['{"type":"track","event":"e"}', 'userId'],
  ['{"type":"track","userId":"","event":"e"}', 'userId'],
  ['{"type":"track","userId":7,"event":"e"}', 'userId must be a string, not a number'],
  ['{"type":"track","userId":"u"}', 'event'],
  ['{"type":"track","userId":"u","event":"e","properties":[]}', 'properties must be an object, not an array'],
  [
    '{"type":"track","userId":"u","event":"e","properties":"x"}',
    'properties must be an object, not a string',
  ],
  ['{"type":"page","userId":"u","properties":{"url":7}}', 'properties.url must be a string, not a number'],
  ['{"type":"alias","userId":"u"}', 'previousId'],
  ['{"type":"group","userId":"u"}', 'groupId'],
  ['{"type":"delete"}', 'userId'],
  ['{"type":"delete","anonymousId":"a"}', 'userId'],
  ['{"type":"identify","userId":"u","timestamp":1700000000}', 'timestamp'],
  ['{"type":"identify","userId":"u","timestamp":"2023-02-29T00:00:00Z"}', 'timestamp'],
  ['{"type":"identify","userId":"u","timestamp":"yesterday"}', 'timestamp'],
  ['{"type":"identify","userId":"u","integrations":{"All":"no"}}', 'integrations.All'],
  ['{"type":"identify","userId":"u","traits":{"__proto__":{"admin":true}}}', 'traits.__proto__ is a key'],
  ['{"__proto__":{"type":"delete","userId":"u"}}', '__proto__'],
  [deep(300), 'nested'],
  [`{"type":"identify","userId":"u","traits":{"a":"${'x'.repeat(64_000)}"}}`, 'the limit is 64000'],
  [`{"type":"identify","userId":"u","traits":{"a":"${'x'.repeat(1_100_000)}"}}`, 'longer than 1048576 bytes'],
]

describe('a bad line costs itself only, and says what would be right', () => {
  it('whatever is wrong with it', async () => {
    const receiver = await receiverOf()
    // A good one before, between and after: each bad line has an even number.
    const input = `${lines.map(([line], at) => `${track(`good ${at}`)}${line}\n`).join('')}${track('good last')}`
    const { code, stdout, stderr } = await headrace(['send', '--to', receiver.url, '--output', 'json'], {
      input,
    })
    expect(code).toBe(4)
    const refused = linesOf(stderr)
    expect(refused.length).toBe(lines.length)
    lines.forEach(([, says], at) => {
      const said = refused[at]
      expect(said).toMatch(new RegExp(`^refused {4}line ${2 * at + 2} `))
      expect(said).toContain(says)
      expect(said).not.toContain('hunter2')
    })
    expect(receiver.received.length).toBe(lines.length + 1)
    expect(recordsOf(stdout).at(-1)).toMatchObject({
      read: 2 * lines.length + 1,
      refused: lines.length,
      delivered: lines.length + 1,
    })
  })

  it('names every fault of a line at once', async () => {
    const { code, stderr } = await headrace(['send', '--to', NOWHERE], {
      input: '{"type":"group","userId":7,"groupId":"","timestamp":1,"traits":[]}\n',
    })
    for (const field of ['userId', 'groupId', 'timestamp', 'traits']) expect(stderr).toContain(field)
    // Nothing was accepted, so no receiver has failed: it is the input that is wrong.
    expect(code).toBe(4)
  })

  it('takes bytes that are no UTF-8, a byte order mark, and a file without a last line break', async () => {
    const receiver = await receiverOf()
    const file = `${scratch()}/events`
    const bad = Buffer.from(track('caf\u00e9'), 'latin1')
    const parts = [Buffer.from(`\ufeff${track('A').trimEnd()}\r\n`), bad, Buffer.from(track('B').trimEnd())]
    writeFileSync(file, Buffer.concat(parts))
    const { code, stderr } = await headrace(['send', file, '--to', receiver.url])
    expect(stderr).toContain('refused    line 2    not UTF-8: save the file in that encoding\n')
    expect(code).toBe(4)
    expect(receiver.received.length).toBe(2)
  })
})

/** It answers events named Down with 503, leaves those named Silent unanswered, and takes the others. */
const receiver = async (): Promise<Receiver> => {
  const opened = await receiverOf(({ body }) => {
    if (body.includes('"event":"Silent"')) return { do: 'silence' }
    return { do: 'status', code: body.includes('"event":"Down"') ? 503 : 200 }
  })
  return opened
}

describe('Ctrl-C', () => {
  test.each(['SIGINT', 'SIGTERM'] as const)(
    '%s stops reading, and what was read is accounted for',
    async (name) => {
      const { url } = await receiver()
      const { stdin, signal, says, ended } = start(['send', '--to', url])
      stdin.write(track('A'))
      await says(/^delivered/m)
      signal(name)
      const { code, stderr } = await ended
      expect(code).toBe(7)
      expect(stderr).toContain(
        'headrace: Stopping: waiting for requests in flight. Press Ctrl-C again to quit now.\n',
      )
      expect(stderr).toContain('headrace: read 1 · delivered 1\n')
      expect(stderr).toContain('headrace: stopped: the input was not read to its end\n')
    },
  )

  it('hands back what waits for a retry, to be sent again', async () => {
    const { url } = await receiver()
    const dead = `${scratch()}/dead`
    const flags = ['--output', 'json', '--grace', '0s', '--dead', dead]
    const { stdin, signal, says, ended } = start(['send', '--to', url, ...flags])
    stdin.end(track('A') + track('Down'))
    await says(/"t":"outcome".*\n[^]*"t":"waiting"|"t":"waiting".*\n[^]*"t":"outcome"/)
    signal()
    const { code, stdout } = await ended
    expect(code).toBe(7)
    expect(recordsOf(stdout).at(-1)).toMatchObject({ accepted: 2, delivered: 1, abandoned: 1, waiting: 0 })
    const [letter] = recordsOf(readFileSync(dead, 'utf8'))
    expect(letter).toMatchObject({ event: 'Down', messageId: 'Down' })
    expect(letter?.['reason']).toMatch(/^abandoned: stopped while it waited for its next attempt; .* 503$/)
  })

  it('lets what is on its way arrive', async () => {
    const opened = await receiverOf([{ do: 'status', code: 200, after: 300 }])
    const { stdin, signal, ended } = start(['send', '--to', opened.url])
    stdin.write(track('A'))
    await opened.arrived(1)
    signal()
    const { code, stderr } = await ended
    expect(stderr).toContain('delivered 1')
    expect(code).toBe(7)
  })

  it('twice stops at once: what is not known to be delivered is kept', async () => {
    const opened = await receiver()
    const dead = `${scratch()}/dead`
    const { stdin, signal, complains, ended } = start([
      'send',
      '--to',
      opened.url,
      '--timeout',
      '10m',
      '--dead',
      dead,
    ])
    stdin.end(track('Silent'))
    await opened.arrived(1)
    signal()
    await complains(/Stopping/)
    signal()
    const { code, stderr } = await ended
    expect(code).toBe(5)
    expect(stderr).toContain('waiting 1\n')
    expect(recordsOf(readFileSync(dead, 'utf8'))).toMatchObject([
      { event: 'Silent', reason: 'abandoned: stopped at once' },
    ])
  })

  it('while it waits for room, too', async () => {
    const opened = await receiver()
    const { stdin, signal, ended } = start([
      'send',
      '--to',
      opened.url,
      '--max-waiting',
      '2',
      '--grace',
      '0s',
      '--timeout',
      '300ms',
    ])
    stdin.write(track('Silent').repeat(5))
    await opened.arrived(2)
    signal()
    const { code, stderr } = await ended
    // The third was read from the pipe and never taken, so it does not count as read.
    expect(stderr).toContain('read 2 · abandoned 2\n')
    expect(code).toBe(5)
  })
})

it('goes on delivering when the reader of stdout has gone', async () => {
  const { url, received } = await receiver()
  const { stdin, stdout, says, ended } = start(['send', '--to', url])
  stdin.write(track('A'))
  await says(/^delivered/)
  stdout.destroy(Object.assign(new Error('gone'), { code: 'EPIPE' }))
  const more = Array.from({ length: 200 }, (_, at) => track(`more ${at}`))
  stdin.end(more.join(''))
  const { code, stderr } = await ended
  expect(code).toBe(0)
  expect(received.length).toBe(201)
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
  const { connections, received } = opened
  expect([connections(), received.length]).toEqual([3, 3])
})
