import { Command, Option } from 'commander'
import type { BatchFlags } from './batch.ts'
import type { CheckFlags } from './check.ts'
import type { CollectFlags } from './collect.ts'
import type { DeadAction, DeadFlags } from './dead.ts'
import type { DemoFlags } from './demo.ts'
import { MEANINGS } from './terminal.ts'
import * as Help from './help.ts'
import type { ListenFlags } from './listen.ts'
import { packageVersion } from './help.ts'
import type { SendFlags } from './send.ts'
import type { SignFlags, VerifyFlags } from './sign.ts'

/** What the commands do. Each answers its exit code. */
export interface Actions {
  readonly send: (file: string | undefined, flags: SendFlags) => Promise<void>
  readonly batch: (file: string, flags: BatchFlags) => Promise<void>
  readonly collect: (port: string, flags: CollectFlags) => Promise<void>
  readonly dead: (action: DeadAction, id: string | undefined, flags: DeadFlags) => Promise<void>
  readonly check: (file: string, flags: CheckFlags) => Promise<void>
  readonly listen: (port: string, flags: ListenFlags) => Promise<void>
  readonly sign: (file: string, flags: SignFlags) => Promise<void>
  readonly verify: (file: string, flags: VerifyFlags) => Promise<void>
  readonly demo: (flags: DemoFlags) => Promise<void>
}

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
    .addHelpText('after', Help.START)

  headrace
    .command('send')
    .description('send events to one to five URLs')
    .argument('[FILE]', 'NDJSON, one event a line; - is stdin, and so is nothing')
    .option('--to <url>', 'where to; give it one to five times', collect)
    .option('--header <header>', "'Name: value', sent to every URL; may be repeated", collect)
    .option('--secret-env <name>', `${SECRET}; requests are then signed`)
    .option('--timeout <duration>', 'for one attempt in total', '5s')
    .option('--retry-for <duration>', 'from the first attempt on; 0s for no retry', '4h')
    .option('--concurrency <n>', 'requests at a time to one URL', '16')
    .option(
      '--max-waiting <n>',
      'events that have not ended, in memory or in the outbox; reading waits for them',
      '10000',
    )
    .option(
      '--dead <file>',
      'append what is not delivered, to be sent again; only made if there is something',
    )
    .option('--outbox <folder>', 'where events wait on the disk, so that a killed run loses none')
    .option(
      '--from-start',
      'with --outbox: read FILE from its first line, whatever an earlier run took of it',
    )
    .option('--grace <duration>', 'after Ctrl-C', '10s')
    .option('--egress <where>', 'network, or public for addresses of the internet only', 'network')
    .option('--output <form>', OUTPUT, 'lines')
    .addHelpText('after', `${Help.SEND}\n\n${MEANINGS}`)
    .action((file: string | undefined, flags: SendFlags) => actions.send(file, flags))

  headrace
    .command('batch')
    .description('post events in batches to an endpoint of the tracking convention')
    .argument('[FILE]', 'NDJSON, one event a line; - is stdin', '-')
    .option('--write-key-env <name>', 'the variable of the environment that holds the write key')
    .option('--endpoint <url>', 'where to', 'http://127.0.0.1:7410/v1/batch')
    .option('--header <header>', "'Name: value', sent with every request; may be repeated", collect)
    .option('--flush-at <n>', 'events in a batch', '20')
    .option('--flush-after <duration>', 'from the last batch on', '5s')
    .option('--timeout <duration>', 'for one request in total', '10s')
    .option('--retry-for <duration>', 'from the first attempt on; 0s for no retry', '4h')
    .option('--concurrency <n>', 'requests at a time; with more than 1 no order is kept', '1')
    .option('--max-waiting <n>', 'events in memory that have not ended; reading waits for them', '10000')
    .option(
      '--dead <file>',
      'append what is not delivered, to be sent again; only made if there is something',
    )
    .option('--grace <duration>', 'after Ctrl-C', '10s')
    .option('--egress <where>', 'network, or public for addresses of the internet only', 'network')
    .option('--output <form>', OUTPUT, 'lines')
    .addHelpText('after', `${Help.BATCH}\n\n${MEANINGS}`)
    .action((file: string, flags: BatchFlags) => actions.batch(file, flags))

  headrace
    .command('collect')
    .description('receive events over HTTP and forward them to destinations')
    .argument('[PORT]', '0 for any that is free', '7410')
    .option('--config <file>', 'sources and destinations, as JSON')
    .option('--host <address>', 'the address to listen at', '127.0.0.1')
    .option('--grace <duration>', 'after Ctrl-C', '10s')
    .option('--egress <where>', 'network, or public for addresses of the internet only', 'network')
    .option('--output <form>', OUTPUT, 'lines')
    .addHelpText('after', Help.COLLECT)
    .action((port: string, flags: CollectFlags) => actions.collect(port, flags))

  headrace
    .command('check')
    .description("say what is wrong with a file for 'collect'")
    .argument('<FILE>', 'sources and destinations, as JSON')
    .option('--output <form>', OUTPUT, 'lines')
    .addHelpText('after', Help.CHECK)
    .action((file: string, flags: CheckFlags) => actions.check(file, flags))

  const dead = headrace
    .command('dead')
    .description('list, show, redrive or purge what died in an outbox on the disk')
    .addHelpText('after', Help.DEAD)
  const filtered = (command: Command): Command =>
    command
      .option('--outbox <folder>', 'the folder in which events wait')
      .option('--reason <word>', 'rejected, expired, or the reason of a cause, such as status or certificate')
      .option('--status <code>', 'a status that a receiver answered')
      .option('--kind <kind>', 'page, screen, identify, track, alias, group or delete')
      .option('--since <time>', 'died since then: a time, or how long ago, such as 2h')
      .option('--output <form>', OUTPUT, 'lines')
  filtered(dead.command('ls').description('list dead letters, the oldest first')).action((flags: DeadFlags) =>
    actions.dead('ls', undefined, flags),
  )
  filtered(
    dead.command('show').description('show one, with its event').argument('<ID>', 'as ls says'),
  ).action((id: string, flags: DeadFlags) => actions.dead('show', id, flags))
  filtered(dead.command('redrive').description('put dead letters back to wait, with a new deadline'))
    .option('--yes', 'do it; without, it is only said how many')
    .action((flags: DeadFlags) => actions.dead('redrive', undefined, flags))
  filtered(dead.command('purge').description('forget dead letters for good'))
    .option('--unreadable', 'not dead letters, but the records that could not be read')
    .option('--yes', 'do it; without, it is only said how many')
    .action((flags: DeadFlags) => actions.dead('purge', undefined, flags))

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
    .addHelpText('after', Help.LISTEN)
    .action((port: string, flags: ListenFlags) => actions.listen(port, flags))

  headrace
    .command('sign')
    .description('print the signature of a body')
    .argument('[FILE]', '- is stdin', '-')
    .option('--secret-env <name>', SECRET)
    .addHelpText('after', Help.SIGN)
    .action((file: string, flags: SignFlags) => actions.sign(file, flags))

  headrace
    .command('verify')
    .description('say whether a body has a signature, and why not')
    .argument('[FILE]', '- is stdin', '-')
    .option('--secret-env <name>', SECRET)
    .option('--signature <hex>', 'the value of the X-Signature header')
    .addHelpText('after', Help.VERIFY)
    .action((file: string, flags: VerifyFlags) => actions.verify(file, flags))

  headrace
    .command('demo')
    .description('watch events being validated, signed, fanned out, retried and accounted for')
    .option('--output <form>', OUTPUT, 'lines')
    .addHelpText('after', Help.DEMO)
    .action((flags: DemoFlags) => actions.demo(flags))

  return headrace
}
