/**
 * Where a command writes: data to stdout, all else to stderr. Whoever reads may go away at any time, and a progress bar may stand
 * on the last line of the screen; commands need not know.
 *
 * @module
 */
import type { WriteStream } from 'node:tty'
import { styleText } from 'node:util'
import type { Writable } from 'node:stream'

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
