import { systemClock } from '../core/clock.ts'
import type { Cancel } from '../core/clock.ts'
import type { Summary } from './report.ts'
import type { Terminal } from './terminal.ts'

/** What a progress bar shows. */
interface Progress extends Summary {
  /** How much of the input was read, from 0 to 1; undefined if its end is not known. */
  readonly share: number | undefined
}

const CLEARED_LINE = '\r\u001b[K'
const WIDTH = 24

const lineOf = ({ share, accepted, waiting, delivered, rejected, expired }: Progress): string => {
  const ended = accepted === 0 ? 1 : (accepted - waiting) / accepted
  const bar = '='.repeat(Math.round((share ?? 0) * ended * WIDTH)).padEnd(WIDTH, '-')
  const text = `${String(delivered)} delivered, ${String(waiting)} waiting, ${String(rejected + expired)} dead`
  return share === undefined ? text : `[${bar}] ${text}`
}

/** Draws a progress bar on the last line of stderr; lines can be written above it. Answers how to remove it. */
export const drawProgress = ({ host: { stderr }, overlay }: Terminal, read: () => Progress): (() => void) => {
  const erase = (): void => void stderr.write(CLEARED_LINE)
  let cancel: Cancel
  const draw = (): void => {
    stderr.write(CLEARED_LINE + lineOf(read()).slice(0, (stderr.columns ?? 80) - 1))
    cancel = systemClock.schedule(125, draw)
  }
  overlay(erase)
  draw()
  return () => {
    cancel()
    overlay(undefined)
    erase()
  }
}
