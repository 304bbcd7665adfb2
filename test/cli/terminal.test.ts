import { Writable } from 'node:stream'
import { expect, it, test } from 'vitest'
import { escapedJson, plain, terminalOf } from '../../src/cli/terminal.ts'
import { hostOf, screenOf } from './inProcess.ts'

test.each([
  ['a screen', true, {}, 'auto', true],
  ['a pipe', false, {}, 'auto', false],
  ['NO_COLOR', true, { NO_COLOR: '1' }, 'auto', false],
  ['an empty NO_COLOR', true, { NO_COLOR: '' }, 'auto', true],
  ['a dumb screen', true, { TERM: 'dumb' }, 'auto', false],
  ['--color always', false, { NO_COLOR: '1' }, 'always', true],
  ['--color never', true, {}, 'never', false],
] as const)('colours: %s', (_, isTTY, env, colours, coloured) => {
  const painted = terminalOf(screenOf(isTTY, env), colours).out.paint('red', 'x')
  expect(painted).toBe(coloured ? '\u001b[31mx\u001b[39m' : 'x')
})

test('H11: no control, direction mark or character without width reaches a screen', () => {
  const unsafe = /[\p{Cc}\p{Cf}\p{DI}\p{Zl}\p{Zp}]/u
  const all = Array.from({ length: 0x11_0000 }, (_, code) => String.fromCodePoint(code))
  const text = all.filter((character) => unsafe.test(character)).join('')
  for (const known of '\n\u007f\u009b\u200b\u202e\u2066\ufe0f\u{E0041}') expect(text).toContain(known)
  expect(plain(text, Infinity)).toMatch(/^\?+$/)
  expect(plain('Idealtheorie 🜁 é 中', 80)).toBe('Idealtheorie 🜁 é 中')
  const json = escapedJson({ text })
  expect(json).not.toMatch(unsafe)
  expect(JSON.parse(json)).toEqual({ text })
  const host = screenOf(false)
  terminalOf(host, 'never').out.line(`a${text}b`)
  expect(host.stdout.read()).toMatch(/^a\?+\n\?+b\n$/)
})

it('waits for its reader, and no longer for one that has gone', async () => {
  let take = (): void => undefined
  const slow = new Writable({ highWaterMark: 1, write: (_chunk, _encoding, done) => (take = done) })
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
  expect(out.gone).toMatchObject({ aborted: true, reason: 'EPIPE' })
})
