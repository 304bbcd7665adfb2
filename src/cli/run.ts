import { CommanderError } from 'commander'
import type { Command } from 'commander'
import { messageOf } from '../core/awaitable.ts'
import { FAULT, FINE, USAGE, terminalOf } from './terminal.ts'
import { program } from './program.ts'
import type { Colours, Terminal } from './terminal.ts'

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
      const { sendCommand } = await import('./send.ts')
      code = await sendCommand(file, flags, terminal())
    },
    batch: async (file, flags) => {
      const { batchCommand } = await import('./batch.ts')
      code = await batchCommand(file, flags, terminal())
    },
    collect: async (port, flags) => {
      const { collectCommand } = await import('./collect.ts')
      code = await collectCommand(port, flags, terminal())
    },
    dead: async (action, id, flags) => {
      const { deadCommand } = await import('./dead.ts')
      code = await deadCommand(action, id, flags, terminal())
    },
    check: async (file, flags) => {
      const { checkCommand } = await import('./check.ts')
      code = checkCommand(file, flags, terminal())
    },
    listen: async (port, flags) => {
      const { listenCommand } = await import('./listen.ts')
      code = await listenCommand(port, flags, terminal())
    },
    sign: async (file, flags) => {
      const { signCommand } = await import('./sign.ts')
      code = await signCommand(file, flags, terminal())
    },
    verify: async (file, flags) => {
      const { verifyCommand } = await import('./sign.ts')
      code = await verifyCommand(file, flags, terminal())
    },
    demo: async (flags) => {
      const { demoCommand } = await import('./demo.ts')
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
