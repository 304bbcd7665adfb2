import type { Observable } from 'rxjs'
import type { Either } from '../core/either.ts'
import type { Clock } from '../core/clock.ts'
import type { WaitOptions } from '../core/options.ts'
import type { Accepted, Outcome, Totals } from '../core/outcome.ts'
import type { Closed, Fault, Refusal } from '../core/refusal.ts'
import type { Call } from '../event/model.ts'
import type { Event } from '../event/event.ts'
import type { Payload } from '../event/payload.ts'
import type { RequestOptions } from '../http/httpOptions.ts'
import type { HostedPart } from '../log/lifecycle.ts'
import type { Listening } from '../log/listeners.ts'
import type { Attempted } from '../log/logEvent.ts'
import type { CloseResult } from '../outbox/close.ts'
import type { OwnDeadLetters } from '../outbox/deadLetters.ts'
import type { RelayStats } from '../outbox/ledger.ts'
import type { EndedDeadLetter, Outbox, OutboxFactory, TransactionClient } from '../outbox/outbox.ts'
import type { StoredIn } from '../outbox/lmdb/contract.ts'
import type { Retrying } from '../policy/retryPolicy.ts'
import type { Layer } from '../sink/sink.ts'
import type { Settings } from './settings.ts'

/** Options of a destination. Numbers are whole numbers from 1. Unknown options are refused. */
export interface DestinationOptions
  extends Listening, Retrying, Pick<RequestOptions, 'dispatcher' | 'egress' | 'statuses'> {
  /** `from` in its log events. Default `destination`. */
  readonly name?: string
  /** Milliseconds for one attempt, from the start of its request to the response status. Default 5,000. */
  readonly timeout?: number
  /** Concurrent requests to one URL. Default 16. */
  readonly concurrency?: number
  /**
   * Keeps the order of events with the same key: each one is sent after the outcome of the one before it.
   * Events behind another are held in memory. `send` calls it once, and its answer is stored with the event.
   * If it throws, that event has no order. The event shares its data with the call. Default: no order.
   */
  readonly orderBy?: (event: Event) => string
  /** Accepted events that have not ended. Default 100,000. */
  readonly maxCount?: number
  /** Bytes of memory for accepted events until they end: their texts and 256 each. Default 268,435,456. */
  readonly maxBytes?: number
  /** The maximum number of events with a running attempt. Default 1,000. */
  readonly maxInFlight?: number
  /** Bytes of one body. Default 64,000. */
  readonly maxBodyBytes?: number
  /** The name of a header with the message id, percent-encoded if it is not plain. Default: none. */
  readonly messageIdHeader?: string
  /**
   * Where accepted events wait. Default: in memory. With `{ path }` they wait in that folder: an event is
   * accepted after its sync to disk, and survives a crash. `maxCount` and `maxBytes` of these options bound
   * memory only. Or an outbox of your own, or a factory of one; it is closed with the destination.
   */
  readonly outbox?: Outbox<Payload<Event>> | OutboxFactory<Payload<Event>> | StoredIn
  /** Around each URL, inside the `timeout`, anew around a changed one. A gate is one for all URLs. */
  readonly layer?: Layer
  /**
   * Data beside an accepted event, such as its trace: stored with it, in `meta` of its payload. `send` calls
   * it, with an event that shares its data with the call. If it throws, or answers more than 1,024 bytes of
   * JSON, there is none, and a `Defect`.
   */
  readonly meta?: (event: Event) => Readonly<Record<string, string>> | undefined
  readonly clock?: Clock
  /** Makes the id of an event without one. Default: a random UUID. */
  readonly newId?: () => string
}

/** The attempts at one URL. */
export interface UrlStats {
  readonly delivered: number
  readonly failed: number
  /** Attempts that skipped this URL, because its queue was full. */
  readonly skipped: number
}

/** Counts of a destination. accepted = delivered + rejected + expired + dropped + abandoned + waiting. */
export interface DestinationStats extends RelayStats {
  /** Events that were not accepted. */
  readonly refused: number
  /** Bytes of waiting events, as `maxBytes` counts them; with an outbox, as that counts them. */
  readonly bytes: number
  /** Dead letters that were deleted to make room for newer ones, as the outbox counts them. */
  readonly evictedDeadLetters: number
  /** Attempts by URL; the key is the name of its sink. At most 500 names: the one that came first goes. */
  readonly urls: Readonly<Record<string, UrlStats>>
}

/** A webhook destination. */
export interface Destination extends AsyncDisposable, HostedPart {
  /**
   * Accepts an event, or answers why not. Never rejects. Accepted means: stored in the outbox. The outcome
   * comes out of `outcomes$`, usually later; if it is known at once, before this answer.
   */
  readonly send: (event: Call) => Promise<Either<Refusal, Accepted>>
  /**
   * Adds an event in a transaction of the host: it is delivered if that commits, and leaves nothing if it
   * rolls back. `Left` comes before any statement; an error of the client is thrown as it is. It counts and
   * logs nothing here: the process that delivers the event does. A TypeError if the outbox cannot.
   */
  readonly sendIn: (client: TransactionClient, event: Call) => Promise<Either<Refusal, Accepted>>
  /** Resolves when there is room for one more event, or when it is closed. Callers continue in order. */
  readonly ready: () => Promise<void>
  /**
   * One outcome for each accepted event. Hot: subscribe before sending. Completes when the destination is
   * closed. An error of a subscriber is logged as a `Defect`.
   */
  readonly outcomes$: Observable<Outcome<Payload<Event>>>
  /** Each attempt at a URL, when its verdict is known. Hot, like `outcomes$`. */
  readonly attempts$: Observable<Attempted>
  /** The dead letters of its outbox. */
  readonly dead: OwnDeadLetters<Payload<Event>>
  /** The counters, as they are now. */
  readonly stats: () => DestinationStats
  /** Makes `send` accept events again. */
  readonly enable: () => void
  /** Makes `send` answer `Disabled`. Events accepted before are still sent. */
  readonly disable: () => void
  /**
   * Changes URLs, headers, secrets and the toggle, all or nothing: `Left` has all faults, or `Closed` after a
   * close, and nothing has changed. Attempts that start afterwards use the new settings, those in flight the
   * old. A new URL is asked for every waiting event; the connections of a removed one are closed after its
   * last request. Without `enabled` the toggle stays.
   */
  readonly update: (settings: Settings) => Either<ReadonlyArray<Fault> | Closed, void>
  /**
   * Resolves with the totals when no accepted event waits, or when it is closed. Of an outbox that other
   * processes use too, it waits for what is in it, and not for what they add afterwards.
   */
  readonly idle: () => Promise<Totals>
  /** Moves dead letters back, with a new deadline, while there is room. Answers how many; 0 once closed. */
  readonly redrive: (matches?: (deadLetter: EndedDeadLetter<Payload<Event>>) => boolean) => Promise<number>
  /**
   * Refuses new events, lets retries that are due in time and requests in flight end, and resolves with the
   * totals and the events that were not delivered. Nothing starts in the last 500 ms of the timeout, and what
   * runs 500 ms after it is cut. Then its timers and sockets are gone. Later calls answer the same promise.
   */
  readonly close: (options?: WaitOptions) => Promise<CloseResult<Payload<Event>>>
}
