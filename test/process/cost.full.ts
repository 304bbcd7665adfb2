import { expect, it } from 'vitest'
import { sized } from '../support/runs.ts'
import { runScript } from './command.ts'

/** Status or statuses, and µs for each byte, in a line of the bench. */
const LINE = /^(.+?) +([\d,]+) +\d+ B +\d+ B gzip +[\d.]+ ms ([\d.]+) µs a byte$/

it('H1, H3, H8 bodies of the largest size cost at most 5 µs a byte, and no process of 512 MB dies', async () => {
  const args = [String(sized({ short: 1, full: 8, long: 100 }))]
  const { stdout, stderr } = await runScript('../bench/cost.js', args, '--max-old-space-size=512')
  expect(stderr).toBe('')
  const lines = stdout.trim().split('\n')
  expect(lines.length).toBeGreaterThan(20)
  for (const line of lines) {
    const [, name, statuses = '', perByte] = LINE.exec(line) ?? []
    const others = statuses.split(',').filter((each) => !/^(200|400|413|503)$/.test(each))
    expect([name, others]).toEqual([name, []])
    expect([name, Number(perByte) < 5]).toEqual([name, true])
  }
})
