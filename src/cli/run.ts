import { CommanderError } from 'commander'
import type { Command } from 'commander'
import { messageOf } from '../internal/messageOf.ts'
import { FAULT, FINE, USAGE } from './ExitCode.ts'
import { program } from './program.ts'
import { terminalOf } from './Terminal.ts'
import type { Colours, Terminal } from './Terminal.ts'

/** What somebody typed behind an unknown flag may be a secret: `--secret=…`. */
const withoutValue = (message: string): string => message.replace(/'(-[^'=]*)=[^]*?'/, "'$1'")

/** All of what commander says goes through the terminal, and a sentence of ours stands for its errors. */
const speaking = (command: Command, { out, err }: Terminal, name: string): void => {
  command.exitOverride().configureOutput({
    writeOut: (text) => {
      out.line(text.trimEnd())
    },
    writeErr: (text) => {
      err.line(text.trimEnd())
    },
    outputError: (text) => {
      err.line(
        `${name}: ${withoutValue(
          text
            .trim()
            .replaceAll(/^error: |\.$/g, '')
            .replaceAll(/\s+/g, ' '),
        )}; see ${name} --help`,
      )
    },
  })
  for (const each of command.commands)
    speaking(each, { out, err, overlay: () => undefined }, `${name} ${each.name()}`)
}

/** Runs a command line and answers the exit code. Commands are loaded when they are asked for. */
export const run = async (argv: ReadonlyArray<string>): Promise<number> => {
  let code = FINE
  const terminal = (): Terminal => {
    const { color = 'auto' } = command.opts<{ readonly color?: Colours }>()
    return terminalOf(process, color)
  }
  const command: Command = program({
    send: async (file, flags) => {
      const { sendCommand } = await import('./send/sendCommand.ts')
      code = await sendCommand(file, flags, terminal())
    },
    batch: async (file, flags) => {
      const { batchCommand } = await import('./batch/batchCommand.ts')
      code = await batchCommand(file, flags, terminal())
    },
    collect: async (port, flags) => {
      const { collectCommand } = await import('./collect/collectCommand.ts')
      code = await collectCommand(port, flags, terminal())
    },
    dead: async (action, id, flags) => {
      const { deadCommand } = await import('./dead/deadCommand.ts')
      code = await deadCommand(action, id, flags, terminal())
    },
    check: async (file, flags) => {
      const { checkCommand } = await import('./check/checkCommand.ts')
      code = checkCommand(file, flags, terminal())
    },
    listen: async (port, flags) => {
      const { listenCommand } = await import('./listen/listenCommand.ts')
      code = await listenCommand(port, flags, terminal())
    },
    sign: async (file, flags) => {
      const { signCommand } = await import('./sign/signCommand.ts')
      code = await signCommand(file, flags, terminal())
    },
    verify: async (file, flags) => {
      const { verifyCommand } = await import('./sign/verifyCommand.ts')
      code = await verifyCommand(file, flags, terminal())
    },
    demo: async (flags) => {
      const { demoCommand } = await import('./demo/demoCommand.ts')
      code = await demoCommand(flags, terminal())
    },
  })
  const plain = terminalOf(process, 'never')
  speaking(command, plain, 'headrace')
  try {
    await command.parseAsync(argv, { from: 'user' })
    return code
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? FINE : USAGE
    plain.err.line(`headrace: something went wrong inside: ${messageOf(error)}; please report it`)
    return FAULT
  }
}
