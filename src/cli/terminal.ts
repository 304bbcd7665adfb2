/**
 * Where a command writes: data to stdout, all else to stderr. Whoever reads may go away at any time, and a progress bar may stand
 * on the last line of the screen; commands need not know.
 *
 * @module
 */

import type { Writable } from 'node:stream'
import type { WriteStream } from 'node:tty'
import { styleText } from 'node:util'
import type { Summary } from './summary.ts'

/** What a word can look like. */
export type Style = 'red' | 'green' | 'yellow' | 'cyan' | 'dim' | 'bold'

/** When there are colours. */
export type Colours = 'auto' | 'always' | 'never'

/** One of the two ways out. */
export interface Outlet {
  /** Somebody looks at it. */
  readonly isTTY: boolean
  /** Writes one line. After the reader has gone it does nothing. */
  readonly line: (text: string) => void
  readonly paint: (style: Style, text: string) => string
  /** Resolves when the reader has taken what was written; at once when it has gone. */
  readonly caughtUp: () => Promise<void>
  /** Aborted when nothing can be written any more. */
  readonly gone: AbortSignal
  /** Why not, as a code of the system; undefined if the reader has just closed the pipe, which is its right. */
  readonly failure: () => string | undefined
}

/** Both ways out. */
export interface Terminal {
  readonly out: Outlet
  readonly err: Outlet
  /** While something is drawn on the last line of the screen, `erase` is called before a line is written. */
  readonly overlay: (erase: (() => void) | undefined) => void
}

/** What of a process a terminal is made of. */
export interface Streams {
  readonly stdout: Writable & Partial<Pick<WriteStream, 'isTTY'>>
  readonly stderr: Writable & Partial<Pick<WriteStream, 'isTTY'>>
  readonly env: Readonly<Record<string, string | undefined>>
}

const isColoured = (colours: Colours, isTTY: boolean, env: Streams['env']): boolean => {
  if (colours !== 'auto') return colours === 'always'
  return isTTY && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb'
}

const codeOf = (error: object): string | undefined =>
  'code' in error && typeof error.code === 'string' ? error.code : undefined

/** The terminal of a process. */
export const terminalOf = ({ stdout, stderr, env }: Streams, colours: Colours): Terminal => {
  let erase: (() => void) | undefined

  const outlet = (stream: Streams['stdout']): Outlet => {
    const isTTY = stream.isTTY === true
    const coloured = isColoured(colours, isTTY, env)
    const gone = new AbortController()
    let failure: string | undefined
    stream.on('error', (error) => {
      const code = codeOf(error) ?? error.name
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
      caughtUp: () =>
        new Promise((resolve) => {
          const done = (): void => {
            stream.off('drain', done)
            gone.signal.removeEventListener('abort', done)
            resolve()
          }
          if (!stream.writableNeedDrain || gone.signal.aborted) {
            resolve()
            return
          }
          stream.on('drain', done)
          gone.signal.addEventListener('abort', done)
        }),
      gone: gone.signal,
      failure: () => failure,
    }
  }

  return {
    out: outlet(stdout),
    err: outlet(stderr),
    overlay: (next) => {
      erase = next
    },
  }
}

/** A person who stops a command: once to end in good order, twice to end at once. */
export interface Stop {
  readonly gently: AbortSignal
  readonly now: AbortSignal
  /** Listens no more: a signal then ends the process, as it does by default. */
  readonly release: () => void
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Ctrl-C, and what service managers send. */
export const stopSignals = (): Stop => {
  const gently = new AbortController()
  const now = new AbortController()
  const onSignal = (): void => {
    if (gently.signal.aborted) now.abort()
    gently.abort()
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  return {
    gently: gently.signal,
    now: now.signal,
    release: () => {
      for (const signal of SIGNALS) process.off(signal, onSignal)
    },
  }
}

/** All delivered; a signature that is authentic; a help text. */
export const FINE = 0
/** Not the user's doing; and for `verify` and `listen --once`: not authentic. */
export const FAULT = 1
/** Wrong flags, files or settings: nothing was sent. */
export const USAGE = 2
/** Some events were rejected or expired. */
export const DEAD = 3
/** Some lines were refused. */
export const REFUSED = 4
/** Something was accepted and none of it was delivered. */
export const NOTHING = 5
/** Stopped before everything was read and ended. */
export const STOPPED = 7

/** What the codes of `send` mean, for its help. */
export const MEANINGS = `Exit codes (frozen: scripts may depend on them):
  0  all delivered, or the input held no events
  1  something failed inside: the input, the output or --dead on the way
  2  wrong usage or settings: nothing was sent
  3  finished, but some events were rejected or expired
  4  finished, but some lines were refused
  5  events were accepted, and none of them was delivered
  7  stopped before all of the input was read and all events had ended
If several apply, the first of 1, 5, 7, 3, 4 is given.`

/** The code that a run ends with. `cut` says that reading was stopped before the end of the input. */
export const exitCodeOf = (summary: Summary, cut: boolean): number => {
  const { accepted, delivered, rejected, expired, dropped, abandoned, waiting, refused } = summary
  if (accepted > 0 && delivered === 0) return NOTHING
  if (cut || abandoned + waiting > 0) return STOPPED
  if (rejected + expired + dropped > 0) return DEAD
  return refused > 0 ? REFUSED : FINE
}
