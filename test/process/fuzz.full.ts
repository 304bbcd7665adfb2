/** Hostile inputs by the thousand, each target in a process of its own with little memory. The budgets stand in fuzzProcess.js. */
import { expect, test } from 'vitest'
import { sized } from '../support/runs.ts'
import { runScript } from './command.ts'

const INPUTS = sized({ short: 1_000, full: 10_000, long: 100_000 })
const targets = ['collector', 'sockets', 'settings', 'verify', 'ndjson']
test.each(targets)(`${String(INPUTS)} inputs for: %s`, async (target) => {
  const args = [target, String(INPUTS), process.env['SEED'] ?? '1']
  const { stdout } = await runScript('fuzzProcess.js', args, '--expose-gc', '--max-old-space-size=256')
  console.log(stdout.trim())
  expect(JSON.parse(stdout)).toMatchObject({ inputs: INPUTS })
})
