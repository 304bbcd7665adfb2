/** A person who stops a command: once to end in good order, twice to end at once. */
export interface Stop {
  readonly gently: AbortSignal
  readonly now: AbortSignal
  /** Listens no more: a signal then ends the process, as it does by default. */
  readonly release: () => void
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Ctrl-C, and what service managers send. */
export const stopSignals = (): Stop => {
  const gently = new AbortController()
  const now = new AbortController()
  const onSignal = (): void => {
    if (gently.signal.aborted) now.abort()
    gently.abort()
  }
  for (const signal of SIGNALS) process.on(signal, onSignal)
  return {
    gently: gently.signal,
    now: now.signal,
    release: () => {
      for (const signal of SIGNALS) process.off(signal, onSignal)
    },
  }
}
