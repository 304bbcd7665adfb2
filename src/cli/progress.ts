/** The line below the others on a screen: how far a command is, and how long it may still take to stop. */
import { systemClock, type Cancel, type Clock } from '../core/clock.ts'
import type { Totals } from '../core/outcome.ts'
import { showMillis } from './report.ts'
import type { Terminal } from './terminal.ts'

/** Draws a text again and again. Answers how to remove it. */
export const redrawn = ({ draw }: Terminal, periodMs: number, text: () => string, clock: Clock): Cancel => {
  let cancel: Cancel
  const redraw = (): void => {
    draw(text())
    cancel = clock.schedule(periodMs, redraw)
  }
  redraw()
  return () => {
    cancel()
    draw('')
  }
}

/** Draws the totals as they are. Answers how to remove them. */
export const drawProgress = (terminal: Terminal, totals: () => Totals): Cancel => {
  const text = (): string => {
    const { waiting, delivered, rejected, expired } = totals()
    return `${String(delivered)} delivered, ${String(waiting)} waiting, ${String(rejected + expired)} dead`
  }
  return redrawn(terminal, 125, () => text().slice(0, terminal.width()), systemClock)
}

/** Says that a command is stopping: a countdown on a screen, else one line. Answers how to remove it. */
export const drawStopping = (
  terminal: Terminal,
  limitMs: number,
  waiting: () => number,
  clock: Clock = systemClock,
): Cancel => {
  const endAt = clock.monotonic() + limitMs
  const text = (): string => {
    const left = showMillis(Math.ceil(Math.max(0, endAt - clock.monotonic()) / 1_000) * 1_000)
    // The way out comes first: a narrow screen cuts the end.
    return `Press Ctrl-C again to quit now. Stopping: ${String(waiting())} waiting, at most ${left}.`
  }
  if (terminal.err.isTTY) return redrawn(terminal, 1_000, () => text().slice(0, terminal.width()), clock)
  terminal.err.line(`headrace: ${text()}`)
  return () => undefined
}
