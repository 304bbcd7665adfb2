/** The client, as its users see it. @module */
import type { Observable } from 'rxjs'
import type { Either } from '../core/either.ts'
import type { WaitOptions } from '../core/options.ts'
import type { Accepted, Outcome, Totals } from '../core/outcome.ts'
import type { Refusal } from '../core/refusal.ts'
import type { AliasCall, Data, GroupCall, IdentifyCall, PageCall, ScreenCall } from '../event/model.ts'
import type { TrackCall } from '../event/model.ts'
import type { HostedPart } from '../log/lifecycle.ts'
import type { CloseResult } from '../outbox/close.ts'
import type { OwnDeadLetters } from '../outbox/deadLetters.ts'
import type { RelayStats } from '../outbox/ledger.ts'
import type { Message } from './message.ts'

/** Events by name, with the types of their properties: an interface or a type of yours; `object`: any. */
export type EventTypes = object

/** Mapped, because TypeScript 5 would not take a client of more events for one of some of them. */
type EventsOf<E> = [keyof E] extends [never] ? Readonly<Record<string, Data>> : { [K in keyof E]: E[K] }

/** Data about a user: an interface or a type of your own. `object`: any. */
export type Traits = object

/** The user of a call: one of the two ids must be given, and both are sent if both are given. */
export type Identity =
  | { readonly userId: string; readonly anonymousId?: string }
  | { readonly userId?: string; readonly anonymousId: string }

/** A call as its method takes it: the method gives the kind, so `type` may be left out. */
type ByMethod<C extends { readonly type: string }> = Omit<C, 'type' | 'userId' | 'anonymousId'> & {
  readonly type?: C['type']
}

type PropertiesOf<P> =
  Partial<P> extends P | Record<string, undefined> ? { readonly properties?: P } : { readonly properties: P }

/** The input of `identify`. Any part of the traits may be given. @inline */
type IdentifyInput<T extends Traits> = Omit<ByMethod<IdentifyCall>, 'traits'> &
  Identity & { readonly traits?: [keyof T] extends [never] ? Data : T | Partial<T> }

/**
 * The input of `track`: an event's name and its properties, which may be left out if all are optional.
 * @inline
 */
type TrackInput<E extends EventTypes, Name extends keyof E & string = keyof E & string> = Name extends string
  ? Omit<ByMethod<TrackCall>, 'event' | 'properties'> &
      Identity & { readonly event: Name } & PropertiesOf<E[Name]>
  : never

/** The input of `page`. It needs a `userId`. @inline */
type PageInput = ByMethod<PageCall> & { readonly userId: string; readonly anonymousId?: string }

/** The input of `screen`. @inline */
type ScreenInput = ByMethod<ScreenCall> & Identity

/** The input of `group`. The traits are the group's. @inline */
type GroupInput = ByMethod<GroupCall> & Identity

/** The input of `alias`: the old id and the new one. @inline */
type AliasInput = ByMethod<AliasCall> & { readonly userId: string; readonly anonymousId?: string }

/** A call with its `type`. */
export type ClientCall =
  IdentifyCall | TrackCall | (PageCall & { readonly userId: string }) | ScreenCall | GroupCall | AliasCall

/**
 * The counters of a client, in messages. accepted = delivered + rejected + expired + dropped + abandoned +
 * waiting.
 */
export interface ClientStats extends RelayStats {
  /** Calls that were refused. */
  readonly refused: number
  /** The same by reason. */
  readonly refusedBy: Readonly<Record<Refusal['_tag'], number>>
  /** Bytes of accepted messages without an outcome: as `maxBytes` counts them; with an `outbox`, of JSON. */
  readonly bytes: number
  /** Waiting messages that no `outbox` has yet: a crash would lose them. Without an `outbox`, all of them. */
  readonly notPersisted: number
  /** Batches that were sent, retries included. */
  readonly batches: number
  /** Attempts at a batch: one for each batch that was sent, however many requests it took. */
  readonly attempts: number
  /** Requests that were started; more than attempts where a refused batch was divided. */
  readonly requests: number
}

/**
 * A client: it takes calls, sends them in batches, and reports one outcome for each message.
 *
 * The six methods and `send` answer at once and never throw: `Right({ id })` when the message was accepted,
 * else `Left` with every fault; then nothing was queued. A call is encoded at once: later changes of its
 * object have no effect.
 */
export interface Client<E extends EventTypes = EventTypes, T extends Traits = Traits>
  extends AsyncDisposable, HostedPart {
  /** Sets data about a user. */
  readonly identify: (call: IdentifyInput<T>) => Either<Refusal, Accepted>
  /** A user did something. */
  readonly track: (call: TrackInput<EventsOf<E>>) => Either<Refusal, Accepted>
  /** A user saw a page. */
  readonly page: (call: PageInput) => Either<Refusal, Accepted>
  /** A user saw a screen of an app. */
  readonly screen: (call: ScreenInput) => Either<Refusal, Accepted>
  /** A user belongs to a group. */
  readonly group: (call: GroupInput) => Either<Refusal, Accepted>
  /** Two ids are one user. */
  readonly alias: (call: AliasInput) => Either<Refusal, Accepted>
  /**
   * Takes a call with its `type`: a line of NDJSON, or a message that was handed back
   * (`client.send(JSON.parse(message.text))`).
   */
  readonly send: (call: ClientCall) => Either<Refusal, Accepted>
  /** Resolves when there is room for one more message, or the client is closed. In the order of the calls. */
  readonly ready: () => Promise<void>
  /**
   * Resolves with true when everything accepted before is on the disk, or has ended: from then on a crash
   * loses none of it. Resolves with false after `timeout`, on an earlier close, and without an `outbox` that
   * is durable. A disk that fails is tried again every second. Never rejects.
   */
  readonly persisted: (options?: WaitOptions) => Promise<boolean>
  /**
   * Sends waiting messages, and resolves with the totals when everything accepted before has ended and its
   * outcomes were reported. Messages accepted later are not waited for; messages that a folder held at the
   * start are, dead letters that are redriven meanwhile, and those of others in a queue that they share.
   * Flushes that overlap share one drain. With a `timeout` it resolves then at the latest. It shortens no
   * delay of a retry. Never rejects.
   */
  readonly flush: (options?: WaitOptions) => Promise<Totals>
  /**
   * Refuses new calls, sends waiting messages, lets retries that are due in time and requests in flight end,
   * and resolves with the totals and the messages that are handed back. Nothing starts in the last 500 ms of
   * `timeout`, and what is in flight is cut 500 ms after it; `Infinity` waits for every outcome; default
   * 30,000. Then its timers and sockets are gone. Calling it again answers the same promise. Never rejects.
   */
  readonly close: (options?: WaitOptions) => Promise<CloseResult<Message>>
  /**
   * The outcome of each accepted message. Hot: subscribe before sending. Completes when the client is closed.
   * A subscriber may send, flush and close inside `next`. Its errors and rejections are reported as a
   * `Defect` and logged.
   */
  readonly outcomes$: Observable<Outcome<Message>>
  /** The dead letters of its outbox; without the option `outbox` a client keeps none. */
  readonly dead: OwnDeadLetters<Message>
  /** The counters, as they are now. */
  readonly stats: () => ClientStats
}
