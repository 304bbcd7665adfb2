import type { WriteStream } from 'node:tty'
import type { Terminal } from './terminal.ts'

/** What a bar shows. It is asked for some times a second. */
export interface ProgressReading {
  /** From 0 to 1; undefined if nobody knows the end. */
  readonly share: number | undefined
  readonly text: string
}

/** A bar on the last line of the screen. */
export interface ProgressBar {
  readonly stop: () => void
}

const LEFT = '\r'
const CLEAR_TO_THE_RIGHT = '\u001b[0K'

const nothing = (): void => undefined

/**
 * The bar's way to the screen. Its own would go back to where the cursor was at the start, which is wrong as soon as lines have
 * scrolled by.
 */
const screenOf = (stream: WriteStream): object => ({
  cursorSave: nothing,
  cursorRestore: nothing,
  cursor: nothing,
  lineWrapping: nothing,
  newline: nothing,
  cursorTo: () => stream.write(LEFT),
  write: (text: string) => stream.write(text.slice(0, stream.columns - 1)),
  clearRight: () => stream.write(CLEAR_TO_THE_RIGHT),
  clearLine: () => stream.write(LEFT + CLEAR_TO_THE_RIGHT),
  getWidth: () => stream.columns,
  isTTY: () => true,
})

/** Shows a bar on a terminal, above which lines can be written. Loads what draws it only now. */
export const progressBar = async (
  stream: WriteStream,
  terminal: Pick<Terminal, 'overlay'>,
  read: () => ProgressReading,
): Promise<ProgressBar> => {
  const { default: cliProgress } = await import('cli-progress')
  const options = {
    terminal: screenOf(stream),
    fps: 8,
    barsize: 24,
    forceRedraw: true,
    clearOnComplete: true,
    // Signals are for the command to act on.
    gracefulExit: false,
    format: (drawing: object) => {
      const { share, text } = read()
      return share === undefined ? text : `[${cliProgress.Format.BarFormat(share, drawing)}] ${text}`
    },
  }
  const bar = new cliProgress.SingleBar(options, cliProgress.Presets.legacy)
  const erase = (): void => {
    stream.write(LEFT + CLEAR_TO_THE_RIGHT)
  }
  terminal.overlay(erase)
  bar.start(1, 0)
  return {
    stop: () => {
      bar.stop()
      terminal.overlay(undefined)
      erase()
    },
  }
}
