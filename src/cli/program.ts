/** The command line: names, help, and how commands are run. A command is loaded when it is called. */
import { Command, CommanderError, Option } from 'commander'
import { messageOf } from '../core/awaitable.ts'
import * as Flags from './flags.ts'
import { optionsOf } from './flags.ts'
import type { FlagsOf } from './flags.ts'
import * as Help from './help.ts'
import { UsageError, orUsage } from './options.ts'
import { FAULT, FINE, USAGE, terminalOf } from './terminal.ts'
import type { Colours, Host, Terminal } from './terminal.ts'

/** Runs a command. `name` stands in its error messages. */
type Runner = (name: string, command: (terminal: Terminal) => Promise<number> | number) => Promise<void>

const add =
  (run: Runner) =>
  <O extends object>(
    parent: Command,
    [name, argument, preset]: readonly [name: string, argument?: readonly [string, string], preset?: string],
    description: string,
    help: string,
    flags: FlagsOf<O>,
    action: (argument: string | undefined, options: O, terminal: Terminal) => Promise<number>,
  ): void => {
    const command = parent.command(name).description(description)
    if (argument !== undefined) command.argument(argument[0], argument[1], preset)
    for (const { option } of Object.values<Flags.Flag<unknown>>(flags)) command.addOption(option)
    if (help !== '') command.addHelpText('after', help)
    const label = parent.parent === null ? name : `${parent.name()} ${name}`
    command.action(() =>
      run(label, (terminal) =>
        // All flags have text values, and those that may be repeated arrays of texts.
        action(
          command.args[0] ?? preset,
          orUsage(optionsOf(flags, command.opts(), terminal.host.env)),
          terminal,
        ),
      ),
    )
  }

const FILE = ['[FILE]', 'NDJSON, one event a line; reads stdin if FILE is - or omitted'] as const
const BODY = ['[FILE]', 'reads stdin if FILE is - or omitted'] as const
const PORT = ['[PORT]', '0 for any free port'] as const

/** All commands with their flags and help. */
const program = (run: Runner): Command => {
  const headrace = new Command('headrace')
    .description(
      'Delivers user-data events as signed webhooks: validated, fanned out, retried for hours, every one accounted for.',
    )
    .version(Help.packageVersion())
    .addOption(
      new Option('--color <when>', 'colours; auto obeys NO_COLOR')
        .choices(['auto', 'always', 'never'])
        .default('auto'),
    )
    .addHelpText('after', Help.START)
  const command = add(run)

  command(
    headrace,
    ['send', FILE],
    'send events to one to five URLs',
    `${Help.SEND}\n\n${Help.EXIT_CODES}`,
    Flags.sendFlags,
    async (...args) => (await import('./send.ts')).sendCommand(...args),
  )
  command(
    headrace,
    ['batch', FILE],
    'post events in batches to an endpoint of the tracking convention',
    `${Help.BATCH}\n\n${Help.EXIT_CODES}`,
    Flags.batchFlags,
    async (...args) => (await import('./batch.ts')).batchCommand(...args),
  )
  command(
    headrace,
    ['collect', PORT, '7410'],
    'receive events over HTTP and forward them to destinations',
    Help.COLLECT,
    Flags.collectFlags,
    async (...args) => (await import('./collect.ts')).collectCommand(...args),
  )
  command(
    headrace,
    ['check', ['<FILE>', 'sources and destinations, as JSON']],
    "say what is wrong with a file for 'collect'",
    Help.CHECK,
    Flags.outputFlags,
    async (...args) => (await import('./check.ts')).checkCommand(...args),
  )

  const dead = headrace
    .command('dead')
    .description('list, show, redrive or purge the dead letters of an outbox on the disk')
    .addHelpText('after', Help.DEAD)
  command(
    dead,
    ['ls'],
    'list dead letters, the oldest first',
    '',
    Flags.deadFlags,
    async (_, options, terminal) => (await import('./dead.ts')).listCommand(options, terminal),
  )
  command(
    dead,
    ['show', ['<ID>', 'as ls prints it']],
    'show one, with its event',
    '',
    Flags.deadFlags,
    async (...args) => (await import('./dead.ts')).showCommand(...args),
  )
  command(
    dead,
    ['redrive'],
    'put dead letters back to wait, with a new deadline',
    '',
    Flags.redriveFlags,
    async (_, options, terminal) => (await import('./dead.ts')).changeCommand('redrive', options, terminal),
  )
  command(dead, ['purge'], 'delete dead letters', '', Flags.purgeFlags, async (_, options, terminal) =>
    (await import('./dead.ts')).changeCommand('purge', options, terminal),
  )

  command(
    headrace,
    ['listen', PORT, '7412'],
    'receive webhooks on 127.0.0.1, verify and print them, or fail on purpose',
    Help.LISTEN,
    Flags.listenFlags,
    async (...args) => (await import('./listen.ts')).listenCommand(...args),
  )
  command(
    headrace,
    ['sign', BODY],
    'print the signature of a body',
    Help.SIGN,
    Flags.signFlags,
    async (...args) => (await import('./sign.ts')).signCommand(...args),
  )
  command(
    headrace,
    ['verify', BODY],
    'say whether a body has a signature, and why not',
    Help.VERIFY,
    Flags.verifyFlags,
    async (...args) => (await import('./sign.ts')).verifyCommand(...args),
  )
  command(
    headrace,
    ['demo'],
    'watch events being validated, signed, fanned out, retried and accounted for',
    Help.DEMO,
    Flags.outputFlags,
    async (_, options, terminal) => (await import('./demo.ts')).demoCommand(options, terminal),
  )
  return headrace
}

/** Commander's error as one sentence. The value behind an unknown flag is left out: `--secret=…` may hold a secret. */
const sentenceOf = (text: string): string =>
  text
    .trim()
    .replaceAll(/^error: |\.$/g, '')
    .replaceAll(/\s+/g, ' ')
    .replace(/'(-[^'=]*)=[^]*?'/, "'$1'")

/** Sends all output of commander to the terminal. */
const configure = (command: Command, terminal: Terminal, name: string): void => {
  const { out, err } = terminal
  command.exitOverride().configureOutput({
    writeOut: (text) => out.line(text.trimEnd()),
    writeErr: (text) => err.line(text.trimEnd()),
    outputError: (text) => err.line(`${name}: ${sentenceOf(text)}; see ${name} --help`),
  })
  for (const each of command.commands) configure(each, terminal, `${name} ${each.name()}`)
}

/** Runs a command line. Resolves with the exit code. */
export const run = async (argv: ReadonlyArray<string>, host: Host = process): Promise<number> => {
  let code = FINE
  const plain = terminalOf(host, 'never')
  const command = program(async (name, action) => {
    const { color = 'auto' } = command.opts<{ readonly color?: Colours }>()
    try {
      code = await action(terminalOf(host, color))
    } catch (error) {
      if (!(error instanceof UsageError)) throw error
      for (const sentence of error.sentences) plain.err.line(`headrace ${name}: ${sentence}`)
      code = USAGE
    }
  })
  configure(command, plain, 'headrace')
  try {
    await command.parseAsync(argv, { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? FINE : USAGE
    plain.err.line(`headrace: internal error: ${messageOf(error)}; please report it`)
    return FAULT
  }
}
