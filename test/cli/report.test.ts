import { left, right } from 'fp-ts/lib/Either.js'
import { PassThrough } from 'node:stream'
import { describe, expect, it, test } from 'vitest'
import {
  lineOf,
  plain,
  refusalReport,
  reporter,
  reportOf,
  showCauses,
  showMillis,
  toJson,
} from '../../src/cli/report.ts'
import type { Report } from '../../src/cli/report.ts'
import { terminalOf } from '../../src/cli/terminal.ts'
import { allFailed, expired as expiredFailure, refused, retryable } from '../../src/core/failure.ts'
import { abandoned, delivered, dropped, expired, rejected } from '../../src/core/outcome.ts'
import { invalid, tooLarge } from '../../src/core/refusal.ts'
import { hostOf } from './inProcess.ts'

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
  ] as const)('reports the end of an event: $_tag', (outcome, more) =>
    expect(reportOf({ _tag: 'Ended', at: 0, outcome }, subjectOf)).toEqual({
      t: 'outcome',
      ...subject,
      outcome: outcome._tag.toLowerCase(),
      ...more,
    }),
  )
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
  ])('%j', (report, line) => expect(lineOf(report, { paint })).toBe(line))
  it('calls URLs by their names', () =>
    expect(showCauses(causes, (url) => url.slice(7, 8))).toBe(
      'a 503; b certificate (self-signed: give another)',
    ))
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

test('refusals go to stderr wherever the data goes', () => {
  const report: Report = { t: 'refused', line: 1, reason: 'notJson', faults: [{ path: '', message: 'x' }] }
  const wrote = (output: 'lines' | 'json' | 'quiet'): ReadonlyArray<unknown> => {
    const [stdout, stderr] = [new PassThrough({ encoding: 'utf8' }), new PassThrough({ encoding: 'utf8' })]
    reporter(terminalOf(hostOf({ stdout, stderr }), 'never'), output)(report)
    return [stdout.read(), stderr.read()]
  }
  const line = 'refused    line 1    x\n'
  expect(wrote('lines')).toEqual([null, line])
  expect(wrote('quiet')).toEqual([null, line])
  expect(wrote('json')).toEqual([`${toJson(report)}\n`, line])
})

test.each([
  [0.4, '0ms'],
  [12.4, '12ms'],
  [999.6, '1s'],
  [1_249, '1.2s'],
  [59_949, '59.9s'],
  [59_951, '1m 0s'],
  [200_000, '3m 20s'],
  [14_340_000, '3h 59m'],
])('showMillis(%d) is %s', (millis, text) => expect(showMillis(millis)).toBe(text))
