import type { Cancel } from '../core/clock.ts'
import type { Outcome } from '../core/outcome.ts'
import { serialQueue } from '../core/queue.ts'
import { counters } from '../core/totals.ts'
import type { Totals } from '../core/totals.ts'
import { isolate } from '../log/listeners.ts'
import type { Listener } from '../log/logEvent.ts'
import type { RelayOptions } from './relay.ts'

/** All that a relay says, and its books. */
export interface Reporting<A> {
  /** Tells whoever listens; never throws. */
  readonly onEvent: Listener
  readonly defect: (where: string, error: unknown) => void
  readonly accepted: (item: A) => void
  /** Items that were accepted though nobody here has seen them. */
  readonly acceptedUnseen: (count: number) => void
  /** Items that wait, and are somebody else's from now on. */
  readonly passedOn: (count: number) => void
  readonly ended: (outcome: Outcome<A>) => void
  /** Of an item that was accepted only to end. */
  readonly stillborn: (outcome: Outcome<A>) => void
  /** Runs `task` when all that was said before it has been heard. */
  readonly afterwards: (task: () => void) => void
  /** Whether somebody is being told of an outcome. */
  readonly speaking: () => boolean
  readonly waiting: () => number
  readonly totals: () => Totals
}

const ignore = (): void => undefined

/** `stored` is what the outbox held already. Who listens cannot harm who delivers (CL5). */
export const reporting = <A>(
  options: Pick<RelayOptions<A>, 'onEvent' | 'hears' | 'ended'>,
  now: () => number,
  stored: number,
): Reporting<A> => {
  const books = counters(stored)
  const { hears = () => options.onEvent !== undefined } = options
  const outcomes = serialQueue()
  const onEvent: Listener = (happening) => {
    if (options.onEvent !== undefined) isolate(options.onEvent, happening, ignore)
  }
  const defect = (where: string, error: unknown): void => {
    onEvent({ _tag: 'Defect', at: now(), where, error })
  }
  const unheard = (error: unknown): void => {
    defect('outcome listener', error)
  }
  const accepted = (item: A): void => {
    books.accept()
    if (hears('Accepted')) onEvent({ _tag: 'Accepted', at: now(), item })
  }
  // The books and what was told agree at every moment, for they change in the same turn.
  const end = (outcome: Outcome<A>): void => {
    books.end(outcome)
    if (outcome._tag !== 'Delivered' || hears('Ended')) onEvent({ _tag: 'Ended', at: now(), outcome })
    isolate(options.ended, outcome, unheard)
  }
  const ended = (outcome: Outcome<A>): void => {
    outcomes.take(end, outcome)
  }
  return {
    onEvent,
    defect,
    accepted,
    acceptedUnseen: books.accept,
    passedOn: books.passOn,
    ended,
    stillborn: (outcome) => {
      accepted(outcome.item)
      ended(outcome)
    },
    afterwards: (task) => {
      outcomes.take(task, undefined)
    },
    speaking: outcomes.busy,
    waiting: books.waiting,
    totals: books.totals,
  }
}

/** Those who look again after each change. */
export interface Watchers {
  readonly changed: () => void
  /** Has `listener` called after each change. Answers how to take it away. */
  readonly onChange: (listener: () => void) => Cancel
  /** Runs `task` once, as soon as `isSo`: now, or after some change. */
  readonly whenever: (isSo: () => boolean, task: () => void) => void
}

/** Nobody watches yet. */
export const watchers = (): Watchers => {
  const all = new Set<() => void>()
  return {
    changed: () => {
      // Called several times for each item, and mostly nobody watches.
      if (all.size === 0) return
      for (const watcher of all) watcher()
    },
    onChange: (listener) => {
      all.add(listener)
      return () => {
        all.delete(listener)
      }
    },
    whenever: (isSo, task) => {
      const check = (): void => {
        if (!isSo()) return
        all.delete(check)
        task()
      }
      all.add(check)
      check()
    },
  }
}
