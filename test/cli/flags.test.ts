import { expect, it, test } from 'vitest'
import { headrace, linesOf, track } from './inProcess.ts'

const NOWHERE = 'http://127.0.0.1:9/'
const A = track('A')
const FIVE = '--to must be given one to five times, such as --to http://127.0.0.1:7412/hook'
const address = '--to number 1 points to an address that is not allowed:'

test.each<[args: ReadonlyArray<string>, sentence: string | RegExp]>([
  [[], FIVE],
  [Array.from({ length: 6 }, (_, at) => ['--to', `http://127.0.0.1:${at + 1}/`]).flat(), FIVE],
  [['--to', 'a.example/hook'], /--to number 1 is not a URL: it must look like https:/],
  [['--to', NOWHERE, '--to', 'HTTP://127.0.0.1:9'], '--to number 2 is the same as --to number 1'],
  [
    ['--to', 'http://169.254.169.254/'],
    `${address} 169.254.169.254 is a link-local address, where clouds serve their credentials: it is not dialled`,
  ],
  [
    ['--to', NOWHERE, '--to', 'http://127.0.0.1:10/', '--header', 'X-A: b\r\nX-B: c'],
    /^--header X-A must be visible ASCII, with no line break/,
  ],
  [['--header', 'X A: b'], /^--header \[0\] is not a header name/],
  [['--header', 'X-A: b', '--header-env', 'x-a=TEAM'], /^--header-env has a name that --header gives too/],
  [['--secret-env', 'NOPE'], /^--secret-env names a variable of the environment that is not set: set it/],
  [['--outbox', '/dev/null/outbox'], /^--outbox: the folder \/dev\/null\/outbox /],
  [['--from-start'], /^--from-start needs --outbox: /],
  [['/nowhere/events'], /^'\/nowhere\/events' cannot be read: no such file/],
  [['/'], "'/' is a folder: give a file of events, one JSON object a line"],
  [
    ['--sercet-env', 'A'],
    "unknown option '--sercet-env' (Did you mean --secret-env?); see headrace send --help",
  ],
  [['--secret', 'x'], /^unknown option '--secret' \(Did you mean --secret-env <name>\?\); see/],
  [['--to', ''], '--to is empty: give a URL'],
  [['--tls-ca', '/nowhere'], "--tls-ca '/nowhere' cannot be read: no such file or directory"],
  [["--sekret=it's-x"], /^unknown option '--sekret'[^x]*headrace send/],
  [['a', 'b'], "too many arguments for 'send'. Expected 1 argument but got 2; see headrace send --help"],
])('wrong usage ends with 2 and one sentence: %j', async (args, sentence) => {
  const all = args.length === 0 || args.includes('--to') ? args : [...args, '--to', NOWHERE]
  const { code, stdout, stderr } = await headrace(['send', ...all], { input: A, env: { TEAM: 'a' } })
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
