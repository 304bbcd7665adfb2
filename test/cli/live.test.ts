import { left, right } from 'fp-ts/lib/Either.js'
import { Subject } from 'rxjs'
import { expect, it, test } from 'vitest'
import { drawLive, drawStopping, liveFrame, outputOf, type View } from '../../src/cli/live.ts'
import { FORMS } from '../../src/cli/options.ts'
import { runCommand } from '../../src/cli/program.ts'
import { terminalOf } from '../../src/cli/terminal.ts'
import { retryable } from '../../src/core/failure.ts'
import { delivered, rejected } from '../../src/core/outcome.ts'
import { recorder } from '../../src/inspector/recorder.ts'
import type { LogEvent } from '../../src/log/logEvent.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { linesOf, picky, screenOf, track } from './inProcess.ts'

const AT = 1e12
const from = 'shop'
const stats = { accepted: 6, delivered: 4, rejected: 1, expired: 0, dropped: 0, abandoned: 0, waiting: 1 }
const unpainted = (_: string, text: string): string => text
const [A, B] = ['http://127.0.0.1:7412/hook', 'https://receiver.example/a/long/path/to/a/hook']

/** Five attempts at each of two receivers; the first has taken three events first, the second one. */
const snapshot = () => {
  const memory = recorder(10, 'none', () => AT)
  const tell = (event: object): void => memory.onEvent({ at: AT - 1_000, from, ...event } as LogEvent)
  const failure = retryable('status', { status: 503 })
  for (const n of [1, 2, 3, 4, 5]) {
    const item = { id: `m${n}`, text: '{"type":"track"}', byteLength: 16 }
    const attempt = { _tag: 'Attempted', item, number: 1, startedAt: AT - 1_020 }
    tell({ ...attempt, sink: A, duration: 23, result: right({ sink: A, status: 200 }) })
    tell({ ...attempt, sink: B, duration: 180.4, result: n < 3 ? left(failure) : right({ sink: B }) })
    if (n < 5) tell({ _tag: 'Ended', outcome: delivered(item, 1, { sink: n < 4 ? A : B }) })
    else tell({ _tag: 'Waiting', item, attempts: 1, failure, delay: 2_234, because: 'x' })
  }
  tell({ _tag: 'Ended', outcome: rejected({ id: 'm6', text: '' }, 1, failure) })
  return memory.snapshot({ ...stats, refused: 2, oldest: 3_210 })
}
const drawn = (width: number, view: View = { limit: 14_400_000 }, parts = [snapshot()]) =>
  liveFrame(parts, width, unpainted, view)

it('has a row for each URL in 100 columns, and folds it in 40', () => {
  expect(drawn(99)).toEqual([
    'Degraded  6 accepted  4 delivered  1 waiting  1 rejected  2 refused  oldest 3.2s of 4h',
    ':7412/hook                    ok       5/s     p95 23ms   first 75%   next 1.2s',
    'receiver.example/a/long/pat…  flaky    5/s     p95 180ms  first 25%   next 1.2s',
    '  2 failed, last: status 503',
  ])
  expect(drawn(39)).toEqual([
    'Degraded  6 accepted  4 delivered',
    '  1 waiting  1 rejected  2 refused',
    '  oldest 3.2s of 4h',
    ':7412/hook                    ok',
    '  5/s     p95 23ms   first 75%',
    '  next 1.2s',
    'receiver.example/a/long/pat…  flaky',
    '  5/s     p95 180ms  first 25%',
    '  next 1.2s',
    '  2 failed, last: status 503',
  ])
  const wide = /^receiver\.example\/a\/long\/path\/to\/a\/hook +flaky .* 2 failed, last: status 503$/
  expect(drawn(120)[2]).toMatch(wide)
})

it('has no line that is longer than the screen, whatever its names, and paints only the state', () => {
  const wide = { ...snapshot(), name: '中'.repeat(80) }
  for (let width = 8; width < 130; width++)
    for (const line of drawn(width, {}, [wide, wide])) expect(line.length).toBeLessThanOrEqual(width)
  const painted = liveFrame([snapshot()], 99, (style, text) => `<${style} ${text}>`)
  expect(painted[0]).toMatch(/^<yellow Degraded> {2}6 accepted {2}4 /)
  expect(painted[1]).toMatch(/^:7412\/hook +<green ok> +5\/s/)
  const narrow = liveFrame([snapshot()], 30, (style, text) => `<${style} ${text}>`)
  expect(narrow.filter((line) => line.includes('<'))).toEqual(['<yellow Degraded>  6 accepted'])
})

it('names its parts if there are several, and lists the last requests of a receiver', () => {
  expect(drawn(99, {}, [snapshot(), snapshot()]).filter((line) => line === from)).toHaveLength(2)
  const [head, row = '', , last] = drawn(99, { requests: ['track    m4  answered 503'] })
  expect([row.includes('first'), last]).toEqual([false, '  track    m4  answered 503'])
  expect(head).toMatch(/^Degraded {2}6 requests {2}4 answered 2xx {2}1 open {2}1 answered otherwise {2}2 ref/)
})

test.each([
  [true, true, { TERM: 'xterm' }, ['live', 'live', 'lines', 'json', 'quiet']],
  [true, false, { TERM: 'xterm' }, ['lines', 'live', 'lines', 'json', 'quiet']],
  [true, true, { TERM: 'dumb' }, ['lines', 'lines', 'lines', 'json', 'quiet']],
  [false, false, {}, ['lines', 'lines', 'lines', 'json', 'quiet']],
])('stderr is a screen: %s, stdout: %s, %o', (isTTY, isOut, env, outputs) => {
  const host = { ...screenOf(isTTY, env), stdout: screenOf(isOut).stdout }
  expect(FORMS.map((form) => outputOf(form, terminalOf(host, 'never')))).toEqual(outputs)
})

it('is redrawn in place below the lines, also when the screen has become narrower, and is removed', async () => {
  const clock = virtualClock()
  const host = screenOf(true)
  const terminal = terminalOf(host, 'never')
  const events = new Subject<LogEvent>()
  const part = { events$: events, stats: () => ({ ...stats, refused: 0 }) }
  Object.assign(host.stderr, { columns: 40 })
  const erase = drawLive(terminal, [part], {}, clock)
  const first = String(host.stderr.read()).slice('\r\u001b[K'.length)
  expect(first.split('\n').length).toBe(2)
  terminal.err.line('a line')
  expect(host.stderr.read()).toBe(`\r\u001b[1A\u001b[Ja line\n\r\u001b[K${first}`)
  Object.assign(host.stderr, { columns: 20 })
  await clock.advance(250)
  expect(String(host.stderr.read()).startsWith('\r\u001b[3A\u001b[J')).toBe(true)
  erase()
  expect([host.stderr.read(), clock.pending(), events.observed]).toEqual(['\r\u001b[3A\u001b[J', 0, false])
})

it('folds what is delivered; refused lines and dead letters stand above it', async () => {
  const { url } = await picky()
  const host = screenOf(true, { NO_COLOR: '1' })
  host.stdin.push(`oops\n${track('A')}${track('Bad')}`)
  host.stdin.push(null)
  const code = await runCommand(['send', '--to', url], host)
  const [stdout, stderr] = [String(host.stdout.read()), String(host.stderr.read())]
  expect([code, linesOf(stdout)]).toEqual([3, [expect.stringContaining('line 3    track    Bad')]])
  expect(stderr).toContain('refused    line 1    not JSON at character 1\n')
  expect(stderr).toMatch(/accepted {2}\d delivered/)
})

test('stopping counts down on a screen, and is one line elsewhere', async () => {
  const clock = virtualClock()
  const screen = screenOf(true)
  let waiting = 3
  const erase = drawStopping(terminalOf(screen, 'never'), 15_000, () => waiting, clock)
  await clock.advance(1_000)
  waiting = 1
  await clock.advance(15_000)
  erase()
  await clock.advance(5_000)
  const shown = String(screen.stderr.read()).split('\r\u001b[K').slice(1)
  expect(shown.slice(0, 3)).toEqual([
    'Press Ctrl-C again to quit now. Stopping: 3 waiting, at most 15s.',
    'Press Ctrl-C again to quit now. Stopping: 3 waiting, at most 14s.',
    'Press Ctrl-C again to quit now. Stopping: 1 waiting, at most 13s.',
  ])
  expect(shown.slice(-2)).toEqual(['Press Ctrl-C again to quit now. Stopping: 1 waiting, at most 0ms.', ''])
  expect(clock.pending()).toBe(0)

  const pipe = screenOf(false)
  drawStopping(terminalOf(pipe, 'never'), 15_000, () => 3, clock)
  expect(clock.pending()).toBe(0)
  const said = 'headrace: Press Ctrl-C again to quit now. Stopping: 3 waiting, at most 15s.\n'
  expect(pipe.stderr.read()).toBe(said)
})
