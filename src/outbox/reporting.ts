import type { Outcome } from '../core/outcome.ts'
import { serialQueue } from '../core/queue.ts'
import { counters } from '../core/totals.ts'
import type { Totals } from '../core/totals.ts'
import { callSafely } from '../log/listeners.ts'
import type { Listener } from '../log/logEvent.ts'

/** The log and the totals of a relay. Nothing here throws: errors of listeners are logged. */
export interface Reporting<A> {
  readonly log: Listener
  readonly defect: (where: string, error: unknown) => void
  readonly accepted: (item: A) => void
  readonly redriven: (count: number) => void
  /** Counts and reports an outcome. What a listener causes meanwhile is reported after it. */
  readonly ended: (outcome: Outcome<A>) => void
  /** Counts and logs a stored record that could not be read. */
  readonly endedCorrupt: (id: string) => void
  /** Runs `task` after everything reported so far has reached the listeners. */
  readonly afterReports: (task: () => void) => void
  readonly isReporting: () => boolean
  readonly totals: () => Totals
}

const ignore = (): void => undefined

/** `waiting`: the number of entries that the outbox already holds. */
export const reporting = <A>(
  onEvent: Listener | undefined,
  hears: (tag: 'Accepted' | 'Ended') => boolean,
  listener: (outcome: Outcome<A>) => void,
  now: () => number,
  waiting: number,
): Reporting<A> => {
  const counts = counters(waiting)
  const reports = serialQueue()

  const log: Listener = (event) => {
    if (onEvent !== undefined) callSafely(onEvent, event, ignore)
  }
  const defect = (where: string, error: unknown): void => log({ _tag: 'Defect', at: now(), where, error })
  const listenerFailed = (error: unknown): void => defect('outcome listener', error)
  const report = (outcome: Outcome<A>): void => {
    counts.end(outcome)
    if (outcome._tag !== 'Delivered' || hears('Ended')) log({ _tag: 'Ended', at: now(), outcome })
    callSafely(listener, outcome, listenerFailed)
  }

  return {
    log,
    defect,
    accepted: (item) => {
      counts.accept()
      if (hears('Accepted')) log({ _tag: 'Accepted', at: now(), item })
    },
    redriven: counts.accept,
    ended: (outcome) => reports.take(report, outcome),
    endedCorrupt: (id) => {
      counts.endCorrupt()
      defect('outbox', new Error(`The stored record ${id} cannot be read. It is a dead letter now.`))
    },
    afterReports: (task) => reports.take(task, undefined),
    isReporting: reports.busy,
    totals: counts.totals,
  }
}
