import { expect, it, test } from 'vitest'
import { program } from '../../src/cli/program.ts'
import { sendOptions } from '../../src/cli/send.ts'
import { headrace, linesOf, track } from './command.ts'

const to = ['--to', 'http://127.0.0.1:9/']
const env = { EMPTY: '', PADDED: 'secret\n' }

/** What is said to these arguments, without starting a process for it. */
const said = async (args: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
  let sentences: ReadonlyArray<string> = ['it was not called']
  const none = (): Promise<void> => Promise.resolve()
  const command = program({
    send: async (_file, flags) => {
      const options = sendOptions(flags, env)
      sentences = options._tag === 'Left' ? options.left : []
    },
    batch: none,
    collect: none,
    check: none,
    dead: none,
    listen: none,
    sign: none,
    verify: none,
    demo: none,
  })
  await command.parseAsync(['send', ...args], { from: 'user' })
  return sentences
}

const six = Array.from({ length: 6 }, (_, at) => ['--to', `http://127.0.0.1:${at + 1}/`]).flat()
const address = '--to points to an address that is not allowed:'
const variable =
  '--secret-env must name a variable of the environment that holds the secret, and the one it names is'
const remedy = 'set it with export, or leave --secret-env out'

test.each<[what: string, args: ReadonlyArray<string>, ...sentences: ReadonlyArray<string>]>([
  ['nothing', to],
  ['no URL', [], '--to is missing: give one to five URLs, such as --to http://127.0.0.1:7412/hook'],
  ['six URLs', six, '--to may be given one to five times, not 6 times: leave some URLs out'],
  [
    'no scheme',
    ['--to', 'a.example/hook'],
    '--to is not a URL: it must look like https://receiver.example/hook',
  ],
  [
    'a space',
    ['--to', 'http://a.example/ b'],
    '--to must not have a backslash, a control character or white space: encode it with %',
  ],
  [
    'credentials',
    ['--to', 'http://u:p@a.example/'],
    '--to must not have a user name or a password, which logs would show: give a static header instead',
  ],
  ['one URL twice', [...to, '--to', 'HTTP://127.0.0.1:9'], '--to number 2 is the same URL as --to number 1'],
  [
    'cloud metadata',
    ['--to', 'http://169.254.169.254/'],
    `${address} 169.254.169.254 is a link-local address, where clouds serve their credentials: it is never dialled`,
  ],
  [
    'a private address',
    [...to, '--egress', 'public'],
    `${address} 127.0.0.1 is not an address of the public internet, and only those are dialled`,
  ],
  [
    'a header without a colon',
    [...to, '--header', 'X'],
    "--header must be a name, a colon and a value, such as 'X-Team: blue'",
  ],
  [
    'a header of ours',
    [...to, '--header', 'X-Signature: a'],
    '--header X-Signature belongs to the request and cannot be set',
  ],
  [
    'a line break in a header',
    [...to, '--to', 'http://127.0.0.1:10/', '--header', 'X-A: b\r\nX-B: c'],
    '--header X-A must be visible ASCII, with no line break, and with no space at its beginning or end',
  ],
  ['an unset secret', [...to, '--secret-env', 'NOPE'], `${variable} not set: ${remedy}`],
  ['an empty secret', [...to, '--secret-env', 'EMPTY'], `${variable} empty: ${remedy}`],
  [
    'a padded secret',
    [...to, '--secret-env', 'PADDED'],
    '--secret-env names a variable whose value cannot be a secret: it must not begin or end with white space, such as the newline at the end of a file',
  ],
  [
    'a word for a number',
    [...to, '--concurrency', 'many'],
    '--concurrency must be a whole number from 1 to 1000',
  ],
  ['no time at all', [...to, '--timeout', '0s'], '--timeout must be at least 1ms'],
])('%s', async (_, args, ...sentences) => {
  expect(await said(args)).toEqual(sentences)
})

it('is said all at once', async () => {
  const flags =
    '--timeout x --retry-for x --concurrency x --max-waiting x --grace x --egress x --output x --header x'
  expect((await said(flags.split(' '))).map((sentence) => sentence.split(' ')[0])).toEqual([
    ...['--to', '--header', '--timeout', '--retry-for', '--concurrency', '--max-waiting'],
    ...['--grace', '--egress', '--output'],
  ])
})

test.each<[what: string, args: ReadonlyArray<string>, sentence: string]>([
  ['a misspelt scheme', ['--to', 'htp://a.example/'], '--to must begin with http:// or https://'],
  [
    'a missing file',
    ['/nowhere/events', ...to],
    "'/nowhere/events' cannot be read: there is no such file or folder; give a file of events, or - for stdin",
  ],
  ['a folder', ['/', ...to], "'/' is a folder: give a file of events, one JSON object a line"],
  [
    'an unknown flag',
    [...to, '--sercet-env', 'A'],
    "unknown option '--sercet-env' (Did you mean --secret-env?); see headrace send --help",
  ],
  [
    'two files',
    ['a', 'b', ...to],
    "too many arguments for 'send'. Expected 1 argument but got 2; see headrace send --help",
  ],
])('%s ends with 2 and one sentence', async (_, args, sentence) => {
  const { code, stdout, stderr } = await headrace(['send', ...args], { input: track('A') })
  expect(linesOf(stderr)).toEqual([`headrace send: ${sentence}`])
  expect([code, stdout]).toEqual([2, ''])
})
