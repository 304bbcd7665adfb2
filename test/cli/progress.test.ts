import { expect, test } from 'vitest'
import { drawStopping } from '../../src/cli/live.ts'
import { terminalOf } from '../../src/cli/terminal.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { screenOf } from './inProcess.ts'

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
  expect(pipe.stderr.read()).toBe(
    'headrace: Press Ctrl-C again to quit now. Stopping: 3 waiting, at most 15s.\n',
  )
})
