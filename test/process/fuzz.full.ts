/** Hostile inputs by the thousand, each target in a process of its own with little memory. The budgets stand in fuzzProcess.js. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { sized } from '../support/runs.ts'

const script = fileURLToPath(new URL('fuzzProcess.js', import.meta.url))
const INPUTS = sized({ short: 1_000, full: 10_000, long: 100_000 })
const targets = ['collector', 'sockets', 'settings', 'verify', 'ndjson']

test.each(targets)(`${String(INPUTS)} inputs for: %s`, async (target) => {
  const seed = String(Number(process.env['SEED'] ?? '1'))
  const options = ['--expose-gc', '--max-old-space-size=256', script, target, String(INPUTS), seed]
  const { stdout } = await promisify(execFile)(process.execPath, options)
  console.log(stdout.trim())
  expect(JSON.parse(stdout)).toMatchObject({ inputs: INPUTS })
})
