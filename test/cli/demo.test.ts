import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { headrace, recordsOf } from './inProcess.ts'

describe('the demo', () => {
  it('tells what happened in words, and the sums add up', async () => {
    // One after the other: its receivers have 500 ms for an answer.
    const { code, stdout, stderr } = await headrace(['demo'])
    const json = await headrace(['demo', '--output', 'json'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^ready http:\/\/127\.0\.0\.1:\d+\/flaky http:\/\/127\.0\.0\.1:\d+\/slow\n/)
    expect(stderr).toContain('refused    line 10   userId must be a string, not a number\n')
    expect(stderr).toContain('refused    line 31   not JSON at character 66\n')
    expect(stderr).toContain('headrace: read 62 (2 refused) · delivered 59 · rejected 1\n')
    expect(stdout).toMatch(/\nwaiting .*flaky 503; slow timeout \(no verdict within 500 ms\); again in/)
    expect(stdout).toMatch(/\ndelivered .* after [23] attempts\n/)
    expect(stdout).toMatch(/\nrejected .*flaky 422; slow 422/)
    const account = '59 delivered \\+ 1 refused for good = 60'
    const line = `^${account}; (\\d+) requests, of which the receivers verified \\1$`
    expect(stdout).toMatch(new RegExp(line, 'm'))

    expect(json.code).toBe(0)
    const records = recordsOf(json.stdout)
    expect(records[0]).toMatchObject({ v: 1, t: 'ready' })
    expect(records.at(-1)).toEqual({
      ...{ v: 1, t: 'summary', read: 62, refused: 2, accepted: 60, delivered: 59, rejected: 1 },
      ...{ expired: 0, dropped: 0, abandoned: 0, waiting: 0 },
    })
  })
})

describe('help', () => {
  const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly version: string
  }

  it('teaches: every command has an example, and exit codes are in it', async () => {
    const commands = ['send', 'listen', 'sign', 'verify', 'gen', 'demo']
    const texts = await Promise.all(commands.map((command) => headrace([command, '--help'])))
    texts.forEach(({ code, stdout, stderr }, at) => {
      expect([code, stderr]).toEqual([0, ''])
      expect(stdout).toMatch(/Exit codes/)
      if (commands[at] !== 'demo')
        expect(stdout).toMatch(new RegExp(`^ {2}\\$ .*headrace ${String(commands[at])}`, 'm'))
    })
    const send = texts[0]?.stdout ?? ''
    for (const code of [0, 1, 2, 3, 4, 5, 7]) expect(send).toMatch(new RegExp(`^ {2}${code} {2}\\S`, 'm'))
    for (const line of send.split('\n').filter((each) => each.startsWith('  {"type"')))
      expect(() => JSON.parse(line) as unknown).not.toThrow()
    const whole = await headrace(['--help'])
    for (const command of commands) expect(whole.stdout).toMatch(new RegExp(`^ {2}${command} `, 'm'))
  })

  it('has the version of the package', async () => {
    for (const asked of ['--version', '-v', 'version'])
      expect(await headrace([asked])).toEqual({ code: 0, stdout: `${manifest.version}\n`, stderr: '' })
  })

  it.each([['sned'], ['help', 'sned'], ['sned', '--help']])(
    'does not know the command %s %s',
    async (...argv) => {
      const unknown = await headrace(argv)
      expect([unknown.code, unknown.stdout]).toEqual([2, ''])
      expect(unknown.stderr).toMatch(/^headrace: unknown command 'sned' \(Did you mean send\?\)/)
    },
  )
})
