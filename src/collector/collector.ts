import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Either } from 'fp-ts/lib/Either.js'
import type { Observable } from 'rxjs'
import type { Outcome } from '../core/outcome.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Totals } from '../core/totals.ts'
import type {
  Accepted,
  CloseOptions,
  DestinationOptions,
  DestinationStats,
} from '../destination/destination.ts'
import type { Workings } from '../destination/worker.ts'
import type { Event } from '../event/event.ts'
import type { Payload } from '../event/payload.ts'
import type { EndedDeadLetter } from '../outbox/outbox.ts'

/** A destination at work. */
export interface Place {
  readonly name: string
  readonly work: Workings
  enabled: boolean
}

/** A source at work. */
export interface Source {
  readonly id: string
  readonly enabled: boolean
  readonly deletions: boolean
  /** The destinations that are connected to it, in the order of the settings. */
  readonly places: ReadonlyArray<Place>
  received: number
  accepted: number
}

/**
 * What may be set beside the settings. What it has in common with a destination's options holds for each of its destinations. All numbers
 * must be whole numbers from 1.
 */
export interface CollectorOptions extends Omit<DestinationOptions, 'outbox'> {
  /**
   * Where the events of a destination wait whose settings name no folder, by its name; default a memory of its own for each. Called once for
   * each, at the start.
   */
  readonly outbox?: (destination: string) => NonNullable<DestinationOptions['outbox']>
  /**
   * What happens when a destination is at its bound (CO1). `deadLetter`: its share goes to its dead letters, and its outcome says so.
   * `refuse`: the whole request is answered 503 before anything of it is stored. Default `deadLetter`.
   */
  readonly whenFull?: 'deadLetter' | 'refuse'
  /** Bytes of one message's JSON; default 32,768 (BY2). */
  readonly maxMessage?: number
  /** Bytes of a request's body, as it comes and decompressed; default 512,000 (BY2). */
  readonly maxBatch?: number
  /** Milliseconds in which a body must have come whole; default 30,000. Then the answer is 408. */
  readonly uploadTimeout?: number
  /**
   * Bytes of all bodies that have begun to come and are not whole yet, and as many for those that are being decompressed; default
   * 67,108,864. Beyond it the answer is 503.
   */
  readonly maxUploading?: number
}

/** How an event ended at one of its destinations. */
export interface DestinationOutcome {
  /** The name of the destination. */
  readonly destination: string
  readonly outcome: Outcome<Payload<Event>>
}

/** Which sources a deletion concerns. */
export interface DeletionOptions {
  /** Ids of sources; default all. */
  readonly sources?: ReadonlyArray<string>
}

/** What a deletion request led to. */
export interface Deletion {
  /** One for each source and each enabled destination that is connected to it (CO2). */
  readonly notifications: number
}

/** What came from one source: received = accepted + refused. */
export interface SourceStats {
  readonly received: number
  readonly accepted: number
  readonly refused: number
}

/** How a collector stands: received = accepted + refused, in messages. */
export interface CollectorStats extends SourceStats {
  /** Refused messages by why. */
  readonly reasons: Readonly<Record<Refusal['_tag'], number>>
  /** Accepted, though no destination wanted them. */
  readonly unrouted: number
  /**
   * Notifications of the deletion requests that were answered yes. They are no messages. Of a request that some destination could not store
   * none is counted, though those of the others are on their way, and come again when it is repeated.
   */
  readonly deletions: number
  /** HTTP answers by their status. */
  readonly answers: Readonly<Record<string, number>>
  /** By id. */
  readonly sources: Readonly<Record<string, SourceStats>>
  /** By name. */
  readonly destinations: Readonly<Record<string, DestinationStats>>
}

/** What a close resolves with. */
export interface CollectorClosing {
  /** Of all destinations together: an event that went to two of them counts twice. */
  readonly totals: Totals
  /** What each destination hands back, by its name. Nothing of one with a durable outbox, which keeps it. */
  readonly abandoned: Readonly<Record<string, ReadonlyArray<Payload<Event>>>>
}

/** A collector at work. Its functions need no `this`, so they can be handed on as they are. */
export interface Collector extends AsyncDisposable {
  /** Answers a web-standard request (CO4). Never rejects. The path may stand behind a prefix: what counts is how it ends. */
  readonly handle: (request: Request) => Promise<Response>
  /**
   * The same for `node:http`: `createServer(collector.listener)`, and `app.use('/v1', collector.listener)` in Express. If a framework has
   * parsed the body already, it takes it from `request.body`. It answers every request, so nothing comes after it.
   */
  readonly listener: (request: IncomingMessage, response: ServerResponse) => void
  /**
   * Takes one message of a source from code, as if it had come over HTTP, or says why not. Never rejects. It is resolved when what it
   * accepted is as durable as the outboxes promise.
   */
  readonly accept: (source: string, message: unknown) => Promise<Either<Refusal, Accepted>>
  /**
   * Has a user forgotten (CO2): one notification for each affected source and each enabled destination connected to it. Integrations do
   * not apply, and a source that is off is affected too. Never rejects.
   */
  readonly requestDeletion: (userId: string, options?: DeletionOptions) => Promise<Either<Refusal, Deletion>>
  /** Switches a destination on. False if none has this name. */
  readonly enable: (destination: string) => boolean
  /** Switches a destination off: it gets nothing new, and what was accepted before goes on (DE14). False if none has this name. */
  readonly disable: (destination: string) => boolean
  /**
   * Each accepted event's one outcome at each of its destinations. Hot; completes when the collector is closed. What a subscriber throws
   * is told as a `Defect`, and harms nobody (CL5).
   */
  readonly outcomes$: Observable<DestinationOutcome>
  readonly stats: () => CollectorStats
  /** Resolves with the totals of all destinations when each has come to rest, or is closed. Shortens no delay. */
  readonly idle: () => Promise<Totals>
  /** Puts dead letters of a destination back to wait. Answers how many; 0 if none has this name, or it is closed. */
  readonly redrive: (
    destination: string,
    matches?: (letter: EndedDeadLetter<Payload<Event>>) => boolean,
  ) => Promise<number>
  /**
   * Answers new requests 503, and uploads that are not whole too, and closes all destinations side by side (DE15). Calling it again answers
   * the same promise. Servers are the host's: close yours as well.
   */
  readonly close: (options?: CloseOptions) => Promise<CollectorClosing>
}
