import type { Host, Terminal } from './terminal.ts'

/** What a progress bar shows; it is asked for several times a second. */
export interface Progress {
  /** From 0 to 1; undefined if the end of the input is not known. */
  readonly share: number | undefined
  readonly text: string
}

const LINE_START = '\r'
const CLEAR_TO_THE_RIGHT = '\u001b[0K'

const nothing = (): void => undefined

/** Draws at the start of the current line: the library's own terminal goes back to a saved cursor, which is wrong after scrolling. */
const screenOf = (stream: Host['stderr']): object => ({
  cursorSave: nothing,
  cursorRestore: nothing,
  cursor: nothing,
  lineWrapping: nothing,
  newline: nothing,
  cursorTo: () => stream.write(LINE_START),
  write: (text: string) => stream.write(text.slice(0, (stream.columns ?? 80) - 1)),
  clearRight: () => stream.write(CLEAR_TO_THE_RIGHT),
  clearLine: () => stream.write(LINE_START + CLEAR_TO_THE_RIGHT),
  getWidth: () => stream.columns ?? 80,
  isTTY: () => true,
})

/** Draws a progress bar on the last line of stderr; lines can be written above it. Resolves with the function that removes it. */
export const drawProgress = async (terminal: Terminal, read: () => Progress): Promise<() => void> => {
  const { default: cliProgress } = await import('cli-progress')
  const stream = terminal.host.stderr
  const options = {
    terminal: screenOf(stream),
    fps: 8,
    barsize: 24,
    forceRedraw: true,
    clearOnComplete: true,
    // The command handles signals itself.
    gracefulExit: false,
    format: (drawing: object) => {
      const { share, text } = read()
      return share === undefined ? text : `[${cliProgress.Format.BarFormat(share, drawing)}] ${text}`
    },
  }
  const bar = new cliProgress.SingleBar(options, cliProgress.Presets.legacy)
  const erase = (): void => {
    stream.write(LINE_START + CLEAR_TO_THE_RIGHT)
  }
  terminal.overlay(erase)
  bar.start(1, 0)
  return () => {
    bar.stop()
    terminal.overlay(undefined)
    erase()
  }
}
