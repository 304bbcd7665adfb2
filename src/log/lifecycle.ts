import { steady } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import { listeners } from './listeners.ts'
import type { Listening } from './listeners.ts'
import type { Listener } from './logEvent.ts'
import { hot } from './streams.ts'

/** The listeners of a destination, client or collector, its streams for the host, and its one close. */
export const lifecycle = <Closing>(clock: Clock, options: Listening, ...own: ReadonlyArray<Listener>) => {
  const now = steady(clock)
  const onEvent = listeners(options, ...own)
  const streams: Array<{ readonly complete: () => void }> = []
  let closing: Promise<Closing> | undefined

  /** Reports an error of something that should not fail. */
  const defectIn =
    (where: string) =>
    (error: unknown): void =>
      onEvent({ _tag: 'Defect', at: now(), where, error })

  const shutDown = async (task: () => Promise<Closing>): Promise<Closing> => {
    // A turn later, so that a close inside a callback of the close gets the same promise.
    const result = await Promise.resolve().then(task)
    for (const stream of streams) stream.complete()
    return result
  }

  return {
    now,
    onEvent,
    defectIn,
    /** A hot stream. It completes after the close. */
    stream: <T>(name: string) => {
      const stream = hot<T>(defectIn(`a subscriber of ${name}`))
      streams.push(stream)
      return stream
    },
    isClosing: (): boolean => closing !== undefined,
    /** Runs the task of the first call. All calls get its promise. */
    close: (task: () => Promise<Closing>): Promise<Closing> => (closing ??= shutDown(task)),
  }
}
