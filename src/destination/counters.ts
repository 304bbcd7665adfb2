import type { Listener } from '../log/logEvent.ts'

/** The attempts at one URL. */
export interface UrlStats {
  readonly delivered: number
  readonly failed: number
  /** Attempts that skipped this URL, because its queue was full. */
  readonly skipped: number
}

/** The counters of a destination that its outbox does not keep. */
export interface Counters {
  readonly onEvent: Listener
  readonly refused: () => number
  readonly urls: () => Readonly<Record<string, UrlStats>>
}

/** Counters that start at zero. A URL is listed from its first attempt on. */
export const counters = (): Counters => {
  const urls = new Map<string, { delivered: number; failed: number; skipped: number }>()
  let refused = 0

  const count = (sink: string, what: keyof UrlStats): void => {
    let counts = urls.get(sink)
    if (counts === undefined) {
      counts = { delivered: 0, failed: 0, skipped: 0 }
      urls.set(sink, counts)
    }
    counts[what]++
  }

  return {
    onEvent: (event) => {
      if (event._tag === 'Attempted')
        count(event.sink, event.result._tag === 'Right' ? 'delivered' : 'failed')
      else if (event._tag === 'UrlSkipped') count(event.sink, 'skipped')
      else if (event._tag === 'Refused') refused++
    },
    refused: () => refused,
    urls: () => Object.fromEntries([...urls].map(([name, counts]) => [name, { ...counts }])),
  }
}
