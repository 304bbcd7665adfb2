/** The built command, started as a process. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { collected } from '../cli/inProcess.ts'

export { linesOf, receiverOf, recordsOf, scratch, track } from '../cli/inProcess.ts'

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** What a command is started with. */
export interface Surroundings {
  readonly env?: Readonly<Record<string, string>>
  /** What it reads from stdin; without it stdin is empty. */
  readonly input?: string
  readonly cwd?: string
}

/** Starts the command, and leaves its stdin open. It ends with the test at the latest. */
export const start = (args: ReadonlyArray<string>, { env = {}, cwd }: Surroundings = {}) => {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    ...(cwd === undefined ? {} : { cwd }),
  })
  const out = collected(child.stdout)
  const err = collected(child.stderr)
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve)).then((code) => {
    out.over()
    err.over()
    return { code, stdout: out.text(), stderr: err.text() }
  })
  child.stdin.on('error', () => undefined)
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  return { child, ended, says: out.matches, complains: err.matches }
}

/** Runs the command to its end. */
export const headrace = (args: ReadonlyArray<string>, surroundings: Surroundings = {}) => {
  const { child, ended } = start(args, surroundings)
  child.stdin.end(surroundings.input ?? '')
  return ended
}
