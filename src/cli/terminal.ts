/** The process as commands see it: output, input, environment, signals and exit codes. Tests give their own. */
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { styleText } from 'node:util'
import type { Environment } from './options.ts'

export type Style = 'red' | 'green' | 'yellow' | 'bold'

/** When there are colours. */
export type Colours = 'auto' | 'always' | 'never'

type Screen = Writable & { readonly isTTY?: boolean; readonly columns?: number }
type Signal = 'SIGINT' | 'SIGTERM'

/** What commands need of a process; `process` itself is one. */
export interface Host {
  readonly stdin: Readable & { readonly isTTY?: boolean; readonly fd?: number }
  readonly stdout: Screen
  readonly stderr: Screen
  readonly env: Environment
  readonly on: (signal: Signal, listener: () => void) => unknown
  readonly off: (signal: Signal, listener: () => void) => unknown
  readonly exit: (code: number) => unknown
}

/** stdout or stderr. */
export interface Outlet {
  readonly isTTY: boolean
  /** Writes one line; nothing when the reader has gone. */
  readonly line: (text: string) => void
  readonly paint: (style: Style, text: string) => string
  /** Resolves when the reader has taken what was written, or has gone. */
  readonly caughtUp: () => Promise<void>
  /** Aborted when nothing can be written any more. */
  readonly gone: AbortSignal
  /** The system's code for a failed write; undefined if the reader has just closed the pipe. */
  readonly failure: () => string | undefined
}

export interface Terminal {
  readonly host: Host
  readonly out: Outlet
  readonly err: Outlet
  /** While a progress bar is on the last line of the screen, `erase` is called before a line is written. */
  readonly overlay: (erase: (() => void) | undefined) => void
}

export const terminalOf = (host: Host, colours: Colours): Terminal => {
  let erase: (() => void) | undefined

  const outletOf = (stream: Screen): Outlet => {
    const isTTY = stream.isTTY === true
    const isAuto = isTTY && (host.env['NO_COLOR'] ?? '') === '' && host.env['TERM'] !== 'dumb'
    const coloured = colours === 'auto' ? isAuto : colours === 'always'
    const gone = new AbortController()
    let failure: string | undefined
    stream.on('error', (error: NodeJS.ErrnoException) => {
      const code = error.code ?? error.name
      if (code !== 'EPIPE') failure ??= code
      gone.abort()
    })
    return {
      isTTY,
      line: (text) => {
        if (gone.signal.aborted) return
        if (isTTY) erase?.()
        stream.write(`${text}\n`)
      },
      paint: (style, text) => (coloured ? styleText(style, text, { validateStream: false }) : text),
      caughtUp: async () => {
        if (stream.writableNeedDrain && !gone.signal.aborted)
          await once(stream, 'drain', { signal: gone.signal }).catch(() => undefined)
      },
      gone: gone.signal,
      failure: () => failure,
    }
  }

  return {
    host,
    out: outletOf(host.stdout),
    err: outletOf(host.stderr),
    overlay: (next) => {
      erase = next
    },
  }
}

/** Resolves when the signal is aborted. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve())
  })

/** Ctrl-C or SIGTERM: the first ends a command in good order, the second at once. */
export interface Stop {
  readonly gently: AbortSignal
  readonly now: AbortSignal
  /** Stops listening: a signal then ends the process, as it does by default. */
  readonly release: () => void
}

export const STOPPING = 'headrace: Stopping: waiting for requests in flight. Press Ctrl-C again to quit now.'

export const stopSignals = (host: Host): Stop => {
  const gently = new AbortController()
  const now = new AbortController()
  const signals = ['SIGINT', 'SIGTERM'] as const
  const onSignal = (): void => (gently.signal.aborted ? now : gently).abort()
  for (const signal of signals) host.on(signal, onSignal)
  return {
    gently: gently.signal,
    now: now.signal,
    release: () => {
      for (const signal of signals) host.off(signal, onSignal)
    },
  }
}

// Exit codes, as the help of each command explains them.
export const FINE = 0
export const FAULT = 1
export const USAGE = 2
export const DEAD = 3
export const REFUSED = 4
export const NOTHING = 5
export const STOPPED = 7
