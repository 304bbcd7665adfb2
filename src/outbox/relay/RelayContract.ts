import type { Either } from 'fp-ts/lib/Either.js'
import type { Cancel, Clock } from '../../clock/Clock.ts'
import type { Random } from '../../clock/Random.ts'
import type { Awaitable } from '../../internal/Awaitable.ts'
import type { Tell } from '../../observe/Happening.ts'
import type { Failure } from '../../outcome/Failure.ts'
import type { Outcome } from '../../outcome/Outcome.ts'
import type { Closed, Full } from '../../outcome/Refusal.ts'
import type { Totals } from '../../outcome/Totals.ts'
import type { RetryPolicy } from '../../policy/RetryPolicy.ts'
import type { DeadLetter, Entry, Outbox } from '../../sink/Outbox.ts'
import type { Sink } from '../../sink/Sink.ts'

/** What a relay works with. */
export interface RelayOptions<A> {
  readonly sink: Sink<A>
  readonly outbox: Outbox<A>
  readonly retry: RetryPolicy
  readonly clock: Clock
  readonly random: Random
  /** How many items may be in a round at once; the others wait in the outbox (DE8). */
  readonly inRound: number
  readonly tell?: Tell | undefined
  /** Whether anybody would hear of an item that is accepted, or delivered; of all else it tells in any case. Default: with a `tell`. */
  readonly hears?: (tag: 'Accepted' | 'Ended') => boolean
  /** Is told each outcome, once it is as durable as the outbox; never of one while it is told of another. */
  readonly ended: (outcome: Outcome<A>) => void
  /** Is told, a turn later, that the outbox said something of its own accord: there may be room that nobody here made. */
  readonly news?: () => void
}

/** A relay at work. */
export interface Relay<A> {
  /** Takes an item into keeping: from here on it will have exactly one outcome. */
  readonly offer: (item: A) => Awaitable<Either<Full | Closed, Entry<A>>>
  /**
   * Takes an item into keeping that the outbox has no room for, and ends it at once as rejected, without an attempt: it is a dead letter
   * as soon as the outbox has it.
   */
  readonly bury: (item: A, failure: Failure) => Awaitable<Either<Closed, void>>
  /** Refuses new items from now on. */
  readonly refuse: () => void
  /** Starts no new round from now on. */
  readonly rest: () => void
  /**
   * Cancels what runs and hands back what has not ended, as soon as the store has answered all that it was asked. A durable
   * outbox keeps it, and nothing is handed back.
   */
  readonly brake: (then: (items: ReadonlyArray<A>) => void) => void
  /** Looks for what is due: something came to the outbox after it was accepted. */
  readonly look: () => void
  /** Ends as abandoned what was withdrawn from the outbox, and waits for it no longer. */
  readonly withdrawn: (entries: ReadonlyArray<Entry<A>>) => void
  /**
   * Whether a round is under way or could start before `instant` (by `now`). Of what only the outbox can date (`watch`) it is taken that it
   * starts before Infinity, and before no other moment.
   */
  readonly active: (instant: number) => boolean
  /** Deliveries of which something still runs, siblings of ended ones included. */
  readonly running: () => number
  /** Whether it was braked and everything was handed back: nothing will change any more. */
  readonly isOver: () => boolean
  /** Has `listener` called after each change that could bring the relay to rest. Answers how to take it away. */
  readonly onChange: (listener: () => void) => Cancel
  /** Puts dead letters back to wait; they count as accepted anew. Answers how many: none once new items are refused. */
  readonly redrive: (matches: (letter: DeadLetter<A>) => boolean) => Promise<number>
  /** Tells whoever listens; never throws. */
  readonly report: Tell
  readonly totals: () => Totals
  /** The time in which due times and deadlines are kept. */
  readonly now: () => number
}
