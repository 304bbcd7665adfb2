import { left, right } from 'fp-ts/lib/Either.js'
import { expect, it, test } from 'vitest'
import { exitCodeOf, lineOf, refusalReport, newsOf, showMillis, showSummary } from '../../src/cli/report.ts'
import { summaryOf, type Summary } from '../../src/cli/report.ts'
import { plain } from '../../src/cli/terminal.ts'
import { allFailed, expired as expiredFailure, refused, retryable } from '../../src/core/failure.ts'
import { abandoned, delivered, dropped, expired, rejected } from '../../src/core/outcome.ts'
import { closed, invalid, tooLarge } from '../../src/core/refusal.ts'

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
const CAUSES = 'http://a/ 503; http://b/ certificate (self-signed: give another)'
const ofLine = ' line 3    track    m1 '
const unpainted = (_: string, text: string): string => text

it('reports attempts, URLs that were skipped, and waits', () => {
  const at = { at: 0, from: 'test', item, sink: 'http://a/' }
  const attempt = { t: 'attempt', ...subject, url: 'http://a/' }
  const attempted = { _tag: 'Attempted', ...at, number: 2, startedAt: 0, duration: 3.6 } as const
  expect([
    newsOf({ ...attempted, result: right({ sink: 'http://a/', status: 200 }) }, subjectOf),
    newsOf({ ...attempted, result: left(retryable('timeout')) }, subjectOf),
    newsOf({ _tag: 'UrlSkipped', ...at, number: 1 }, subjectOf),
    newsOf({ _tag: 'Waiting', ...at, attempts: 1, failure, delay: 700, because: 'x' }, subjectOf),
    newsOf({ _tag: 'Accepted', at: 0, from: 'test', item }, subjectOf),
  ]).toEqual([
    { ...attempt, n: 2, ok: true, ms: 4, status: 200 },
    { ...attempt, n: 2, ok: false, ms: 4, reason: 'timeout' },
    { ...attempt, n: 1, ok: false, ms: 0, reason: 'queueFull' },
    { t: 'waiting', ...subject, n: 1, ms: 700, because: 'x', causes },
    undefined,
  ])
})

test.each([
  [
    delivered(item, 2, { sink: 'http://a/', status: 202 }),
    { n: 2, url: 'http://a/', status: 202, causes: [] },
    `delivered ${ofLine} http://a/ 202, after 2 attempts`,
  ],
  [rejected(item, 1, failure), { n: 1, causes }, `rejected  ${ofLine} ${CAUSES}`],
  [
    expired(item, expiredFailure(4, 0, failure, 'deadline')),
    { n: 4, causes },
    `expired   ${ofLine} ${CAUSES}, after 4 attempts`,
  ],
  [dropped(item, 0, 'dropOldest'), { n: 0, causes: [{ reason: 'dropOldest' }] }, /^dropped .* dropOldest$/],
  [abandoned(item, 1, failure), { n: 1, causes }, `abandoned ${ofLine} ${CAUSES}`],
  [abandoned(item, 0, undefined), { n: 0, causes: [] }, `abandoned ${ofLine} never attempted`],
] as const)('reports the end of an event: $_tag', (outcome, more, line) => {
  const report = newsOf({ _tag: 'Ended', at: 0, from: 'test', outcome }, subjectOf)
  expect(report).toEqual({ t: 'outcome', ...subject, outcome: outcome._tag.toLowerCase(), ...more })
  expect(report && lineOf(report, unpainted)).toMatch(line)
})

test('a wait says why and how long, and no id steers the terminal', () => {
  const waiting = { t: 'waiting', ...subject, n: 1, ms: 1_234, because: 'x', causes } as const
  expect(lineOf(waiting, unpainted)).toBe(`waiting   ${ofLine} attempt 1 failed: ${CAUSES}; again in 1.2s`)
  expect(lineOf({ ...waiting, id: '\u001b[2J\nrefused' }, unpainted)).not.toMatch(/[\p{Cc}]/u)
  expect(plain('a'.repeat(100))).toBe(`${'a'.repeat(80)}…`)
  const times = [0.4, 12.4, 999.6, 1_249, 59_949, 200_000, 14_340_000].map(showMillis)
  expect(times).toEqual(['0ms', '12ms', '1s', '1.2s', '59.9s', '3m', '239m'])
})

test('what is refused is told without its values', () => {
  const message = '70000 bytes, the limit is 64000: send less with the event'
  const report = { t: 'refused', line: 2, reason: 'tooLarge', faults: [{ path: '', message }] } as const
  expect(refusalReport(2, tooLarge({ secret: 1 }, 64_000, 70_000, 'm1'))).toEqual(report)
  expect(refusalReport(2, closed({ secret: 1 }))).toMatchObject({ reason: 'notTaken' })
  const faults = [{ path: 'a', message: 'b' }]
  expect(refusalReport(2, invalid({}, faults))).toEqual({ t: 'refused', line: 2, reason: 'invalid', faults })
  const missing = invalid({}, [{ path: 'userId', message: 'is missing' }])
  const [hinted] = refusalReport(2, missing, { user_id: 'u' }).faults
  expect(hinted?.message).toBe('is missing; user_id is not a field')
  expect(lineOf(report, unpainted)).toBe(`refused    line 2    ${message}`)
})

test('4 before 3 if a record was damaged, which is 3 alone', () => {
  const codes = [of({ refused: 1 }), of({ delivered: 1 }), of({ delivered: 1, waiting: 1 })]
  expect(codes.map((summary) => exitCodeOf(summary, true, 1))).toEqual([4, 3, 7])
})

const of = (counts: Partial<Summary>): Summary => {
  const { refused: bad = 0, ...ends } = counts
  const accepted = Object.values(ends).reduce((sum, each) => sum + each, 0)
  const none = { delivered: 0, rejected: 0, expired: 0, dropped: 0, abandoned: 0, waiting: 0 }
  return summaryOf(bad, { accepted, ...none, ...ends })
}

const ONE_OF_EACH = 'read 3 (1 refused) · delivered 1 · rejected 1'
test.each<[what: string, Partial<Summary>, isAtEnd: boolean, code: number, line: string]>([
  ['all delivered', { delivered: 3 }, true, 0, 'read 3 · delivered 3'],
  ['an empty input, stopped', {}, false, 7, 'read 0'],
  ['some refused', { delivered: 3, refused: 1 }, true, 4, 'read 4 (1 refused) · delivered 3'],
  ['all refused: no receiver has failed', { refused: 3 }, true, 4, 'read 3 (3 refused)'],
  ['abandoned', { delivered: 1, abandoned: 1 }, true, 7, 'read 2 · delivered 1 · abandoned 1'],
  ['some expired', { delivered: 1, expired: 1 }, true, 3, 'read 2 · delivered 1 · expired 1'],
  ['some dropped', { delivered: 1, dropped: 1 }, true, 3, 'read 2 · delivered 1 · dropped 1'],
  ['5 before 7', { abandoned: 1 }, false, 5, 'read 1 · abandoned 1'],
  ['5 before 3 and 4', { expired: 1, refused: 1 }, true, 5, 'read 2 (1 refused) · expired 1'],
  ['7 before 3', { delivered: 1, rejected: 1 }, false, 7, 'read 2 · delivered 1 · rejected 1'],
  ['3 before 4', { delivered: 1, rejected: 1, refused: 1 }, true, 3, ONE_OF_EACH],
])('exit code and summary: %s', (_, counts, isAtEnd, code, line) => {
  const summary = of(counts)
  expect(exitCodeOf(summary, isAtEnd)).toBe(code)
  expect(showSummary(`read ${summary.read}`, summary.refused, summary)).toBe(line)
})
