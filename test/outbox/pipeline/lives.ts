/** A process that is started, listened to, and killed. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import type { Kill } from './killPlan.ts'
import type { CountingReceiver } from './receiver.ts'

/** A line of what a process tells, as NDJSON. */
export type Said = Readonly<Record<string, unknown>>

/** How a process ended. */
export interface End {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stderr: string
}

/** A process under test. */
export interface Life {
  readonly child: ChildProcessWithoutNullStreams
  /** It has ended, and all that it told was heard. */
  readonly over: Promise<End>
}

/** Starts Node with these arguments; `hear` gets every line of its stdout. It ends with the test at the latest. */
export const startLife = (args: ReadonlyArray<string>, hear: (said: Said) => void): Life => {
  const child = spawn(process.execPath, args, { env: { PATH: process.env['PATH'] ?? '', WEB_KEY: 'wk' } })
  onTestFinished(() => {
    child.kill('SIGKILL')
  })
  let stderr = ''
  // What it was to read is lost with it.
  child.stdin.on('error', () => undefined)
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  const lines = createInterface({ input: child.stdout })
  lines.on('line', (line) => {
    // A line that was cut by the kill is none. What is whole is an object of ours.
    if (line.endsWith('}')) hear(JSON.parse(line) as Said)
  })
  const over = Promise.all([once(child, 'close'), once(lines, 'close')]).then(([[code, signal]]): End => ({
    code,
    signal,
    stderr,
  }))
  return { child, over }
}

const passed = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

const moment = async (kill: Kill, { child }: Life, receiver: CountingReceiver): Promise<void> => {
  if (kill.when === 'started') return passed(kill.after)
  await receiver.delivered(kill.count)
  if (kill.when === 'delivered') return
  child.kill('SIGINT')
  await passed(kill.after)
}

/** Lets a process live until its moment has come, and kills it. Throws if it has ended by itself. */
export const liveUntil = async (kill: Kill, life: Life, receiver: CountingReceiver): Promise<void> => {
  await Promise.race([moment(kill, life, receiver), life.over])
  life.child.kill('SIGKILL')
  const { signal, code, stderr } = await life.over
  // Asked to end before it listens to that, it ends as any process.
  if (signal !== 'SIGKILL' && !(signal === 'SIGINT' && kill.when === 'closing'))
    throw new Error(
      `it ended before it was killed (${JSON.stringify(kill)}), with ${String(code)}: ${stderr}`,
    )
  await receiver.quiet()
}

/** Whether `work` is done in time; if not, how far it was is said. Generous: no verdict hangs on how fast a machine is. */
export const inTime = async <T>(millis: number, work: Promise<T>, howFar: () => string): Promise<T> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`not done after ${String(millis)} ms; ${howFar()}`))
    }, millis)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
