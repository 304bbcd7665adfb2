import { Command, Option } from 'commander'
import type { DemoFlags } from './demo/demoCommand.ts'
import { MEANINGS } from './ExitCode.ts'
import type { ListenFlags } from './listen/ListenOptions.ts'
import { packageVersion } from './packageVersion.ts'
import type { SendFlags } from './send/SendOptions.ts'
import type { SignFlags } from './sign/signCommand.ts'
import type { VerifyFlags } from './sign/verifyCommand.ts'

/** What the commands do. Each answers its exit code. */
export interface Actions {
  readonly send: (file: string, flags: SendFlags) => Promise<void>
  readonly listen: (port: string, flags: ListenFlags) => Promise<void>
  readonly sign: (file: string, flags: SignFlags) => Promise<void>
  readonly verify: (file: string, flags: VerifyFlags) => Promise<void>
  readonly demo: (flags: DemoFlags) => Promise<void>
}

const START = `
Start here:
  $ headrace demo             watch it work: nothing leaves this machine
  $ headrace listen 7412      a receiver to try things out with
  $ headrace send events.ndjson --to http://127.0.0.1:7412/hook

'headrace help COMMAND' says more about a command.`

const SEND = `
An event is one JSON object on a line. There are seven kinds:
  {"type":"page","userId":"u1","name":"Home","properties":{"path":"/"}}
  {"type":"screen","userId":"u1","name":"Cart"}
  {"type":"identify","userId":"u1","traits":{"plan":"pro"}}
  {"type":"track","userId":"u1","event":"Sold","properties":{"total":9.5}}
  {"type":"alias","previousId":"anon-7","userId":"u1"}
  {"type":"group","userId":"u1","groupId":"acme","traits":{"seats":40}}
  {"type":"delete","userId":"u1"}
anonymousId may stand in for userId in all but alias and delete. messageId,
timestamp (ISO 8601) and context may be added. A line that is wrong is told on
stderr with its number, and costs that line only.

An event is delivered when one of the URLs has answered 2xx. 5xx, 408, 425,
429, timeouts and broken connections are tried again, with growing pauses,
until --retry-for is over. All other answers are final.

Examples:
  $ export WEBHOOK_SECRET=…
  $ headrace send events.ndjson --secret-env WEBHOOK_SECRET \\
      --to https://a.example/hook --to https://b.example/hook
  $ tail -f app.log | headrace send --to http://127.0.0.1:7412/hook
  $ headrace send events.ndjson --to https://a.example/hook \\
      --retry-for 10m --dead dead.ndjson
  $ headrace send dead.ndjson --to https://a.example/hook

stdout has a line for each event that has ended, or waits for its next attempt.
stderr has the refused lines, the account at the end, and on a terminal a
progress bar. With --output json stdout is NDJSON: t is refused, attempt,
waiting, outcome, url, and at last summary; with quiet it is empty. If whoever
reads stdout goes away, delivery goes on.

Ctrl-C stops reading and lets what is on its way end, for at most --grace and
one --timeout. A second one stops at once.

${MEANINGS}`

const LISTEN = `
The first line on stdout is 'ready URL'. Then there is a line for each request:
whether its signature is authentic, what came, and what was answered. A request
that is not authentic is answered 401. Ctrl-C ends it.

Examples:
  $ headrace listen 7412 --secret-env WEBHOOK_SECRET
  $ headrace listen 7412 --fail 30% --delay 200ms
  $ headrace listen 0 --once 10 --out received.ndjson

Exit codes:
  0  ended; with --once: so many requests came, and none was not authentic
  1  with --once: a request was not authentic, or fewer came
  2  wrong usage, or the port is taken`

const SIGN = `
The signature is the lower-case hex HMAC-SHA1 of the bytes as they are, which
is what receivers find in X-Signature.

Example:
  $ printf '{"type":"track"}' | headrace sign --secret-env WEBHOOK_SECRET

Exit codes: 0 signed; 2 wrong usage, or the body cannot be read.`

const VERIFY = `
Example:
  $ headrace verify body.json --secret-env WEBHOOK_SECRET \\
      --signature 5d61605c3feea9799210ddcb71307d4ba264225f

Exit codes:
  0  authentic
  1  not authentic, and a sentence says why
  2  wrong usage, or the body cannot be read`

const DEMO = `
Two receivers are opened on 127.0.0.1. One answers 503 now and then, the other
is slow and sometimes does not answer. Sixty events of all seven kinds are
validated, signed, sent to both, tried again, and accounted for. It takes about
five seconds.

Exit codes:
  0  every event is accounted for, and every signature was verified
  1  not so, or it was stopped`

const SECRET = 'the variable of the environment that holds the shared secret'
const OUTPUT = 'lines, json or quiet'

const collect = (value: string, before: ReadonlyArray<string> = []): ReadonlyArray<string> => [
  ...before,
  value,
]

/** The command line: names, flags, help. */
export const program = (actions: Actions): Command => {
  const headrace = new Command('headrace')
    .description(
      'Delivers user-data events as signed webhooks: validated, fanned out, retried for hours, every one accounted for.',
    )
    .version(packageVersion())
    .addOption(
      new Option('--color <when>', 'colours; auto obeys NO_COLOR')
        .choices(['auto', 'always', 'never'])
        .default('auto'),
    )
    .addHelpText('after', START)

  headrace
    .command('send')
    .description('send events to one to five URLs')
    .argument('[FILE]', 'NDJSON, one event a line; - is stdin', '-')
    .option('--to <url>', 'where to; give it one to five times', collect)
    .option('--header <header>', "'Name: value', sent to every URL; may be repeated", collect)
    .option('--secret-env <name>', `${SECRET}; requests are then signed`)
    .option('--timeout <duration>', 'for one attempt in total', '5s')
    .option('--retry-for <duration>', 'from the first attempt on; 0s for no retry', '4h')
    .option('--concurrency <n>', 'requests at a time to one URL', '16')
    .option('--max-waiting <n>', 'events in memory that have not ended; reading waits for them', '10000')
    .option(
      '--dead <file>',
      'append what is not delivered, to be sent again; only made if there is something',
    )
    .option('--grace <duration>', 'after Ctrl-C', '10s')
    .option('--egress <where>', 'network, or public for addresses of the internet only', 'network')
    .option('--output <form>', OUTPUT, 'lines')
    .addHelpText('after', SEND)
    .action((file: string, flags: SendFlags) => actions.send(file, flags))

  headrace
    .command('listen')
    .description('receive webhooks on 127.0.0.1, verify and print them, or misbehave')
    .argument('[PORT]', '0 for any that is free', '7412')
    .option('--secret-env <name>', `${SECRET}; signatures are then verified`)
    .option('--respond <code>', 'the status of the answers', '200')
    .option('--fail <rate>', 'answer 503 to this share of the requests, such as 0.3 or 30%', '0')
    .option('--delay <duration>', 'before each answer', '0s')
    .option('--out <file>', 'append the bodies that were answered 2xx, one a line')
    .option('--once <n>', 'end after so many requests')
    .option('--output <form>', OUTPUT, 'lines')
    .addHelpText('after', LISTEN)
    .action((port: string, flags: ListenFlags) => actions.listen(port, flags))

  headrace
    .command('sign')
    .description('print the signature of a body')
    .argument('[FILE]', '- is stdin', '-')
    .option('--secret-env <name>', SECRET)
    .addHelpText('after', SIGN)
    .action((file: string, flags: SignFlags) => actions.sign(file, flags))

  headrace
    .command('verify')
    .description('say whether a body has a signature, and why not')
    .argument('[FILE]', '- is stdin', '-')
    .option('--secret-env <name>', SECRET)
    .option('--signature <hex>', 'the value of the X-Signature header')
    .addHelpText('after', VERIFY)
    .action((file: string, flags: VerifyFlags) => actions.verify(file, flags))

  headrace
    .command('demo')
    .description('watch events being validated, signed, fanned out, retried and accounted for')
    .option('--output <form>', OUTPUT, 'lines')
    .addHelpText('after', DEMO)
    .action((flags: DemoFlags) => actions.demo(flags))

  return headrace
}
