/** The built command, started as a process. */
import { spawn } from 'node:child_process'
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

export { linesOf, receiverOf, recordsOf, scratch, track } from '../cli/inProcess.ts'

const MAIN = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** How a command ended. */
export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** What a command is started with. */
export interface Surroundings {
  readonly env?: Readonly<Record<string, string>>
  /** What it reads from stdin; without it stdin is empty. */
  readonly input?: string
  readonly cwd?: string
}

/** A command that runs. */
export interface Started {
  readonly child: ChildProcessWithoutNullStreams
  readonly ended: Promise<Ended>
  /** Resolves with all of stdout as soon as it matches. */
  readonly says: (pattern: RegExp) => Promise<string>
  /** The same of stderr. */
  readonly complains: (pattern: RegExp) => Promise<string>
}

const watch = (stream: NodeJS.ReadableStream, over: Promise<unknown>) => {
  let text = ''
  const waiting = new Set<() => void>()
  stream.on('data', (chunk: Buffer) => {
    text += chunk.toString()
    for (const look of waiting) look()
  })
  return {
    text: () => text,
    matches: (pattern: RegExp): Promise<string> =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (!pattern.test(text)) return
          waiting.delete(look)
          resolve(text)
        }
        waiting.add(look)
        look()
        void over.then(() => reject(new Error(`it ended without ${pattern}, after: ${text}`)))
      }),
  }
}

/** Starts the command, and leaves its stdin open. It ends with the test at the latest. */
export const start = (args: ReadonlyArray<string>, { env = {}, cwd }: Surroundings = {}): Started => {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { PATH: process.env['PATH'] ?? '', ...env },
    ...(cwd === undefined ? {} : { cwd }),
  })
  const closed = new Promise<number | null>((resolve) => child.on('close', resolve))
  const out = watch(child.stdout, closed)
  const err = watch(child.stderr, closed)
  child.stdin.on('error', () => undefined)
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  return {
    child,
    says: out.matches,
    complains: err.matches,
    ended: closed.then((code) => ({ code, stdout: out.text(), stderr: err.text() })),
  }
}

/** Runs the command to its end. */
export const headrace = (args: ReadonlyArray<string>, surroundings: Surroundings = {}): Promise<Ended> => {
  const { child, ended } = start(args, surroundings)
  child.stdin.end(surroundings.input ?? '')
  return ended
}
