/**
 * What a client is, for its users.
 *
 * @module
 */
import type { Either } from 'fp-ts/lib/Either.js'
import type { Observable } from 'rxjs'
import type { WaitOptions } from '../core/options.ts'
import type { Accepted, Outcome } from '../core/outcome.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Totals } from '../core/totals.ts'
import type {
  AliasCall,
  Data,
  GroupCall,
  IdentifyCall,
  PageCall,
  ScreenCall,
  TrackCall,
} from '../event/model.ts'
import type { CloseResult } from '../outbox/close.ts'
import type { Message } from './message.ts'

/** Events by name, each with the type of its properties: an interface or a type of your own. */
export type EventTypes = object

/** Any event, with any properties. @inline */
export type AnyEvents = Readonly<Record<string, Data>>

/** What is known about users: an interface or a type of your own. */
export type Traits = object

/** Any traits. @inline */
export type AnyTraits = Data

/** The user of a call: one of the two ids must be given, and both are sent if both are given. */
export type Identity =
  | { readonly userId: string; readonly anonymousId?: string }
  | { readonly userId?: string; readonly anonymousId: string }

/** A call as its method takes it: the method gives the kind, so `type` may be left out. */
type ByMethod<C extends { readonly type: string }> = Omit<C, 'type' | 'userId' | 'anonymousId'> & {
  readonly type?: C['type']
}

type PropertiesOf<P> = Partial<P> extends P ? { readonly properties?: P } : { readonly properties: P }

/** What `identify` takes. Any part of the traits may be given. @inline */
export type IdentifyInput<T extends Traits = AnyTraits> = Omit<ByMethod<IdentifyCall>, 'traits'> &
  Identity & { readonly traits?: Partial<T> }

/** What `track` takes: the name of an event and its properties, which may be left out if all of them are optional. @inline */
export type TrackInput<
  E extends EventTypes = AnyEvents,
  Name extends keyof E & string = keyof E & string,
> = Name extends string
  ? Omit<ByMethod<TrackCall>, 'event' | 'properties'> &
      Identity & { readonly event: Name } & PropertiesOf<E[Name]>
  : never

/** What `page` takes. It needs a `userId`. @inline */
export type PageInput = ByMethod<PageCall> & { readonly userId: string; readonly anonymousId?: string }

/** What `screen` takes. @inline */
export type ScreenInput = ByMethod<ScreenCall> & Identity

/** What `group` takes. The traits are the group's. @inline */
export type GroupInput = ByMethod<GroupCall> & Identity

/** What `alias` takes: the old id and the new one. @inline */
export type AliasInput = ByMethod<AliasCall> & { readonly userId: string; readonly anonymousId?: string }

/** A call with its `type`. */
export type ClientCall =
  IdentifyCall | TrackCall | (PageCall & { readonly userId: string }) | ScreenCall | GroupCall | AliasCall

/** The counters of a client. accepted = delivered + rejected + expired + dropped + abandoned + waiting, in messages. */
export interface ClientStats extends Totals {
  readonly enabled: boolean
  /** Calls that were refused. */
  readonly refused: number
  /** The same by reason. */
  readonly refusedBy: Readonly<Record<Refusal['_tag'], number>>
  /** What was accepted and has not ended: as `maxBytes` counts it, with an `outbox` in bytes of JSON. */
  readonly bytes: number
  /** Messages that wait and are not on a disk: a crash now would lose them. Without a folder that is all that waits. */
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
 * The six methods and `send` answer at once and never throw: `Right({ id })` when the message was accepted, else `Left` with every fault;
 * then nothing was queued. A call is encoded at once: changing its object afterwards changes nothing.
 */
export interface Client<
  E extends EventTypes = AnyEvents,
  T extends Traits = AnyTraits,
> extends AsyncDisposable {
  /** What is known about a user. */
  readonly identify: (call: IdentifyInput<T>) => Either<Refusal, Accepted>
  /** A user did something. */
  readonly track: (call: TrackInput<E>) => Either<Refusal, Accepted>
  /** A user saw a page. */
  readonly page: (call: PageInput) => Either<Refusal, Accepted>
  /** A user saw a screen of an app. */
  readonly screen: (call: ScreenInput) => Either<Refusal, Accepted>
  /** A user belongs to a group. */
  readonly group: (call: GroupInput) => Either<Refusal, Accepted>
  /** Two ids are one user. */
  readonly alias: (call: AliasInput) => Either<Refusal, Accepted>
  /** Takes a call with its `type`: a line of NDJSON, or a message that was handed back (`client.send(JSON.parse(message.text))`). */
  readonly send: (call: ClientCall) => Either<Refusal, Accepted>
  /** Resolves when there is room for one more message, or the client is closed. Callers continue in their order. */
  readonly ready: () => Promise<void>
  /**
   * Resolves with true when everything accepted before is on the disk, or has ended: from then on a crash loses none of it. With false
   * when the `timeout` is over, when it is closed before, and without a folder (`outbox: { path }`). A disk that fails is tried again every
   * second. Never rejects.
   */
  readonly persisted: (options?: WaitOptions) => Promise<boolean>
  /**
   * Sends what waits, and resolves with the totals when everything accepted before has ended, and its outcomes were reported. Messages
   * accepted later are not waited for; messages that a folder held at the start are. Flushes that overlap share one drain. With a `timeout`
   * it resolves then at the latest. It shortens no delay of a retry. Never rejects.
   */
  readonly flush: (options?: WaitOptions) => Promise<Totals>
  /**
   * Refuses new calls, sends what waits, lets retries that are due in time and requests in flight end, and resolves with the
   * totals and the messages that are handed back. `timeout` is the time in which retries may still start: 0 for none, `Infinity` to
   * wait for every outcome; default 30,000. A request in flight then has the time of one more. Afterwards no timer and no socket
   * is left. Calling it again answers the same promise. Never rejects.
   */
  readonly close: (options?: WaitOptions) => Promise<CloseResult<Message>>
  /**
   * The outcome of each accepted message. Hot: subscribe before sending. Completes when the client is closed. A subscriber may send, flush
   * and close inside `next`. What it throws, or rejects with, is reported as a `Defect` and logged.
   */
  readonly outcomes$: Observable<Outcome<Message>>
  /** Each call that was refused, with the reason. Hot, like `outcomes$`: for calls whose answers nothing looks at. */
  readonly refusals$: Observable<Refusal>
  /** The counters, as they are now. */
  readonly stats: () => ClientStats
}
