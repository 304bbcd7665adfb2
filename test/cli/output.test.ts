import { left, right } from 'fp-ts/lib/Either.js'
import { PassThrough, Writable } from 'node:stream'
import { describe, expect, it, test } from 'vitest'
import { lineOf, plain, toJson, reporter, reportOf, showCauses } from '../../src/cli/report.ts'
import type { Report } from '../../src/cli/report.ts'
import { flagFaults } from '../../src/cli/send.ts'
import { refusalReport } from '../../src/cli/forward.ts'
import { terminalOf } from '../../src/cli/terminal.ts'
import { allFailed, expired as expiredFailure, refused, retryable } from '../../src/core/failure.ts'
import { abandoned, delivered, dropped, expired, rejected } from '../../src/core/outcome.ts'
import { invalid, tooLarge } from '../../src/core/refusal.ts'

const subject = { line: 3, id: 'm1', type: 'track' }
const subjectOf = () => subject
const item = { any: 'item' }
const failure = allFailed([
  { sink: 'http://a/', failure: retryable('status', { status: 503 }) },
  { sink: 'http://b/', failure: refused('certificate', { detail: 'self-signed: give another' }) },
])
const causes = [
  { url: 'http://a/', reason: 'status', status: 503 },
  { url: 'http://b/', reason: 'certificate', detail: 'self-signed: give another' },
]

describe('reportOf', () => {
  it('reports attempts', () => {
    const attempted = { _tag: 'Attempted', at: 0, item, sink: 'http://a/', number: 2, duration: 3.6 } as const
    expect(reportOf({ ...attempted, result: right({ sink: 'http://a/', status: 200 }) }, subjectOf)).toEqual({
      ...{ t: 'attempt', ...subject, url: 'http://a/', n: 2, ok: true, ms: 4, status: 200 },
    })
    expect(reportOf({ ...attempted, result: left(retryable('timeout')) }, subjectOf)).toEqual({
      ...{ t: 'attempt', ...subject, url: 'http://a/', n: 2, ok: false, ms: 4, reason: 'timeout' },
    })
  })
  it('reports a URL that was passed over, and a wait', () => {
    expect(
      reportOf({ _tag: 'UrlSkipped', at: 0, item, sink: 'http://a/', number: 1 }, subjectOf),
    ).toMatchObject({ t: 'attempt', ok: false, reason: 'laneFull' })
    expect(
      reportOf({ _tag: 'Waiting', at: 0, item, attempts: 1, failure, delay: 700, because: 'x' }, subjectOf),
    ).toEqual({ t: 'waiting', ...subject, n: 1, ms: 700, because: 'x', causes })
  })
  test.each([
    [
      delivered(item, 2, { sink: 'http://a/', status: 202 }),
      { n: 2, url: 'http://a/', status: 202, causes: [] },
    ],
    [rejected(item, 1, failure), { n: 1, causes }],
    [expired(item, expiredFailure(4, 0, failure)), { n: 4, causes }],
    [dropped(item, 0, 'dropOldest'), { n: 0, causes: [{ reason: 'dropOldest' }] }],
    [abandoned(item, 1, failure), { n: 1, causes }],
    [abandoned(item, 0, undefined), { n: 0, causes: [] }],
  ] as const)('reports the end of an event: $_tag', (outcome, more) => {
    expect(reportOf({ _tag: 'Ended', at: 0, outcome }, subjectOf)).toEqual({
      t: 'outcome',
      ...subject,
      outcome: outcome._tag.toLowerCase(),
      ...more,
    })
  })
  it('reports nothing of what is not ours, and nothing else', () => {
    expect(
      reportOf({ _tag: 'UrlSkipped', at: 0, item, sink: 'a', number: 1 }, () => undefined),
    ).toBeUndefined()
    expect(reportOf({ _tag: 'Accepted', at: 0, item }, subjectOf)).toBeUndefined()
    expect(reportOf({ _tag: 'Defect', at: 0, where: 'x', error: 1 }, subjectOf)).toBeUndefined()
  })
})

describe('lineOf', () => {
  const paint = (_: string, text: string): string => text
  test.each<[Report, string | undefined]>([
    [
      { t: 'outcome', ...subject, outcome: 'delivered', n: 1, url: 'http://a/', status: 200, causes: [] },
      'delivered  line 3    track    m1  http://a/ 200',
    ],
    [
      { t: 'outcome', ...subject, outcome: 'delivered', n: 3, url: 'http://a/', status: 200, causes: [] },
      'delivered  line 3    track    m1  http://a/ 200, after 3 attempts',
    ],
    [
      { t: 'outcome', ...subject, outcome: 'rejected', n: 1, causes },
      'rejected   line 3    track    m1  http://a/ 503; http://b/ certificate (self-signed: give another)',
    ],
    [
      { t: 'outcome', ...subject, outcome: 'abandoned', n: 0, causes: [] },
      'abandoned  line 3    track    m1  never attempted',
    ],
    [
      { t: 'waiting', ...subject, n: 1, ms: 1_234, because: 'x', causes },
      'waiting    line 3    track    m1  attempt 1 failed: http://a/ 503; http://b/ self-signed; again in 1.2s',
    ],
    [
      { t: 'refused', line: 9, reason: 'invalid', faults: [{ path: 'userId', message: 'is missing' }] },
      'refused    line 9    userId is missing',
    ],
    [{ t: 'attempt', ...subject, url: 'http://a/', n: 1, ok: true, ms: 1 }, undefined],
  ])('%j', (report, line) => {
    expect(lineOf(report, { paint })).toBe(line)
  })
  it('calls URLs by their names', () => {
    expect(showCauses(causes, { nameOf: (url) => url.slice(7, 8) })).toBe(
      'a 503; b certificate (self-signed: give another)',
    )
  })
  it('lets no id steer the terminal', () => {
    const line = lineOf(
      { t: 'waiting', ...subject, id: '\u001b[2J\nrefused', n: 1, ms: 1, because: '', causes: [] },
      { paint },
    )
    expect(line).not.toMatch(/[\p{Cc}]/u)
    expect(plain('a'.repeat(100))).toBe(`${'a'.repeat(80)}…`)
  })
})

test('what is refused is told without its values', () => {
  expect(refusalReport(2, tooLarge({ secret: 1 }, 64_000, 70_000, 'm1'))).toEqual({
    t: 'refused',
    line: 2,
    reason: 'tooLarge',
    faults: [{ path: '', message: '70000 bytes of JSON, the limit is 64000: send less with the event' }],
  })
  expect(refusalReport(2, invalid({}, [{ path: 'a', message: 'b' }])).faults).toEqual([
    { path: 'a', message: 'b' },
  ])
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
  expect(flagFaults([{ path: 'webhooks[0].url', message: 'is not a URL' }], 1)).toEqual(['--to is no URL'])
})

describe('a terminal', () => {
  const streams = (isTTY: boolean, env: Record<string, string> = {}) => {
    const stdout = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY })
    const stderr = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY })
    return { stdout, stderr, env }
  }

  test.each([
    ['a screen', true, {}, 'auto', true],
    ['a pipe', false, {}, 'auto', false],
    ['NO_COLOR', true, { NO_COLOR: '1' }, 'auto', false],
    ['an empty NO_COLOR', true, { NO_COLOR: '' }, 'auto', true],
    ['a dumb screen', true, { TERM: 'dumb' }, 'auto', false],
    ['--color always', false, { NO_COLOR: '1' }, 'always', true],
    ['--color never', true, {}, 'never', false],
  ] as const)('%s', (_, isTTY, env, colours, coloured) => {
    const painted = terminalOf(streams(isTTY, env), colours).out.paint('red', 'x')
    expect(painted).toBe(coloured ? '\u001b[31mx\u001b[39m' : 'x')
  })

  it('erases what is drawn on the last line before it writes there, and only there', () => {
    const both = streams(true)
    const terminal = terminalOf(both, 'never')
    terminal.overlay(() => both.stdout.write('<erased>'))
    terminal.out.line('a')
    terminal.overlay(undefined)
    terminal.out.line('b')
    expect(both.stdout.read()).toBe('<erased>a\nb\n')
    const piped = streams(false)
    const quiet = terminalOf(piped, 'never')
    quiet.overlay(() => piped.stdout.write('<erased>'))
    quiet.out.line('a')
    expect(piped.stdout.read()).toBe('a\n')
  })

  it('waits for its reader, and no longer for one that has gone', async () => {
    let take = (): void => undefined
    const slow = new Writable({
      highWaterMark: 1,
      write: (_chunk, _encoding, done) => {
        take = done
      },
    })
    const { out } = terminalOf({ stdout: slow, stderr: new PassThrough(), env: {} }, 'never')
    await out.caughtUp()
    out.line('a')
    let caughtUp = false
    const waiting = out.caughtUp().then(() => (caughtUp = true))
    await Promise.resolve()
    expect(caughtUp).toBe(false)
    take()
    await waiting
    out.line('b')
    const second = out.caughtUp()
    slow.destroy(Object.assign(new Error('gone'), { code: 'EPIPE' }))
    await second
    out.line('into the void')
    await out.caughtUp()
    expect([out.gone.aborted, out.failure()]).toEqual([true, undefined])
  })

  it('remembers a failure that is not the reader’s right', async () => {
    const { stdout, ...rest } = streams(false)
    const { out } = terminalOf({ stdout, ...rest }, 'never')
    stdout.destroy(Object.assign(new Error('full'), { code: 'ENOSPC' }))
    await new Promise((resolve) => out.gone.addEventListener('abort', resolve))
    expect(out.failure()).toBe('ENOSPC')
  })
})

test('refusals go to stderr wherever the data goes', () => {
  const report: Report = { t: 'refused', line: 1, reason: 'notJson', faults: [{ path: '', message: 'x' }] }
  const wrote = (output: 'lines' | 'json' | 'quiet'): ReadonlyArray<unknown> => {
    const [stdout, stderr] = [new PassThrough({ encoding: 'utf8' }), new PassThrough({ encoding: 'utf8' })]
    reporter(terminalOf({ stdout, stderr, env: {} }, 'never'), output)(report)
    return [stdout.read(), stderr.read()]
  }
  const line = 'refused    line 1    x\n'
  expect(wrote('lines')).toEqual([null, line])
  expect(wrote('quiet')).toEqual([null, line])
  expect(wrote('json')).toEqual([`${toJson(report)}\n`, line])
})
