import type { Either } from 'fp-ts/lib/Either.js'
import type { Observable } from 'rxjs'
import type {
  AliasCall,
  Data,
  GroupCall,
  IdentifyCall,
  PageCall,
  ScreenCall,
  TrackCall,
} from '../event/call.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Refusal } from '../core/refusal.ts'
import type { Totals } from '../core/totals.ts'
import type { CloseResult } from '../outbox/close.ts'
import type { Message } from './Message.ts'

/** Events by name, each with the type of its properties: an interface or a type of your own. */
export type EventTypes = object

/** Any event, with any properties. */
export type AnyEvents = Readonly<Record<string, Data>>

/** What is known about users: an interface or a type of your own. */
export type Traits = object

/** Any traits. */
export type AnyTraits = Data

/** Whom a call is about: one of the two ids must be there, and both are kept when both are known (seed/B2). */
export type Identity =
  | { readonly userId: string; readonly anonymousId?: string }
  | { readonly userId?: string; readonly anonymousId: string }

/** A call as its method takes it: the method says the kind, so `type` may be left out. */
type ByMethod<C extends { readonly type: string }> = Omit<C, 'type' | 'userId' | 'anonymousId'> & {
  readonly type?: C['type']
}

type PropertiesOf<P> = Partial<P> extends P ? { readonly properties?: P } : { readonly properties: P }

/** What `identify` takes. Of the traits it may name a part. */
export type Identify<T extends Traits = AnyTraits> = Omit<ByMethod<IdentifyCall>, 'traits'> &
  Identity & { readonly traits?: Partial<T> }

/**
 * What `track` takes: the name of an event and its properties, which may be left out if none of them must be there. One form for each
 * name.
 */
export type Track<
  E extends EventTypes = AnyEvents,
  Name extends keyof E & string = keyof E & string,
> = Name extends string
  ? Omit<ByMethod<TrackCall>, 'event' | 'properties'> &
      Identity & { readonly event: Name } & PropertiesOf<E[Name]>
  : never

/** What `page` takes. It needs a `userId` (EV4, seed/B2). */
export type Page = ByMethod<PageCall> & { readonly userId: string; readonly anonymousId?: string }

/** What `screen` takes. */
export type Screen = ByMethod<ScreenCall> & Identity

/** What `group` takes. The traits are the group's. */
export type Group = ByMethod<GroupCall> & Identity

/** What `alias` takes: the old id and the new one. */
export type Alias = ByMethod<AliasCall> & { readonly userId: string; readonly anonymousId?: string }

/** A call that says its kind itself. */
export type ClientCall =
  IdentifyCall | TrackCall | (PageCall & { readonly userId: string }) | ScreenCall | GroupCall | AliasCall

/** What a client answers for a call that it took into keeping. */
export interface Accepted {
  /** The message id: given, or made. */
  readonly id: string
}

/** How a client stands. accepted = delivered + rejected + expired + dropped + abandoned + waiting, in messages. */
export interface ClientStats extends Totals {
  readonly enabled: boolean
  /** Turned away at the door. */
  readonly refused: number
  /** The same by reason. */
  readonly refusedBy: Readonly<Record<Refusal['_tag'], number>>
  /** Bytes of JSON that were accepted and have not ended. */
  readonly bytes: number
  /** Messages that wait and are not on a disk: what a crash would lose now. Without a folder that is all that waits. */
  readonly notPersisted: number
  /** Batches that were closed and handed on. */
  readonly batches: number
  /** Attempts at a batch: one for each round, however many requests it took. */
  readonly attempts: number
  /** Requests that were started; more than attempts where a refused batch was divided (CL4). */
  readonly requests: number
}

/** How long somebody waits. What is no number of at least 0 is told as a `Defect`, and the default is taken. */
export interface WithinOptions {
  /** Milliseconds. */
  readonly timeout?: number
}

/**
 * A client at work: it takes calls, gathers them into batches, and sees each message to its one outcome (seed, part B).
 *
 * The six methods and `send` answer at once, make no request themselves, and never throw (CL1): `Right({ id })` when the message is in
 * keeping, else `Left` with every fault, before anything is queued. What was accepted is text already: changing the call
 * afterwards changes nothing (EV8).
 */
export interface Client<
  E extends EventTypes = AnyEvents,
  T extends Traits = AnyTraits,
> extends AsyncDisposable {
  /** What is known about a user. */
  readonly identify: (call: Identify<T>) => Either<Refusal, Accepted>
  /** Somebody did something. */
  readonly track: (call: Track<E>) => Either<Refusal, Accepted>
  /** Somebody saw a page. */
  readonly page: (call: Page) => Either<Refusal, Accepted>
  /** Somebody saw a screen of an app. */
  readonly screen: (call: Screen) => Either<Refusal, Accepted>
  /** Somebody belongs to a group. */
  readonly group: (call: Group) => Either<Refusal, Accepted>
  /** Two ids are one person. */
  readonly alias: (call: Alias) => Either<Refusal, Accepted>
  /**
   * Takes a call that says its `type` itself: a line of NDJSON, or a message that was handed back
   * (`client.send(JSON.parse(message.text))`).
   */
  readonly send: (call: ClientCall) => Either<Refusal, Accepted>
  /** Resolves when there is room for one more, or it is closed; those who wait are let through in their order (CL2). */
  readonly ready: () => Promise<void>
  /**
   * Resolves with true when everything accepted before is on the disk, or has ended: from then on a crash loses none of it. With false when the
   * `timeout` is over, when it is closed before, and without a folder (`outbox: { path }`). A disk that fails is asked again every
   * second. Never rejects.
   */
  readonly persisted: (options?: WithinOptions) => Promise<boolean>
  /**
   * Sends off what is there, and resolves with the totals when everything accepted before it has its outcome and the outcome was told;
   * what is accepted later is not waited for (CL3), nor is
   * what an earlier life left in a folder. Flushes that overlap share one drain, and nothing to wait for is no wait. With a
   * `timeout` it resolves then at the latest, with the totals so far. It shortens no delay of a retry. Never rejects.
   */
  readonly flush: (options?: WithinOptions) => Promise<Totals>
  /**
   * Refuses new calls, sends off what is there, lets retries that are due in time and requests in flight end, and resolves with the
   * totals and the messages that are handed back (DE15). `timeout` is the time in which retries may still start: 0 for none, `Infinity` to
   * wait for every outcome; default 30,000. A request in flight then has the time of one more. Afterwards no timer and no socket
   * is left. Calling it again answers the same promise. Never rejects.
   */
  readonly close: (options?: WithinOptions) => Promise<CloseResult<Message>>
  /**
   * Each accepted message's one outcome. Hot: subscribe before sending. Completes when the client is closed. A subscriber may send, flush
   * and close inside `next`. What it throws, or rejects with, is told as a `Defect` and logged, and harms nobody (CL5). A member of
   * a batch has the attempts of its batch.
   */
  readonly outcomes$: Observable<Outcome<Message>>
  readonly stats: () => ClientStats
}
