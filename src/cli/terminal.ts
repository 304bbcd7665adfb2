/** The process as commands see it: output, input, environment, signals and exit codes. Tests replace it. */
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { styleText } from 'node:util'
import { inTime, systemClock } from '../core/clock.ts'
import type { Environment } from './options.ts'

export type Style = 'red' | 'green' | 'yellow'
export type Styles = Readonly<Record<string, Style>>
export type Paint = (style: Style, text: string) => string

export type Colours = 'auto' | 'always' | 'never'

type ScreenState = Writable & { readonly isTTY?: boolean; readonly columns?: number; readonly rows?: number }

/** Ctrl-C, a stop by the system, and a closed terminal; they do the same. */
export const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** The parts of a process that commands need; `process` itself is one. */
export interface Host {
  readonly stdin: Readable & {
    readonly isTTY?: boolean
    readonly fd?: number
    readonly setRawMode?: (isRaw: boolean) => unknown
  }
  readonly stdout: ScreenState
  readonly stderr: ScreenState
  readonly env: Environment
  readonly on: (signal: (typeof SIGNALS)[number], listener: () => void) => unknown
  readonly exit: (code: number) => unknown
}

const ESCAPE = '\u001b'
/** Controls, direction marks and zero-width characters can steer a terminal. Line feeds and colours stay. */
const UNSAFE = new RegExp(`(?!\\n|${ESCAPE}\\[\\d+m)[\\p{Cc}\\p{Cf}\\p{DI}\\p{Zl}\\p{Zp}]`, 'gu')
/** Most output is plain ASCII, which this finds in a fortieth of the time. */
const ASCII = /^[ -~\n]*$/

const withoutUnsafe = (text: string, replacement: (character: string) => string): string =>
  ASCII.test(text) ? text : text.replaceAll(UNSAFE, replacement)

/** Text of events, endpoints and stores, for one line on a terminal. */
export const plain = (text: string, maxLength = 80): string => {
  const shown = text.length > maxLength ? `${text.slice(0, maxLength)}…` : text
  return withoutUnsafe(shown.replaceAll('\n', '?').replaceAll(ESCAPE, '?'), () => '?')
}

/** JSON for a terminal: the same characters as escapes. */
export const escapedJson = (value: unknown, indent?: number): string =>
  withoutUnsafe(JSON.stringify(value, null, indent), (character) =>
    // One escape for each half of a surrogate pair.
    character.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )

const COLOUR = new RegExp(`${ESCAPE}\\[\\d+m`, 'g')

export type Terminal = ReturnType<typeof terminalOf>

export const terminalOf = (host: Host, colours: Colours) => {
  const { stdout, stderr, env } = host
  /** Some screens say that they have no columns and rows. */
  const sizeOf = (given = 0, preset: number): number => (given > 0 ? given : preset)
  const columns = (): number => sizeOf(stderr.columns, 80)
  let drawn = ''
  /** Removes the drawn lines. A screen that became narrower has wrapped them. */
  const cleared = (): string => {
    const rowsOf = (line: string) => Math.max(1, Math.ceil(line.replaceAll(COLOUR, '').length / columns()))
    const rows = drawn.split('\n').reduce((sum, line) => sum + rowsOf(line), 0)
    return rows === 1 ? `\r${ESCAPE}[K` : `\r${ESCAPE}[${String(rows - 1)}A${ESCAPE}[J`
  }
  const draw = (text: string): void => {
    if (text !== drawn && !err.gone.aborted) stderr.write(cleared() + text)
    drawn = text
  }

  const outletOf = (stream: ScreenState) => {
    const isTTY = stream.isTTY === true && env['TERM'] !== 'dumb'
    const coloured = colours === 'auto' ? isTTY && (env['NO_COLOR'] ?? '') === '' : colours === 'always'
    const failed = new AbortController()
    const gone: AbortSignal = failed.signal
    stream.on('error', ({ code, name }: NodeJS.ErrnoException) => failed.abort(code ?? name))
    return {
      isTTY,
      /** Writes one line; nothing when the reader has gone. */
      line: (text: string): void => {
        if (gone.aborted) return
        const below = isTTY ? drawn : ''
        if (below !== '') draw('')
        // Whatever a command has not neutralised.
        stream.write(`${withoutUnsafe(text, () => '?')}\n`)
        if (below !== '') draw(below)
      },
      paint: (style: Style, text: string): string =>
        coloured ? styleText(style, text, { validateStream: false }) : text,
      /** Resolves when the reader has taken all output, or has gone. */
      caughtUp: async (): Promise<void> => {
        if (stream.writableNeedDrain && !gone.aborted)
          await once(stream, 'drain', { signal: gone }).catch(() => undefined)
      },
      /** Aborted when nothing can be written any more. The reason is the system's code. */
      gone,
      /** Nothing can be written any more, and not just because the reader has closed the pipe. */
      hasFailed: (): boolean => gone.aborted && gone.reason !== 'EPIPE',
    }
  }

  const err = outletOf(stderr)
  return {
    host,
    out: outletOf(stdout),
    err,
    /** Columns that a drawn line may have: a full line would wrap. */
    width: (): number => columns() - 1,
    /** Shows a text below the last line of a screen, in place of the one before. An empty one removes it. */
    draw: (text: string): void => {
      const lines = text.split('\n').slice(0, sizeOf(stderr.rows, 24) - 1)
      draw(lines.join('\n'))
    },
  }
}

export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve())
  })

/** `onSignal` does what a signal does. */
export type Stops = Record<'gently' | 'now', AbortSignal> & { readonly onSignal: () => void }

/** The first signal ends a command in order, the second at once. Before, `onHangUp` may take SIGHUP. */
export const stopSignals = (host: Host, onHangUp?: () => void): Stops => {
  const gently = new AbortController()
  const now = new AbortController()
  const onSignal = (): void => (gently.signal.aborted ? now : gently).abort()
  const isTaken = (): boolean => onHangUp !== undefined && !gently.signal.aborted
  for (const signal of SIGNALS)
    host.on(signal, () => (signal === 'SIGHUP' && isTaken() ? onHangUp?.() : onSignal()))
  return { gently: gently.signal, now: now.signal, onSignal }
}

/** Ends the process once its output was read, or after a second: requests in flight would keep it alive. */
export const quit = async ({ host }: Terminal, code: number): Promise<void> => {
  const read = (): Promise<void> => new Promise((resolve) => host.stdout.write('', () => resolve()))
  await inTime(systemClock, 1_000, read).catch(() => undefined)
  host.exit(code)
}

// Exit codes, as the help of each command explains them.
export const FINE = 0
export const FAULT = 1
export const USAGE = 2
export const DEAD = 3
export const REFUSED = 4
export const NONE_DELIVERED = 5
export const STOPPED = 7
