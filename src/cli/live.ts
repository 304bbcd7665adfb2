/** What is redrawn below the lines of a terminal: the live view, a row for each URL. */
import { constVoid } from '../core/either.ts'
import { systemClock, type Cancel, type Clock } from '../core/clock.ts'
import type { Inspectable } from '../inspector/inspector.ts'
import { recorder } from '../inspector/recorder.ts'
import type { OutputForm, Output } from './options.ts'
import { showMillis } from './report.ts'
import type { Paint, Styles, Terminal } from './terminal.ts'

/** What is drawn of one part. */
export type Snapshot = ReturnType<ReturnType<typeof recorder>['snapshot']>

/** How it is drawn. */
export interface View {
  /** Milliseconds after which waiting events expire. */
  readonly limit?: number | undefined
  /** Of a receiver: a line for each of its last requests. Its events are requests, in other words. */
  readonly requests?: ReadonlyArray<string>
}

/** Columns of a receiver's name; its state stands beside it on a screen of 40. */
const NAME_WIDTH = 28
/** Columns of what stands beside the name on one line. */
const FIGURES_WIDTH = 82
const EVENT_WORDS = ['accepted', 'delivered', 'waiting', 'rejected']
const REQUEST_WORDS = ['requests', 'answered 2xx', 'open', 'answered otherwise']
const STYLES: Styles = {
  ...{ ok: 'green', Delivering: 'green', flaky: 'yellow', Degraded: 'yellow' },
  ...{ failing: 'red', Failing: 'red' },
}

/** Characters that take another width than one column would wrap a line. */
const fit = (text: string, width: number): string => {
  const shown = text.trimEnd().replaceAll(/[^ -~\u2026\u00ae-\u02ff\u0370-\u0482]/gu, '?')
  return shown.length > width ? `${shown.slice(0, Math.max(0, width - 1))}…` : shown
}

/** Cells in as few lines as hold them. */
const wrapped = (cells: ReadonlyArray<string>, width: number): ReadonlyArray<string> => {
  const [first = '', ...rest] = cells
  const lines = [first]
  for (const cell of rest) {
    const longer = `${lines.at(-1) ?? ''}  ${cell}`
    if (longer.trimEnd().length <= width) lines[lines.length - 1] = longer
    else lines.push(`  ${cell}`)
  }
  return lines.map((line) => fit(line, width))
}

const showSpan = (millis: number): string =>
  millis < 7_200_000 ? showMillis(Math.max(0, millis)) : `${String(Math.round(millis / 360_000) / 10)}h`

const headOf = ({ word, totals, oldest }: Snapshot, { limit, requests }: View): string[] => {
  const { accepted, delivered, waiting, rejected, expired, dropped, abandoned, refused } = totals
  const counts = [accepted, delivered, waiting, rejected]
  const rare = Object.entries({ expired, dropped, abandoned, refused }).filter(([, count]) => count > 0)
  const age = oldest === undefined ? [] : [`oldest ${showSpan(oldest)}`]
  return [
    word,
    ...(requests ? REQUEST_WORDS : EVENT_WORDS).map((each, n) => `${String(counts[n])} ${each}`),
    ...rare.map(([each, count]) => `${String(count)} ${each}`),
    ...age.map((each) => (limit === undefined ? each : `${each} of ${showSpan(limit)}`)),
  ]
}

/** Receivers: state, rate, p95, share of first wins, next attempt, and the failures in a few words. */
const rows = ({ sinks, next, at, totals }: Snapshot, width: number, { requests }: View) => {
  const wins = sinks.reduce((sum, { firstWins }) => sum + firstWins, 0)
  const shareOf = (won: number): string => (wins === 0 ? '-' : `${String(Math.round((100 * won) / wins))}%`)
  const due = next === undefined || totals.waiting === 0 ? '-' : showSpan(next - at)
  const longest = Math.max(...sinks.map(({ name }) => name.length))
  const size = Math.min(longest, Math.max(NAME_WIDTH, width - FIGURES_WIDTH))
  return sinks.map(({ name, state, rate, p95, firstWins, failed, last }) => [
    fit(name, size).padEnd(size),
    state.padEnd(7),
    `${rate < 10 ? String(Math.round(rate * 10) / 10) : String(Math.round(rate))}/s`.padEnd(6),
    `p95 ${p95 === undefined ? '-' : showSpan(p95)}`.padEnd(9),
    ...(requests ? [] : [`first ${shareOf(firstWins)}`.padEnd(10), `next ${due}`.padEnd(10)]),
    failed === 0 ? '' : `${String(failed)} failed, last: ${last}`,
  ])
}

/** The lines of a view, none of them longer than the width. */
export const liveFrame = (parts: ReadonlyArray<Snapshot>, width: number, paint: Paint, view: View = {}) =>
  parts.flatMap((part) => {
    const lines = (cells: ReadonlyArray<string>, painted: number): ReadonlyArray<string> => {
      const [head = '', ...rest] = wrapped(cells, width)
      const word = cells[painted]?.trimEnd() ?? ''
      const style = STYLES[word]
      const at = painted === 0 ? 0 : head.indexOf(`  ${word}`) + 2
      // On a narrow screen the state stands on the next line.
      if (style === undefined || at === 1) return [head, ...rest]
      return [head.slice(0, at) + paint(style, word) + head.slice(at + word.length), ...rest]
    }
    return [
      ...(parts.length > 1 ? [fit(part.name, width)] : []),
      ...lines(headOf(part, view), 0),
      ...rows(part, width, view).flatMap((row) => lines(row, 1)),
      ...(view.requests ?? []).map((line) => fit(`  ${line}`, width)),
    ]
  })

/** `auto` is the view if people look at both streams; it needs a terminal in any case. */
export const outputOf = (form: OutputForm, { out, err }: Terminal): Output => {
  if (form !== 'auto' && form !== 'live') return form
  return err.isTTY && (form === 'live' || out.isTTY) ? 'live' : 'lines'
}

/** Listens on parts and draws them. Answers how to end that. */
export const drawLive = (
  terminal: Terminal,
  parts: ReadonlyArray<Pick<Inspectable, 'events$' | 'stats'>>,
  view: View,
  clock: Clock = systemClock,
): Cancel => {
  const watched = parts.map(({ events$, stats }) => {
    const memory = recorder(100, '', clock.now)
    const watching = events$.subscribe({ next: memory.onEvent, error: constVoid })
    return { snapshot: () => memory.snapshot(stats()), watching }
  })
  const text = (): string => {
    const shown = watched.map(({ snapshot }) => snapshot())
    return liveFrame(shown, terminal.width(), terminal.err.paint, view).join('\n')
  }
  const erase = redrawn(terminal, 250, text, clock)
  return () => {
    erase()
    for (const { watching } of watched) watching.unsubscribe()
  }
}

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

/** Says that a command is stopping: a countdown on a screen, else one line. Answers how to remove it. */
export const drawStopping = (terminal: Terminal, ms: number, waiting: () => number, clock = systemClock) => {
  const endAt = clock.monotonic() + ms
  const text = (): string => {
    const left = showMillis(Math.ceil(Math.max(0, endAt - clock.monotonic()) / 1_000) * 1_000)
    // The way out comes first: a narrow screen cuts the end.
    return `Press Ctrl-C again to quit now. Stopping: ${String(waiting())} waiting, at most ${left}.`
  }
  if (terminal.err.isTTY) return redrawn(terminal, 1_000, () => text().slice(0, terminal.width()), clock)
  terminal.err.line(`headrace: ${text()}`)
  return () => undefined
}
