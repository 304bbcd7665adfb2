/** Requests and events of the largest size fill 512 MB of heap until they are refused; the process stays alive. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'

const script = fileURLToPath(new URL('fullHeapProcess.js', import.meta.url))

it.each([
  ['collector', 'notes', ['200', '503']],
  ['gzip', 'tiny', ['200', '503']],
  ['destination', 'emoji', ['Full', 'accepted']],
])('%s, %s: refuses before its memory is full', async (room, shape, answers) => {
  const args = ['--max-old-space-size=512', script, room, shape]
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args)
  expect(stderr).toBe('')
  const found: unknown = JSON.parse(stdout)
  expect(Object.keys(found ?? {}).toSorted()).toEqual(answers)
})
