import { expect, it, test } from 'vitest'
import { headrace, linesOf, track } from './inProcess.ts'

const NOWHERE = 'http://127.0.0.1:9/'
const A = track('A')
const to = ['--to', NOWHERE]
const address = '--to number 1 points to an address that is not allowed:'

test.each<[what: string, args: ReadonlyArray<string>, sentence: string | RegExp]>([
  ['no URL', [], '--to must be given one to five times, such as --to http://127.0.0.1:7412/hook'],
  [
    'six URLs',
    Array.from({ length: 6 }, (_, at) => ['--to', `http://127.0.0.1:${at + 1}/`]).flat(),
    '--to must be given one to five times, such as --to http://127.0.0.1:7412/hook',
  ],
  ['no scheme', ['--to', 'a.example/hook'], /--to number 1 is not a URL: it must look like https:/],
  ['one URL twice', [...to, '--to', 'HTTP://127.0.0.1:9'], '--to number 2 is the same as --to number 1'],
  [
    'cloud metadata',
    ['--to', 'http://169.254.169.254/'],
    `${address} 169.254.169.254 is a link-local address, where clouds serve their credentials: it is not dialled`,
  ],
  [
    'a line break in a header',
    [...to, '--to', 'http://127.0.0.1:10/', '--header', 'X-A: b\r\nX-B: c'],
    /^--header X-A must be visible ASCII, with no line break/,
  ],
  ['no name of a header', [...to, '--header', 'X A: b'], /^--header \[0\] is not a header name/],
  [
    'one header twice',
    [...to, '--header', 'X-A: b', '--header-env', 'x-a=TEAM'],
    /^--header-env has a name that --header gives too/,
  ],
  [
    'an unset secret',
    [...to, '--secret-env', 'NOPE'],
    /^--secret-env names a variable of the environment that is not set: set it with/,
  ],
  ['no folder', [...to, '--outbox', '/dev/null/outbox'], /^--outbox: the folder \/dev\/null\/outbox /],
  ['--from-start alone', [...to, '--from-start'], /^--from-start needs --outbox: /],
  ['a missing file', ['/nowhere/events', ...to], /^'\/nowhere\/events' cannot be read: no such file/],
  ['a folder', ['/', ...to], "'/' is a folder: give a file of events, one JSON object a line"],
  [
    'an unknown flag',
    [...to, '--sercet-env', 'A'],
    "unknown option '--sercet-env' (Did you mean --secret-env?); see headrace send --help",
  ],
  [
    'a secret',
    [...to, '--secret', 'x'],
    /^unknown option '--secret' \(Did you mean --secret-env <name>\?\); see/,
  ],
  ['no URL', ['--to', ''], '--to is empty: give a URL'],
  [
    'no such PEM',
    [...to, '--tls-ca', '/nowhere'],
    "--tls-ca '/nowhere' cannot be read: no such file or directory",
  ],
  ['a secret in a flag', [...to, "--sekret=it's-x"], /^unknown option '--sekret'[^x]*headrace send/],
  [
    'two files',
    ['a', 'b', ...to],
    "too many arguments for 'send'. Expected 1 argument but got 2; see headrace send --help",
  ],
])('wrong usage ends with 2 and one sentence: %s', async (_, args, sentence) => {
  const { code, stdout, stderr } = await headrace(['send', ...args], { input: A, env: { TEAM: 'a' } })
  expect([code, stdout]).toEqual([2, ''])
  const said = linesOf(stderr).map((line) => line.replace('headrace send: ', ''))
  expect(said).toEqual([typeof sentence === 'string' ? sentence : expect.stringMatching(sentence)])
})

it('all wrong flags are told at once', async () => {
  const flags = ['--timeout', '--retry-for', '--concurrency', '--grace', '--egress', '--output']
  const { stderr } = await headrace(['send', ...flags.flatMap((flag) => [flag, 'x']), '--header', 'x'])
  const named = linesOf(stderr).map((line) => line.split(' ')[2])
  expect(new Set(named)).toEqual(new Set(['--to', '--header', ...flags]))
  const schema = await headrace(['outbox', 'sql', '--schema', 'A b'])
  expect(schema.stderr).toMatch(/--schema must be a name of .*, not a digit first\n$/)
})
