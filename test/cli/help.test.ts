import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { headrace } from './inProcess.ts'

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly version: string
}

it('teaches: every command has an example, and exit codes are in it', async () => {
  const commands = ['send', 'batch', 'collect', 'listen', 'sign', 'verify', 'top', 'explain', 'gen', 'demo']
  const texts = await Promise.all(commands.map((command) => headrace([command, '--help'])))
  texts.forEach(({ code, stdout, stderr }, at) => {
    expect([code, stderr, stdout]).toEqual([0, '', expect.stringMatching(/Exit codes/)])
    expect(stdout).not.toMatch(/.{81}/)
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

it.each([['sned'], ['help', 'sned'], ['sned', '--help']])('knows no command %s %s', async (...argv) => {
  const unknown = await headrace(argv)
  expect([unknown.code, unknown.stdout]).toEqual([2, ''])
  expect(unknown.stderr).toMatch(/^headrace: unknown command 'sned' \(Did you mean send\?\)/)
})
