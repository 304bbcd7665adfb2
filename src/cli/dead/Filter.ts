/**
 * Which dead letters are meant.
 *
 * @module
 */
import type { Event } from '../../event/Event.ts'
import { isDead } from '../../outcome/Outcome.ts'
import type { DeadLetter } from '../../sink/Outbox.ts'
import { causesOf } from '../output/causesOf.ts'
import type { Cause } from '../output/Report.ts'
import type { Dead } from './Dead.ts'

/** A dead letter. */
export type Letter = DeadLetter<Dead>

/** What a letter must be to be meant; what is undefined is not asked. */
export interface Filter {
  /** How it ended, or a reason of one of its causes: `expired`, `status`, `certificate`. */
  readonly reason: string | undefined
  /** The HTTP status of one of its causes. */
  readonly status: number | undefined
  /** The kind of the event. */
  readonly kind: Event['type'] | undefined
  /** Milliseconds since 1970: it died then or later. */
  readonly since: number | undefined
}

/** Why it was not delivered, receiver by receiver. */
export const causesIn = ({ outcome }: Letter): ReadonlyArray<Cause> =>
  isDead(outcome) ? causesOf(outcome.failure) : []

/** How it ended, in a word. */
export const endOf = ({ outcome }: Letter): string => outcome._tag.toLowerCase()

/** Whether a letter is meant. */
export const matching =
  ({ reason, status, kind, since }: Filter) =>
  (letter: Letter): boolean => {
    const causes = causesIn(letter)
    return (
      (reason === undefined || endOf(letter) === reason || causes.some((cause) => cause.reason === reason)) &&
      (status === undefined || causes.some((cause) => cause.status === status)) &&
      (kind === undefined || letter.entry.item.type === kind) &&
      (since === undefined || letter.at >= since)
    )
  }
