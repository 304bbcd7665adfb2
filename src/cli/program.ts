/** The command line: names, help, and how commands are run. A command is loaded when it is called. */
import { Command, CommanderError, Option } from 'commander'
import { nextTurn } from '../core/clock.ts'
import { messageOf } from '../core/failure.ts'
import { ConfigError, faultText, type Fault } from '../core/refusal.ts'
import { version } from '../core/package.ts'
import { OutboxError } from '../outbox/lmdb/contract.ts'
import { flags, type OptionsOf } from './flags.ts'
import { TEXTS } from './help.ts'
import type { Awaitable } from '../core/awaitable.ts'
import { UsageError, valuesOf, type Flag } from './options.ts'
import { FAULT, FINE, USAGE, plain, terminalOf, type Colours, type Host, type Terminal } from './terminal.ts'

/** Runs a command and gives the exit code. Its first argument, or that argument's default, comes first. */
type Action<O> = (given: O, to: Terminal, first: string, all: ReadonlyArray<string>) => Awaitable<number>

/** The form of an argument, its help text and its default. */
type Argument = readonly [form: string, help: string, preset?: string]
const FILE: Argument = ['[FILE]', 'NDJSON, one event a line; - is stdin', '-']
const BODY: Argument = ['[FILE]', '- is stdin', '-']
const CONFIG: Argument = ['<FILE>', 'sources and destinations, as JSON']
const HOOK: Argument = ['<URL>', 'of a receiver for tests: it is sent events, a delete among them']
const EVENT: Argument = ['<ID>', 'the message id of an event']
const ID: Argument = ['<ID>', 'its number in the first column of ls']
const SOME: Argument = ['[ID]', 'the number of one, in the first column of ls; or the flags say which']
const KIND: Argument = ['[KIND...]', 'page, screen, identify, track, alias, group, delete; all if omitted']
const WHAT: Argument = ['<WHAT>', 'events or openapi']
const portOr = (preset: string): Argument => ['[PORT]', '0 for any free port', preset]

/** Commands whose exit code is 1 when their output cannot be written. */
const REPORTING = /^(send|batch|collect|dead|outbox|sign|schema|gen)\b/

const inFlags = ({ path, message }: Fault, flagsOf: Readonly<Record<string, Flag<unknown>>>): string => {
  const [option = '', ...rest] = path.replace('tls.ca', 'tlsCa').split('.')
  const flag = flagsOf[option]?.option.long
  const text = message.replace(/, not a string$/, '')
  return faultText({ path: flag === undefined ? path : [flag, ...rest].join(' '), message: text })
}

/** All commands. `run` gets the name and the action of the command that was called. */
const program = (run: (name: string, action: (terminal: Terminal) => Promise<number>) => Promise<void>) => {
  const describe = (command: Command): Command => {
    const [description = '', ...help] = (TEXTS[command.name()] ?? '').split('\n\n')
    return command.description(description).addHelpText('after', ['', ...help].join('\n\n').slice(1))
  }
  const add = <Name extends keyof typeof flags>(
    parent: Command,
    name: Name,
    [form, help, preset]: Partial<Argument>,
    load: () => Promise<Action<OptionsOf<Name>>>,
  ): void => {
    const command = describe(parent.command(name))
    if (form !== undefined) command.argument(form, help, preset)
    for (const { option } of Object.values<Flag<unknown>>(flags[name])) command.addOption(option)
    command.action(() =>
      run(parent === headrace ? name : `${parent.name()} ${name}`, async (terminal) => {
        const options = valuesOf(flags[name], command.opts(), terminal.host.env)
        if (command.args.includes('')) throw new UsageError('an argument is empty: give it, or leave it out')
        const action = await load()
        try {
          return await action(options, terminal, command.args[0] ?? preset ?? '', command.args)
        } catch (error) {
          if (!(error instanceof ConfigError)) throw error
          throw new UsageError(...error.faults.map((fault) => inFlags(fault, flags[name])))
        }
      }),
    )
  }

  const when = new Option('--color <when>', 'colours; auto obeys NO_COLOR')
  const headrace = describe(new Command('headrace'))
    .version(version)
    .addOption(when.choices(['auto', 'always', 'never']).default('auto'))
  add(headrace, 'send', FILE, async () => (await import('./send.ts')).sendCommand)
  add(headrace, 'batch', FILE, async () => (await import('./send.ts')).batchCommand)
  add(headrace, 'collect', portOr('7410'), async () => (await import('./collect.ts')).collectCommand)
  add(headrace, 'check', CONFIG, async () => (await import('./config.ts')).checkCommand)
  add(headrace, 'check-receiver', HOOK, async () => (await import('./checkReceiver.ts')).checkReceiverCommand)
  const dead = describe(headrace.command('dead'))
  add(dead, 'ls', [], async () => (await import('./dead.ts')).listCommand)
  add(dead, 'show', ID, async () => (await import('./dead.ts')).showCommand)
  add(dead, 'redrive', SOME, async () => (await import('./dead.ts')).redriveCommand)
  add(dead, 'purge', SOME, async () => (await import('./dead.ts')).purgeCommand)
  const outbox = describe(headrace.command('outbox'))
  add(outbox, 'sql', [], async () => (await import('./server.ts')).sqlCommand)
  add(outbox, 'migrate', [], async () => (await import('./server.ts')).migrateCommand)
  add(headrace, 'listen', portOr('7412'), async () => (await import('./listen.ts')).listenCommand)
  add(headrace, 'sign', BODY, async () => (await import('./sign.ts')).signCommand)
  add(headrace, 'verify', BODY, async () => (await import('./sign.ts')).verifyCommand)
  add(headrace, 'demo', [], async () => (await import('./demo.ts')).demoCommand)
  add(headrace, 'top', [], async () => (await import('./inspect.ts')).topCommand)
  add(headrace, 'explain', EVENT, async () => (await import('./inspect.ts')).explainCommand)
  add(headrace, 'schema', WHAT, async () => (await import('./schema.ts')).schemaCommand)
  add(headrace, 'gen', KIND, async () => (await import('./gen.ts')).genCommand)
  return headrace
}

const configure = (command: Command, terminal: Terminal, name: string): void => {
  const { out, err } = terminal
  command.exitOverride().configureOutput({
    writeOut: (text) => out.line(text.trimEnd()),
    writeErr: (text) => err.line(text.trimEnd()),
    outputError: (text) => {
      // The value behind an unknown flag is left out: `--secret=…` and `-s…` may hold one.
      const long = text.trim().replace(/'(-[^'=]*)=[^]*'/, "'$1'")
      const safe = long.replace(/(unknown option '-[^-'])[^]*'/, "$1'")
      const meant = command.options.find((each) => safe.endsWith(`'${String(each.long).slice(0, -4)}'`))
      const hint = meant === undefined ? '' : ` (Did you mean ${meant.flags}?)`
      const fault = safe.replaceAll(/^error: |\.$/g, '').replaceAll(/\s+/g, ' ')
      err.line(`${name}: ${fault}${hint}; see ${name} --help`)
    },
  })
  for (const each of command.commands) configure(each, terminal, `${name} ${each.name()}`)
}

/** Commander answers `foo --help` with the overview; without the rest it says that `foo` is no command. */
const knownCommand = ({ commands }: Command, given: ReadonlyArray<string>): ReadonlyArray<string> => {
  // Commander would take the next argument for its port.
  const argv = given.map((each) => (each === '--inspect' ? '--inspect=0' : each))
  const name = argv[0] === 'help' ? argv[1] : argv[0]
  if (name === '-v' || name === 'version') return ['--version']
  const isCommand = name === undefined || name.startsWith('-') || name === 'help'
  return isCommand || commands.some((each) => each.name() === name) ? argv : [name]
}

/** Runs a command line. Resolves with the exit code. */
export const runCommand = async (argv: ReadonlyArray<string>, host: Host = process): Promise<number> => {
  let code: number = FINE
  const uncoloured = terminalOf(host, 'never')
  const command = program(async (name, action) => {
    const terminal = terminalOf(host, command.opts<{ readonly color?: Colours }>().color ?? 'auto')
    const say = (text: string): void => uncoloured.err.line(`headrace ${name}: ${plain(text, 10_000)}`)
    const { out } = terminal
    out.gone.addEventListener('abort', () => {
      if (out.hasFailed()) say(`the output could not be written: ${String(out.gone.reason)}`)
    })
    try {
      code = await action(terminal)
      // A failed write is told a turn later.
      await new Promise<void>(nextTurn)
      if (out.hasFailed() && REPORTING.test(name)) code = FAULT
    } catch (error) {
      if (error instanceof UsageError) error.sentences.forEach(say)
      else if (error instanceof OutboxError)
        say(name === 'collect' ? error.message : `--outbox: ${error.message}`)
      else throw error
      code = USAGE
    }
  })
  configure(command, uncoloured, 'headrace')
  try {
    const port = argv.find((each, at) => argv[at - 1] === '--inspect' && /^\d+$/.test(each))
    if (port !== undefined) command.error(`the port of --inspect stands behind =: write --inspect=${port}`)
    await command.parseAsync(knownCommand(command, argv), { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? FINE : USAGE
    uncoloured.err.line(`headrace: internal error: ${messageOf(error)}; please report it`)
    return FAULT
  }
}
