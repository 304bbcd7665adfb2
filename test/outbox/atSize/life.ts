import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

/** What a process answers to a task. */
export interface Told<T> {
  readonly answer: T
  /** The most memory that it took so far, in bytes, mapped files included. */
  readonly peak: number
  /** The longest time that its event loop stood still, milliseconds. */
  readonly stall: number
}

/** A process at work. */
export interface Life {
  /** Has it do something, and waits for its answer: one task at a time. */
  readonly ask: <T = unknown>(task: {
    readonly do: string
    readonly [name: string]: unknown
  }) => Promise<Told<T>>
  /** Ends it on the spot. */
  readonly kill: () => Promise<void>
}

/** Starts a process of this folder. It ends with the test at the latest. */
export const live = (script: string, args: ReadonlyArray<string>): Life => {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), args, { execArgv: [] })
  const ended = once(child, 'exit')
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
  }
  onTestFinished(kill)
  return {
    ask: async <T>(task: { readonly do: string }) => {
      const heard = once(child, 'message')
      child.send(task)
      const [told] = (await Promise.race([heard, ended])) as [Told<T> | { readonly failed: string } | number]
      if (typeof told !== 'object' || 'failed' in told) throw new Error(`${task.do}: ${JSON.stringify(told)}`)
      return told
    },
    kill,
  }
}
