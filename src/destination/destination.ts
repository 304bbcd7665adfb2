import type { Either } from 'fp-ts/lib/Either.js'
import type { Observable } from 'rxjs'
import type { Clock, Random } from '../core/clock.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Totals } from '../core/totals.ts'
import type { Call } from '../event/call.ts'
import type { Event } from '../event/event.ts'
import type { Payload } from '../event/payload.ts'
import type { Egress, StatusTable } from '../http/webhook.ts'
import type { Attempted, Listener } from '../log/logEvent.ts'
import type { Logger } from '../log/logger.ts'
import type { CloseResult } from '../outbox/close.ts'
import type { StoredIn } from '../outbox/lmdb/contract.ts'
import type { EndedDeadLetter, Outbox } from '../outbox/outbox.ts'
import type { RetryPolicy } from '../policy/retryPolicy.ts'
import type { UrlStats } from './counters.ts'

/** What may be set beside the settings. All numbers have the defaults of the decisions, and must be whole numbers from 1. */
export interface DestinationOptions {
  /** When to try again; default `standard`: exponential from 1 s, at most 10 min, full jitter, until 4 h (DE4, DE5). */
  readonly retry?: RetryPolicy
  /** Milliseconds for one attempt in total; default 5,000 (DE3). */
  readonly timeout?: number
  /** Requests at a time to one URL; default 16 (DE8). */
  readonly concurrency?: number
  /**
   * Keeps the order of events with the same key: each is started when the one before it has its outcome (DE7). An event for which it
   * throws waits for none. What waits behind another is held in memory. Default: no order is kept.
   */
  readonly orderBy?: (event: Event) => string
  /** Accepted and not ended, in items; default 100,000 (DE9). */
  readonly maxCount?: number
  /** Accepted and not ended, in bytes of body; default 268,435,456 (DE9). */
  readonly maxBytes?: number
  /** Items in a round at once; default 1,000 (DE8). */
  readonly maxInFlight?: number
  /** Bytes of one body; default 64,000 (BY2). */
  readonly maxBody?: number
  /** What may be dialled; default all but link-local and metadata addresses (DE13). */
  readonly egress?: Egress
  /** What a status means (DE2). */
  readonly statuses?: StatusTable
  /** The name of a header that carries the message id; default none (EV2). */
  readonly messageIdHeader?: string
  /**
   * Where accepted events wait; default memory. `{ path }` is a folder on a disk: then an event is accepted only when it has been synced,
   * and what was accepted survives a crash. `maxCount` and `maxBytes` above are for memory only.
   */
  readonly outbox?: Outbox<Payload<Event>> | StoredIn
  /** Default: warnings and errors go to the console. `false` for silence. */
  readonly logger?: Logger | false
  /** Is told everything that happens. */
  readonly onEvent?: Listener
  readonly clock?: Clock
  readonly random?: Random
  /** Makes the id of an event that brings none; default a random UUID. */
  readonly newId?: () => string
}

/** What `send` answers for an event that was taken into keeping. */
export interface Accepted {
  /** The message id: given, or made. */
  readonly id: string
}

/** How a destination stands. accepted = delivered + rejected + expired + dropped + abandoned + waiting. */
export interface DestinationStats extends Totals {
  readonly enabled: boolean
  /** Turned away at the door. */
  readonly refused: number
  /** Bytes of body that wait. */
  readonly bytes: number
  /** Dead letters that made room for newer ones, and are gone, as its outbox counts them: in a folder since it was made. */
  readonly evictedDeadLetters: number
  /** For each URL, by the name of its sink. */
  readonly urls: Readonly<Record<string, UrlStats>>
}

/** How long a close may take. What is no number of at least 0 is told as a `Defect`, and the default is taken. */
export interface CloseOptions {
  /** Milliseconds in which retries may still start, 0 for none, `Infinity` to wait for every outcome; default 30,000 (DE15). */
  readonly timeout?: number
}

/** A webhook destination at work. */
export interface Destination extends AsyncDisposable {
  /**
   * Takes an event in the public call form into keeping, or says why not. Never rejects. Accepted means: kept by the outbox; its
   * one outcome comes out of `outcomes$`, mostly later, but where it is known at once even before this answer.
   */
  readonly send: (event: Call) => Promise<Either<Refusal, Accepted>>
  /** Resolves when there is room for one more, or it is closed; those who wait are let through in their order. */
  readonly ready: () => Promise<void>
  /**
   * Each accepted event's one outcome. Hot: subscribe before sending. Completes when the destination is closed. A subscriber may
   * send and close inside `next`. What it throws, or rejects with, is told as a `Defect` and logged, and harms nobody (CL5).
   */
  readonly outcomes$: Observable<Outcome<Payload<Event>>>
  /** Each attempt at a URL as it has its verdict. Hot, and as careful with its subscribers. */
  readonly attempts$: Observable<Attempted>
  readonly stats: () => DestinationStats
  /** Switches it on. */
  readonly enable: () => void
  /** Switches it off: `send` answers `Disabled`, and what was accepted before goes on (DE14). */
  readonly disable: () => void
  /** Resolves with the totals when everything accepted so far and until then has ended, or it is closed. Shortens no delay. */
  readonly idle: () => Promise<Totals>
  /** Puts dead letters back to wait, as many as there is room for, with a new deadline. Answers how many; 0 once it is closed. */
  readonly redrive: (matches?: (letter: EndedDeadLetter<Payload<Event>>) => boolean) => Promise<number>
  /**
   * Refuses new events, lets retries that are due in time and requests in flight end, and resolves with the totals and what is
   * handed back (DE15). Afterwards no timer and no socket is left. Calling it again answers the same promise.
   */
  readonly close: (options?: CloseOptions) => Promise<CloseResult<Payload<Event>>>
}
