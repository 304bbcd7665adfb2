/** Runs the `$ headrace …` lines of a console fence, as a person would type them, and compares what they show. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { matches } from './expectations.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A line that was typed, and what is shown below it. */
export interface Command {
  readonly line: string
  readonly shown: string
}

const RUNNABLE = /^export \w+=|(^|[|;&] *|\w=\S+ )(npx )?headrace( |$)/

/** The commands of a fence that can be run here: ours, and `export`. A backslash at the end carries on. */
export const commandsOf = (text: string): ReadonlyArray<Command> =>
  text
    .replaceAll(/\\\n\s*>? ?/g, '')
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [line = '', ...shown] = part.split('\n')
      return { line: line.replace(/\s+#.*$/, ''), shown: shown.join('\n').trim() }
    })
    .filter(({ line }) => RUNNABLE.test(line))

const PROLOGUE = `
headrace() { node '${root}dist/cli/main.js' "$@"; }
npx() { "$@"; }
exec 2>&1
`

const END = '\u0004'

const scriptOf = (commands: ReadonlyArray<Command>): string =>
  PROLOGUE + commands.map(({ line }) => `${line}\nprintf '${END}%s${END}' "$?"\n`).join('')

const output = (script: string, cwd: string, limit: number): Promise<string> =>
  new Promise((resolve) => {
    // A session of its own, so that what it started ends with it.
    const shell = spawn('bash', ['-c', script], { cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    const timer = setTimeout(() => {
      if (shell.pid !== undefined) process.kill(-shell.pid, 'SIGKILL')
    }, limit)
    let text = ''
    shell.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()))
    shell.on('close', () => {
      clearTimeout(timer)
      resolve(text)
    })
  })

/**
 * What is wrong with a fence. A command that shows output must print it (`…` stands for anything); one that shows none must
 * succeed. They run in an empty folder in which `docs` is the repository's.
 */
export const checkCommands = async (text: string, limit: number): Promise<ReadonlyArray<string>> => {
  const commands = commandsOf(text)
  if (commands.length === 0) return []
  const cwd = mkdtempSync(`${tmpdir()}/headrace-console-`)
  try {
    symlinkSync(`${root}docs`, `${cwd}/docs`, 'dir')
    const parts = (await output(scriptOf(commands), cwd, limit)).split(END)
    return commands.flatMap(({ line, shown }, at) => {
      const [printed, code] = [parts[2 * at] ?? '', parts[2 * at + 1]]
      if (code === undefined) return [`'${line}' has not ended after ${limit} ms; it printed: ${printed}`]
      if (shown === '') return code === '0' ? [] : [`'${line}' ended with ${code}: ${printed}`]
      return matches(shown, printed) ? [] : [`'${line}' shows:\n${shown}\nbut printed:\n${printed}`]
    })
  } finally {
    rmSync(cwd, { recursive: true, force: true })
  }
}
