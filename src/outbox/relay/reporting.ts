import { turns } from '../../internal/turns.ts'
import { isolate } from '../../observe/isolate.ts'
import type { Tell } from '../../observe/Happening.ts'
import type { Outcome } from '../../outcome/Outcome.ts'
import { ledger } from '../../outcome/Totals.ts'
import type { Totals } from '../../outcome/Totals.ts'
import type { RelayOptions } from './RelayContract.ts'

/** All that a relay says, and its books. */
export interface Reporting<A> {
  /** Tells whoever listens; never throws. */
  readonly tell: Tell
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
  options: Pick<RelayOptions<A>, 'tell' | 'hears' | 'ended'>,
  now: () => number,
  stored: number,
): Reporting<A> => {
  const books = ledger(stored)
  const { hears = () => options.tell !== undefined } = options
  const outcomes = turns()
  const tell: Tell = (happening) => {
    if (options.tell !== undefined) isolate(options.tell, happening, ignore)
  }
  const defect = (where: string, error: unknown): void => {
    tell({ _tag: 'Defect', at: now(), where, error })
  }
  const unheard = (error: unknown): void => {
    defect('outcome listener', error)
  }
  const accepted = (item: A): void => {
    books.accept()
    if (hears('Accepted')) tell({ _tag: 'Accepted', at: now(), item })
  }
  // The books and what was told agree at every moment, for they change in the same turn.
  const end = (outcome: Outcome<A>): void => {
    books.end(outcome)
    if (outcome._tag !== 'Delivered' || hears('Ended')) tell({ _tag: 'Ended', at: now(), outcome })
    isolate(options.ended, outcome, unheard)
  }
  const ended = (outcome: Outcome<A>): void => {
    outcomes.take(end, outcome)
  }
  return {
    tell,
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
