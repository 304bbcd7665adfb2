import type { Style } from '../Terminal.ts'
import type { Ending } from './Report.ts'

/** How a line is written. */
export interface LineStyle {
  readonly paint: (style: Style, text: string) => string
  /** What a URL is called. Default: itself. */
  readonly nameOf?: (url: string) => string
}

const COLOURS: Readonly<Record<Ending['outcome'] | 'waiting' | 'refused' | 'left out', Style>> = {
  delivered: 'green',
  waiting: 'yellow',
  rejected: 'red',
  expired: 'red',
  dropped: 'red',
  refused: 'red',
  abandoned: 'yellow',
  'left out': 'yellow',
}

/** The first word of a line, in its colour: it says what became of the event. */
export const wordOf = (text: keyof typeof COLOURS, { paint }: LineStyle): string =>
  paint(COLOURS[text], text.padEnd(10))
