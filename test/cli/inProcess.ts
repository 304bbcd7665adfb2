/** The command within this process: `run()` over streams, an environment and signals of the test. */
import { EventEmitter } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import { PassThrough, type Readable, Writable } from 'node:stream'
import { onTestFinished } from 'vitest'
import { runCommand } from '../../src/cli/program.ts'
import type { Host, SIGNALS } from '../../src/cli/terminal.ts'
import type { Receiver } from '../../src/testing/loopbackReceiver.ts'
import { newFolder as scratch } from '../support/folder.ts'
import { listen, receiverOf } from '../support/http.ts'

export { newFolder as scratch } from '../support/folder.ts'
export { receiverOf } from '../support/http.ts'

export interface Surroundings {
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
  readonly isTTY?: boolean
  readonly stdout?: Writable
}

export const collected = <S extends Readable>(stream: S) => {
  const looks = new Set<() => void>()
  let text = ''
  let isOver = false
  const look = (): void => looks.forEach((each) => each())
  stream.on('data', (chunk: Buffer) => {
    text += chunk.toString()
    look()
  })
  return {
    stream,
    text: () => text,
    over: () => {
      isOver = true
      look()
    },
    matches: (pattern: RegExp): Promise<string> =>
      new Promise((resolve, reject) => {
        const each = (): void => {
          if (pattern.test(text)) resolve(text)
          else if (isOver) reject(new Error(`it ended without ${pattern}, after: ${text}`))
        }
        looks.add(each)
        each()
      }),
  }
}

export const hostOf = (given: Partial<Host> = {}): Host => ({
  stdin: new PassThrough(),
  stdout: new PassThrough(),
  stderr: new PassThrough(),
  env: {},
  on: () => undefined,
  exit: () => undefined,
  ...given,
})

/** A process whose output can be read as text, on a screen or not. */
export const screenOf = (isTTY: boolean, env: Record<string, string> = {}) => {
  const stdout = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY })
  const stderr = Object.assign(new PassThrough({ encoding: 'utf8' }), { isTTY })
  return { ...hostOf({ env }), stdout, stderr }
}

/** Starts the command and leaves its stdin open. It is told to quit when the test ends. */
export const start = (args: ReadonlyArray<string>, given: Surroundings = {}) => {
  const { env = {}, isTTY = false, stdout } = given
  const signals = new EventEmitter()
  const exits: number[] = []
  const stdin = Object.assign(new PassThrough(), { isTTY })
  const out = collected(new PassThrough())
  const err = collected(new PassThrough())
  const host = hostOf({
    ...{ stdin, stdout: stdout ?? out.stream, stderr: err.stream, env },
    on: (signal, listener) => signals.on(signal, listener),
    exit: (code) => exits.push(code),
  })
  stdin.on('error', () => undefined)
  const signal = (name: (typeof SIGNALS)[number] = 'SIGINT') => signals.emit(name)
  const ended = runCommand(args, host).then(async (code) => {
    // The last lines are read a turn later.
    await new Promise((resolve) => setImmediate(resolve))
    out.over()
    err.over()
    return { code, stdout: out.text(), stderr: err.text() }
  })
  onTestFinished(async () => {
    signal()
    signal()
    await ended
  })
  return { stdin, stdout: out.stream, signal, exits, ended, says: out.matches, complains: err.matches }
}

export const headrace = (args: ReadonlyArray<string>, surroundings: Surroundings = {}) => {
  const { stdin, ended } = start(args, surroundings)
  stdin.end(surroundings.input ?? '')
  return ended
}

export const failing = (code: string): Writable =>
  new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error(code), { code })) })

export const picky = (): Promise<Receiver> =>
  receiverOf(({ body }) => ({ do: 'status', code: body.includes('"event":"Bad"') ? 400 : 200 }))

export const served = async (listener: RequestListener): Promise<string> => {
  const { port, close } = await listen(createServer(listener))
  onTestFinished(close)
  return `http://127.0.0.1:${port}/`
}

export const configFile = (config: unknown): string => {
  const file = `${scratch()}/collector.json`
  writeFileSync(file, typeof config === 'string' ? config : JSON.stringify(config))
  return file
}

export const steady = (text: string): string =>
  text
    .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:PORT')
    .replaceAll(/again in \S+( \d+s)?/g, 'again in TIME')
    .replaceAll(/"ms":\d+/g, '"ms":0')

export const linesOf = (text: string): ReadonlyArray<string> => text.split('\n').slice(0, -1)

export const recordsOf = (text: string): ReadonlyArray<Record<string, unknown>> =>
  linesOf(text).map((line) => JSON.parse(line) as Record<string, unknown>)

export const track = (event: string, more: object = {}): string =>
  `${JSON.stringify({ type: 'track', userId: 'u1', event, messageId: event, ...more })}\n`
