import { execFile, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { onTestFinished } from 'vitest'
import { collected, type Surroundings } from '../cli/inProcess.ts'

export { linesOf, receiverOf, recordsOf, scratch, track } from '../cli/inProcess.ts'

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

export const start = (args: ReadonlyArray<string>, { env = {} }: Surroundings = {}) => {
  const child = spawn(process.execPath, [MAIN, ...args], { env: { PATH: process.env['PATH'] ?? '', ...env } })
  const out = collected(child.stdout)
  const err = collected(child.stderr)
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve)).then((code) => {
    out.over()
    err.over()
    return { code, stdout: out.text(), stderr: err.text() }
  })
  child.stdin.on('error', () => undefined)
  onTestFinished(() => void child.kill('SIGKILL'))
  return { child, ended, says: out.matches, complains: err.matches }
}

export const headrace = (args: ReadonlyArray<string>, surroundings: Surroundings = {}) => {
  const { child, ended } = start(args, surroundings)
  child.stdin.end(surroundings.input ?? '')
  return ended
}

/** Runs a script with flags of Node to its end; rejects if it fails. `file` is relative to this folder. */
export const runScript = (file: string, args: ReadonlyArray<string>, ...flags: ReadonlyArray<string>) =>
  promisify(execFile)(process.execPath, [...flags, fileURLToPath(new URL(file, import.meta.url)), ...args])
