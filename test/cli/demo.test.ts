import { PassThrough } from 'node:stream'
import { expect, it } from 'vitest'
import { runCommand } from '../../src/cli/program.ts'
import { profile } from '../support/runs.ts'
import { collected, headrace, recordsOf, screenOf } from './inProcess.ts'

it('tells what happened in words, and the sums add up', async () => {
  const { code, stdout, stderr } = await headrace(['demo'])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^ready http:\/\/127\.0\.0\.1:\d+\/flaky http:\/\/127\.0\.0\.1:\d+\/slow\n/)
  expect(stderr).toContain('refused    line 10   userId must be a string, not a number\n')
  expect(stderr).toContain('refused    line 31   not JSON at character 66\n')
  expect(stderr).toContain('headrace: read 62 (2 refused) · delivered 59 · rejected 1\n')
  // The same seven in every run with this seed; on a slow machine both may be late for some of them.
  const waits =
    /^waiting +line (1|3|14|28|40|55|57) .* 1 failed: flaky 503; slow timeout \(no verdict within 500 ms\); again/gm
  expect(stdout.match(waits)?.length).toBeGreaterThan(2)
  expect(stdout).toMatch(/\ndelivered .* after [23] attempts\n/)
  expect(stdout).toMatch(/\nrejected .*flaky 422; slow 422/)
  expect(stdout).toMatch(/^59 delivered \+ 1 rejected = 60 events; \d+ requests, all verified$/m)

  const request =
    /\n {2}POST \/flaky\n[^]*\n {2}X-Signature: [0-9a-f]{40}\n[^]*\n {2}\{"version":1,"type":"\w+",/
  expect(stdout).toMatch(request)
  expect(stdout).toMatch(/\nA dead letter, kept with its reason: flaky 422; slow 422\ndelivered {2}line 43 /)
  expect(stdout).toContain('\nBoth receivers take all now. It was redriven, and is delivered.\n')
})

// The same 62 lines again, for 4 s.
if (profile !== 'short')
  it('tells it in JSON', async () => {
    const { code, stdout } = await headrace(['demo', '--output', 'json'])
    expect(code).toBe(0)
    const records = recordsOf(stdout)
    expect(records[0]).toMatchObject({ v: 1, t: 'ready' })
    expect(records.at(-1)).toEqual({
      ...{ v: 1, t: 'summary', read: 62, refused: 2, accepted: 60, delivered: 59, rejected: 1 },
      ...{ expired: 0, dropped: 0, abandoned: 0, waiting: 0 },
    })
  })

const playing = () => {
  const modes: boolean[] = []
  const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (is: boolean) => modes.push(is) })
  const host = { ...screenOf(true, { NO_COLOR: '1' }), stdin }
  Object.assign(host.stderr, { columns: 100 })
  const screen = collected(host.stderr)
  const printed = collected(host.stdout)
  return { stdin, modes, screen, printed, ended: runCommand(['demo', '--seed', '7'], host) }
}

it('counts abandoned events in its sums, and names no flag that it has not', async () => {
  const { stdin, screen, printed, ended } = playing()
  await screen.matches(/Keys: f breaks/)
  stdin.write('f')
  await screen.matches(/slow +failing/)
  stdin.write('q')
  expect(await ended).toBe(1)
  expect(printed.text()).toMatch(/\n(\d+ delivered \+ )?(\d+) abandoned = \d+ events; /)
  expect(await screen.matches(/stopped/)).not.toContain('--dead')
})

it('breaks, heals and stops by keys, which are no signals then', async () => {
  const { stdin, modes, screen, ended } = playing()
  await screen.matches(/Keys: f breaks/)
  stdin.write('f')
  const failures = /:\d+\/flaky +failing .*last: status 503\n:\d+\/slow +failing .*last: status 503/
  await screen.matches(failures)
  stdin.write('h')
  await screen.matches(new RegExp(`${failures.source}[^]*[1-9]\\d* delivered[^]*flaky +flaky`))
  stdin.write('q')
  await screen.matches(/stopped: the input was not read to its end/)
  await ended
  expect(modes).toEqual([true, false])
})
