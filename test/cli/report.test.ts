import { left, right } from 'fp-ts/lib/Either.js'
import { PassThrough } from 'node:stream'
import { expect, it, test } from 'vitest'
import { exitCodeOf, lineOf, plain, refusalReport, reporter, reportOf } from '../../src/cli/report.ts'
import { showMillis, showSummary, summaryOf, toJson } from '../../src/cli/report.ts'
import type { Report, Summary } from '../../src/cli/report.ts'
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
const at = { at: 0, item, sink: 'http://a/' }
const attempt = { t: 'attempt', ...subject, url: 'http://a/' }
const ofLine = ' line 3    track    m1 '

it('reports attempts, URLs that were skipped, and waits', () => {
  const attempted = { _tag: 'Attempted', ...at, number: 2, duration: 3.6 } as const
  const ok = right({ sink: 'http://a/', status: 200 })
  expect([
    reportOf({ ...attempted, result: ok }, subjectOf),
    reportOf({ ...attempted, result: left(retryable('timeout')) }, subjectOf),
    reportOf({ _tag: 'UrlSkipped', ...at, number: 1 }, subjectOf),
    reportOf({ _tag: 'Waiting', at: 0, item, attempts: 1, failure, delay: 700, because: 'x' }, subjectOf),
    reportOf({ _tag: 'UrlSkipped', ...at, number: 1 }, () => undefined),
    reportOf({ _tag: 'Accepted', at: 0, item }, subjectOf),
  ]).toEqual([
    { ...attempt, n: 2, ok: true, ms: 4, status: 200 },
    { ...attempt, n: 2, ok: false, ms: 4, reason: 'timeout' },
    { ...attempt, n: 1, ok: false, ms: 0, reason: 'queueFull' },
    { t: 'waiting', ...subject, n: 1, ms: 700, because: 'x', causes },
    undefined,
    undefined,
  ])
})

test.each([
  [
    delivered(item, 2, { sink: 'http://a/', status: 202 }),
    { n: 2, url: 'http://a/', status: 202, causes: [] },
    `delivered ${ofLine} http://a/ 202, after 2 attempts`,
  ],
  [
    rejected(item, 1, failure),
    { n: 1, causes },
    `rejected  ${ofLine} http://a/ 503; http://b/ certificate (self-signed: give another)`,
  ],
  [expired(item, expiredFailure(4, 0, failure)), { n: 4, causes }, 'expired .* after 4 attempts'],
  [dropped(item, 0, 'dropOldest'), { n: 0, causes: [{ reason: 'dropOldest' }] }, 'dropped .* dropOldest'],
  [abandoned(item, 1, failure), { n: 1, causes }, 'abandoned .* http://a/ 503'],
  [abandoned(item, 0, undefined), { n: 0, causes: [] }, `abandoned ${ofLine} never attempted`],
] as const)('reports the end of an event: $_tag', (outcome, more, line) => {
  const report = reportOf({ _tag: 'Ended', at: 0, outcome }, subjectOf)
  expect(report).toEqual({ t: 'outcome', ...subject, outcome: outcome._tag.toLowerCase(), ...more })
  const shown = report && lineOf(report, (_, text) => text)
  if (line.includes('.*')) expect(shown).toMatch(new RegExp(line))
  else expect(shown).toBe(line)
})

test('a wait is told in short, and no id steers the terminal', () => {
  const waiting = { t: 'waiting', ...subject, n: 1, ms: 1_234, because: 'x', causes } as const
  const paint = (_: string, text: string): string => text
  expect(lineOf(waiting, paint)).toBe(
    `waiting   ${ofLine} attempt 1 failed: http://a/ 503; http://b/ self-signed; again in 1.2s`,
  )
  expect(lineOf({ ...waiting, id: '\u001b[2J\nrefused' }, paint)).not.toMatch(/[\p{Cc}]/u)
  expect(plain('a'.repeat(100))).toBe(`${'a'.repeat(80)}…`)
})

test('what is refused is told without its values, and on stderr wherever the data goes', () => {
  const message = '70000 bytes, the limit is 64000: send less with the event'
  const report = { t: 'refused', line: 2, reason: 'tooLarge', faults: [{ path: '', message }] } as const
  expect(refusalReport(2, tooLarge({ secret: 1 }, 64_000, 70_000, 'm1'))).toEqual(report)
  const faults = [{ path: 'a', message: 'b' }]
  expect(refusalReport(2, invalid({}, faults))).toEqual({ t: 'refused', line: 2, reason: 'invalid', faults })

  const wrote = (output: 'lines' | 'json' | 'quiet', each: Report): ReadonlyArray<unknown> => {
    const [stdout, stderr] = [new PassThrough({ encoding: 'utf8' }), new PassThrough({ encoding: 'utf8' })]
    reporter(terminalOf(hostOf({ stdout, stderr }), 'never'), output)(each)
    return [stdout.read(), stderr.read()]
  }
  const line = `refused    line 2    ${message}\n`
  expect(wrote('lines', report)).toEqual([null, line])
  expect(wrote('quiet', report)).toEqual([null, line])
  expect(wrote('json', report)).toEqual([`${toJson(report)}\n`, line])
})

test('a time for people', () => {
  const times = [0.4, 12.4, 999.6, 1_249, 59_949, 59_951, 200_000, 14_340_000].map(showMillis)
  expect(times).toEqual(['0ms', '12ms', '1s', '1.2s', '59.9s', '1m 0s', '3m 20s', '3h 59m'])
})

const of = (counts: Partial<Summary>): Summary => {
  const { refused: bad = 0, ...ends } = counts
  const accepted = Object.values(ends).reduce((sum, each) => sum + each, 0)
  const none = { delivered: 0, rejected: 0, expired: 0, dropped: 0, abandoned: 0, waiting: 0 }
  return summaryOf(bad, { accepted, ...none, ...ends })
}

test.each<[string, Partial<Summary>, boolean, number]>([
  ['all delivered', { delivered: 3 }, false, 0],
  ['an empty input', {}, false, 0],
  ['an empty input, stopped', {}, true, 7],
  ['some rejected', { delivered: 3, rejected: 1 }, false, 3],
  ['some expired', { delivered: 3, expired: 1 }, false, 3],
  ['some refused', { delivered: 3, refused: 1 }, false, 4],
  ['all refused: no receiver has failed', { refused: 3 }, false, 4],
  ['none delivered', { rejected: 3 }, false, 5],
  ['abandoned', { delivered: 1, abandoned: 1 }, false, 7],
  ['still waiting', { delivered: 1, waiting: 1 }, false, 7],
  ['cut, but all that was read is delivered', { delivered: 1 }, true, 7],
  ['5 before 7', { abandoned: 1 }, true, 5],
  ['5 before 3 and 4', { expired: 1, refused: 1 }, false, 5],
  ['7 before 3', { delivered: 1, rejected: 1 }, true, 7],
  ['3 before 4', { delivered: 1, rejected: 1, refused: 1 }, false, 3],
])('exit code: %s', (_, counts, cut, code) => expect(exitCodeOf(of(counts), cut)).toBe(code))

test('a summary is one line without zeros', () => {
  const show = (summary: Summary): string => showSummary(`read ${summary.read}`, summary.refused, summary)
  expect(show(of({ delivered: 2, rejected: 1, refused: 1 }))).toBe(
    'read 4 (1 refused) · delivered 2 · rejected 1',
  )
  expect(show(of({ refused: 1 }))).toBe('read 1 (1 refused)')
  expect(show(of({ delivered: 1 }))).toBe('read 1 · delivered 1')
})
