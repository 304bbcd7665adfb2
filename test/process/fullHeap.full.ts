/** Requests and events of the largest size fill 512 MB of heap until they are refused; the process stays alive. */
import { expect, it } from 'vitest'
import { runScript } from './command.ts'

it.each([
  ['collector', 'notes', ['200', '503']],
  ['gzip', 'tiny', ['200', '503']],
  ['destination', 'emoji', ['Full', 'accepted']],
])('%s, %s: refuses before its memory is full', async (room, shape, answers) => {
  const { stdout, stderr } = await runScript('fullHeapProcess.js', [room, shape], '--max-old-space-size=512')
  expect(stderr).toBe('')
  const found: unknown = JSON.parse(stdout)
  expect(Object.keys(found ?? {}).toSorted()).toEqual(answers)
})
