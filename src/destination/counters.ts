import type { Listener } from '../log/logEvent.ts'

/** What one URL did. */
export interface UrlStats {
  readonly delivered: number
  readonly failed: number
  /** Rounds in which it was left out because its lane was full (DE8). */
  readonly passedOver: number
}

/** Counts what happens, for `stats`. */
export interface Tally {
  readonly onEvent: Listener
  readonly refused: () => number
  readonly urls: () => Readonly<Record<string, UrlStats>>
}

/** A tally that starts at nothing. A URL is listed from its first attempt on. */
export const tally = (): Tally => {
  const urls = new Map<string, { delivered: number; failed: number; passedOver: number }>()
  let refused = 0
  const countsOf = (sink: string): { delivered: number; failed: number; passedOver: number } => {
    const known = urls.get(sink)
    if (known !== undefined) return known
    const counts = { delivered: 0, failed: 0, passedOver: 0 }
    urls.set(sink, counts)
    return counts
  }
  return {
    onEvent: (happening) => {
      switch (happening._tag) {
        case 'Refused':
          refused++
          return
        case 'Attempted':
          countsOf(happening.sink)[happening.result._tag === 'Right' ? 'delivered' : 'failed']++
          return
        case 'UrlSkipped':
          countsOf(happening.sink).passedOver++
          return
        case 'Accepted':
        case 'UnknownKeys':
        case 'Waiting':
        case 'Ended':
        case 'Defect':
      }
    },
    refused: () => refused,
    urls: () => Object.fromEntries([...urls].map(([name, counts]) => [name, { ...counts }])),
  }
}
