/** Client, collector and destination in one process, over receivers that fail, with folders and a wall clock that steps. */
import { expect, test } from 'vitest'
import { diskFolder } from '../support/folder.ts'
import { sized } from '../support/runs.ts'
import { runScript } from './command.ts'

const EVENTS = sized({ short: 1_000, full: 10_000, long: 100_000 })

test(`${String(EVENTS)} events end once each, and nothing stays open`, async () => {
  const args = [diskFolder(), String(EVENTS), process.env['SEED'] ?? '1']
  const { stdout, stderr } = await runScript('soakProcess.js', args, '--expose-gc')
  console.log(stdout.trim())
  expect(stderr).toBe('')
  expect(JSON.parse(stdout)).toMatchObject({
    client: { accepted: EVENTS, delivered: EVENTS, rejected: 0, expired: 0, dropped: 0, waiting: 0 },
    outcomes: { Delivered: EVENTS },
    // A batch whose answer was lost is sent again.
    hook: { waiting: 0, rejected: 0, expired: 0, dropped: 0, abandoned: 0 },
    unique: EVENTS,
    open: [],
    listeners: 0,
  })
})
