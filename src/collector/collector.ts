import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Observable } from 'rxjs'
import type { Either } from '../core/either.ts'
import type { WaitOptions } from '../core/options.ts'
import type { Accepted, Outcome, Totals } from '../core/outcome.ts'
import type { Closed, Fault, Refusal } from '../core/refusal.ts'
import type { DestinationOptions, DestinationStats } from '../destination/destination.ts'
import type { Event } from '../event/event.ts'
import type { Payload } from '../event/payload.ts'
import type { OwnDeadLetters } from '../outbox/deadLetters.ts'
import type { EndedDeadLetter } from '../outbox/outbox.ts'
import type { CollectorSettings } from './settings.ts'

/**
 * Options of a collector. Those of a destination hold for each of its destinations. Numbers are whole and
 * from 1. Unknown options are refused.
 */
export interface CollectorOptions extends Omit<DestinationOptions, 'name' | 'outbox' | 'meta'> {
  /** As that of a destination, with the headers of the request; without any for `accept`. */
  readonly meta?: (
    event: Event,
    headers: { readonly get: (name: string) => string | undefined },
  ) => Readonly<Record<string, string>> | undefined
  /**
   * Where the events of a destination wait, by its name, if its settings name no folder: an outbox, a
   * folder, or a factory, which gets the name as `owner`. Called when each is opened. Default: in memory,
   * each on its own.
   */
  readonly outbox?: (destination: string) => NonNullable<DestinationOptions['outbox']>
  /**
   * The policy for a full destination. `deadLetter`: its events become dead letters, with an outcome.
   * `refuse`: the whole request is answered 503 before anything is stored. Default `deadLetter`.
   */
  readonly whenFull?: 'deadLetter' | 'refuse'
  /** Bytes of one message's JSON. Default 32,768. */
  readonly maxMessageBytes?: number
  /** Bytes of a request's body, as it comes and decompressed. Default 512,000. */
  readonly maxBatchBytes?: number
  /** Milliseconds in which a body must be complete; then the answer is 408. Default 30,000. */
  readonly uploadTimeout?: number
  /**
   * Bytes of all requests that have no answer yet: their bodies, then five times their bytes and 1 KiB for
   * each message. Beyond it the answer is 503, except for one alone. Default 67,108,864.
   */
  readonly maxUploadBytes?: number
}

/** The outcome of an event at one of its destinations. */
export interface DestinationOutcome {
  /** The name of the destination. */
  readonly destination: string
  readonly outcome: Outcome<Payload<Event>>
}

/** The sources of a deletion. */
export interface DeletionOptions {
  /** Ids of sources. Default: all. */
  readonly sources?: ReadonlyArray<string>
}

/** An accepted deletion. */
export interface Deletion {
  /** One for each source and each enabled destination that is connected to it. */
  readonly notifications: number
}

/** Messages of one source: received = accepted + refused. */
export interface SourceStats {
  readonly received: number
  readonly accepted: number
  readonly refused: number
}

/** Counts of a collector, in messages: received = accepted + refused. */
export interface CollectorStats extends SourceStats {
  /** Refused messages by reason. */
  readonly reasons: Readonly<Record<Refusal['_tag'], number>>
  /** Accepted messages that no destination wanted. */
  readonly unrouted: number
  /** Notifications of accepted deletions. If one destination could not store a deletion, it counts none. */
  readonly deletions: number
  /** HTTP answers by status. */
  readonly answers: Readonly<Record<string, number>>
  /** By id. */
  readonly sources: Readonly<Record<string, SourceStats>>
  /** By name. */
  readonly destinations: Readonly<Record<string, DestinationStats>>
}

/** The result of a close. */
export interface CollectorClosing {
  /** Of all destinations together: an event that went to two of them counts twice. */
  readonly totals: Totals
  /** The events that were not delivered, by destination. None of a durable outbox, which keeps them. */
  readonly abandoned: Readonly<Record<string, ReadonlyArray<Payload<Event>>>>
}

/** A collector. Its functions need no `this`. */
export interface Collector extends AsyncDisposable {
  /** Answers a web `Request`. Never rejects. Only the end of the path counts: mount it under any prefix. */
  readonly handle: (request: Request) => Promise<Response>
  /**
   * The same for `node:http`: `createServer(collector.listener)`, or `app.use('/v1', collector.listener)` in
   * Express. If a framework has parsed the body, it uses `request.body`. It answers every request, so no
   * later handler is called.
   */
  readonly listener: (request: IncomingMessage, response: ServerResponse) => void
  /** Accepts a message of a source, as over HTTP, or answers why not. Resolves when stored. Never rejects. */
  readonly accept: (source: string, message: unknown) => Promise<Either<Refusal, Accepted>>
  /**
   * Requests the deletion of a user: one notification for each affected source and each enabled destination
   * connected to it. Integrations do not apply, and sources that are off are affected too. Never rejects.
   */
  readonly requestDeletion: (userId: string, options?: DeletionOptions) => Promise<Either<Refusal, Deletion>>
  /** Switches a destination on. False if there is none of this name. */
  readonly enable: (destination: string) => boolean
  /**
   * Switches a destination off: it gets no new events; earlier ones are still sent. False if there is none of
   * this name.
   */
  readonly disable: (destination: string) => boolean
  /**
   * One outcome for each accepted event at each of its destinations. Hot; completes when the collector is
   * closed. An error of a subscriber is logged as a `Defect`.
   */
  readonly outcomes$: Observable<DestinationOutcome>
  /** The counters, as they are now. */
  readonly stats: () => CollectorStats
  /**
   * Puts other settings into effect, all or nothing: `Left` has all faults, or `Closed` after a close, and
   * nothing has changed. A new destination is opened; a removed one refuses new events, sends waiting ones by
   * its last settings and is closed. The `sink`, its `sharedSecret` and the `outbox` of one that stays cannot
   * change. Without `enabled` its toggle stays.
   */
  readonly update: (settings: CollectorSettings) => Either<ReadonlyArray<Fault> | Closed, void>
  /** Resolves with the totals of all destinations when each of them is idle, or it is closed. */
  readonly idle: () => Promise<Totals>
  /** The dead letters of a destination; undefined if there is none of this name. */
  readonly dead: (destination: string) => OwnDeadLetters<Payload<Event>> | undefined
  /**
   * Moves dead letters of a destination back to wait. Answers how many; 0 if there is none of this name, or
   * it is closed.
   */
  readonly redrive: (
    destination: string,
    matches?: (deadLetter: EndedDeadLetter<Payload<Event>>) => boolean,
  ) => Promise<number>
  /**
   * Answers new requests and incomplete uploads 503, and closes all destinations at the same time. Later
   * calls answer the same promise. Close your server as well.
   */
  readonly close: (options?: WaitOptions) => Promise<CollectorClosing>
}
