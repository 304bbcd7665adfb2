import { PassThrough, Writable } from 'node:stream'
import { describe, expect, it, test } from 'vitest'
import { exitCodeOf, terminalOf } from '../../src/cli/terminal.ts'
import { addsUp, show, summaryOf } from '../../src/cli/summary.ts'
import type { Summary } from '../../src/cli/summary.ts'
import { hostOf } from './inProcess.ts'

const of = (counts: Partial<Omit<Summary, 'read' | 'accepted'>>): Summary => {
  const ends = { delivered: 0, rejected: 0, expired: 0, dropped: 0, abandoned: 0, waiting: 0, ...counts }
  const { delivered, rejected, expired, dropped, abandoned, waiting } = ends
  const accepted = delivered + rejected + expired + dropped + abandoned + waiting
  return summaryOf(counts.refused ?? 0, { accepted, ...ends })
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
])('%s', (_, counts, cut, code) => expect(exitCodeOf(of(counts), cut)).toBe(code))

describe('a terminal', () => {
  const streams = (isTTY: boolean, env: Record<string, string> = {}) => {
    const stdout = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY })
    const stderr = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY })
    return { ...hostOf({ env }), stdout, stderr }
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
    const { out } = terminalOf(hostOf({ stdout: slow }), 'never')
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
    const host = streams(false)
    const { out } = terminalOf(host, 'never')
    host.stdout.destroy(Object.assign(new Error('full'), { code: 'ENOSPC' }))
    await new Promise((resolve) => out.gone.addEventListener('abort', resolve))
    expect(out.failure()).toBe('ENOSPC')
  })
})

test('a summary is one line without zeros, and adds up', () => {
  const summary = of({ delivered: 2, rejected: 1, refused: 1 })
  expect(show(summary)).toBe('read 4 (1 refused) · delivered 2 · rejected 1')
  expect(show(of({ refused: 1 }))).toBe('read 1 (1 refused)')
  expect(show(of({ delivered: 1 }))).toBe('read 1 · delivered 1')
  expect([addsUp(summary), addsUp({ ...summary, waiting: 1 }), addsUp({ ...summary, read: 3 })]).toEqual([
    true,
    false,
    false,
  ])
})
