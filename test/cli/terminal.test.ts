import { PassThrough, Writable } from 'node:stream'
import { describe, expect, it, test } from 'vitest'
import { terminalOf } from '../../src/cli/terminal.ts'
import { hostOf } from './inProcess.ts'

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
