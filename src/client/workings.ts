import { steady } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import { trackingFrame } from '../event/trackingMessage.ts'
import type { LogEvent, Listener } from '../log/logEvent.ts'
import type { Hot } from '../log/streams.ts'
import type { Outcome } from '../core/outcome.ts'
import { fromOld } from '../outbox/oldOutbox.ts'
import type { Relay } from '../outbox/relay.ts'
import { isStoredIn } from '../outbox/lmdb/LmdbContract.ts'
import type { StoredOutbox } from '../outbox/lmdb/storedOutbox.ts'
import { relay } from '../outbox/relay.ts'
import type { Sink } from '../sink/sink.ts'
import { closing } from './closing.ts'
import { hostRandom } from './host/hostRandom.ts'
import { keeping } from './keeping/keeping.ts'
import type { Keeping } from './keeping/keeping.ts'
import { isMessageBatch } from './Message.ts'
import type { Message, MessageBatch, SentBatch } from './Message.ts'
import type { Accounts } from './queue/accounts.ts'
import { endings } from './queue/endings.ts'
import type { Endings } from './queue/endings.ts'
import type { Flushing } from './queue/flushing.ts'
import { handover } from './queue/handover.ts'
import type { Handover } from './queue/handover.ts'
import { outboxOf } from './queue/outboxOf.ts'
import { shards } from './queue/shards.ts'
import type { Shards } from './queue/shards.ts'
import { withdrawing } from './queue/withdrawing.ts'
import type { ClientSettings } from './settingsOf.ts'
import { sinkOf } from './sinkOf.ts'

/** Where the requests of a client go. */
export interface Requests {
  /** With a limit of time of its own, by the clock that it is given. */
  readonly sinkOn: (clock: Clock) => Sink<SentBatch>
  /** Whether it is the client's to close. */
  readonly closes: boolean
}

/** What stands around the workings. */
export interface WorkingsParts {
  readonly settings: ClientSettings
  readonly requests: Requests
  /** The folder of the client, if it has one. */
  readonly store: StoredOutbox<MessageBatch> | undefined
  readonly books: Accounts
  readonly flushes: Flushing
  readonly outcomes: Hot<Outcome<Message>>
  readonly clock: Clock
  readonly onEvent: Listener
  readonly hears: (tag: LogEvent['_tag']) => boolean
  /** Room was made. */
  readonly freed: () => void
  readonly defect: (where: string, error: unknown) => void
}

/** What a client is without its door: from the moment when a message is in its batch until its outcome. */
export interface Workings {
  readonly relay: Relay<MessageBatch>
  readonly ends: Endings
  readonly filling: Shards
  readonly onTheWay: Handover
  /** The messages on a disk, if there is one. */
  readonly keeping: Keeping | undefined
  /** Drops the oldest; false if there is nothing to drop. */
  readonly dropOldest: () => boolean
  /** Whether a closed batch is in memory that will make room there. */
  readonly isAnyLeaving: () => boolean
  /** Whether all that waits is what the outbox cannot read, which will not end. */
  readonly isAllUnreadable: () => boolean
  /** As `closing`. */
  readonly end: (within: number, lastAttempt: number) => Promise<void>
}

/** The workings of a client, over whatever its requests go to. */
export const workings = (parts: WorkingsParts): Workings => {
  const { settings, requests, store, books, flushes, outcomes, clock, onEvent, hears, freed, defect } = parts
  const { concurrency, key, outbox: given, timeout } = settings
  const now = steady(clock)
  const defectIn =
    (where: string) =>
    (error: unknown): void => {
      defect(where, error)
    }
  const restores = (): 'counted' | 'uncounted' | false => {
    if (given === undefined) return false
    return isStoredIn(given) ? 'counted' : 'uncounted'
  }

  const ends = endings({
    accounts: books,
    flushes,
    outcomes,
    onEvent,
    hears,
    now,
    restores: restores(),
    freed: () => {
      freed()
      onTheWay.go()
    },
  })

  const persisted =
    store &&
    keeping({
      store,
      clock,
      eachOpen: (look) => {
        filling.each(look)
      },
      kept: (batches) => {
        for (const batch of batches) books.keep(batch)
        freed()
        // They were offered before they were there, and a disk that failed may have kept them waiting.
        if (batches.length > 0) work.poll()
      },
      ended: books.keep,
      leaving: () => {
        work.poll()
      },
      defect: defectIn('outbox'),
    })
  for (const batch of persisted?.restored ?? []) books.hold(batch)

  const { outbox, own } = outboxOf(
    settings,
    persisted === undefined ? (isStoredIn(given) ? undefined : given) : fromOld(persisted.outbox),
    defectIn('outbox'),
  )
  const sink = sinkOf(requests.sinkOn(clock), {
    clock,
    concurrency,
    onEvent,
    request: books.request,
    sending: ends.sending,
  })
  const work = relay<MessageBatch>({
    sink,
    outbox,
    retry: settings.retry,
    clock,
    random: hostRandom(settings.random, defectIn('random')),
    maxInFlight: concurrency,
    // Of messages it is told here, and a batch is none of the caller's.
    onEvent: (happening) => {
      if (happening._tag !== 'Accepted' && happening._tag !== 'Ended') onEvent(happening)
    },
    ended: (outcome) => {
      if (isMessageBatch(outcome.item)) ends.end(outcome)
      else defect('outbox', new TypeError('an entry is no batch of messages any more, and was not sent'))
    },
    // Others may have made room in the outbox.
    storeChanged: () => {
      onTheWay.go()
    },
  })
  const onTheWay = handover({
    offer: work.offer,
    clock,
    defect: (error, batch) => {
      ends.doubt(batch)
      defect('outbox', error)
    },
  })
  const filling = shards(
    {
      count: key === undefined ? 1 : concurrency,
      maxCount: settings.size,
      maxBytes: settings.maxBatch,
      maxDelay: settings.flushAfter,
      frame: trackingFrame,
      clock,
    },
    {
      batch: (batch, lane) => {
        books.batch()
        ends.begin(batch)
        persisted?.closed(batch, lane)
        onTheWay.push(batch)
      },
      decided: onTheWay.go,
    },
  )

  return {
    relay: work,
    ends,
    filling,
    onTheWay,
    keeping: persisted,
    dropOldest: withdrawing({ outbox: own, relay: work, onTheWay, filling, ends }),
    isAnyLeaving: persisted?.isAnyLeaving ?? ends.isAnyLive,
    isAllUnreadable: () =>
      (store?.stats().unreadable ?? 0) > 0 &&
      onTheWay.isEmpty() &&
      !filling.isAnyOpen() &&
      persisted?.isAnyLeaving() !== true &&
      !work.hasWorkBefore(Infinity),
    end: closing({
      relay: work,
      clock,
      onTheWay,
      keeping: persisted,
      ends,
      outbox,
      sink: requests.closes ? sink : undefined,
      timeout,
      defect,
    }),
  }
}
