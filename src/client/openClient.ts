import { backgroundClock, steady } from '../clock/Clock.ts'
import type { Clock } from '../clock/Clock.ts'
import { trackingFrame } from '../event/tracking/trackingFrame.ts'
import { version } from '../internal/version.ts'
import { hearing } from '../observe/hearing.ts'
import { listeners } from '../observe/listeners.ts'
import { hot } from '../observe/streams/hot.ts'
import { iterate } from '../observe/streams/iterate.ts'
import { timeoutOf } from '../observe/timeoutOf.ts'
import type { Outcome } from '../outcome/Outcome.ts'
import type { Closing } from '../outbox/relay/closeRelay.ts'
import { relay } from '../outbox/relay/relay.ts'
import type { Sink } from '../sink/Sink.ts'
import { doorway } from '../sources/doorway.ts'
import type { AnyEvents, AnyTraits, Client, EventTypes, Traits } from './Client.ts'
import { closing } from './closing.ts'
import { encoderOf } from './encoderOf.ts'
import { entrance } from './entrance.ts'
import { draining } from './host/draining.ts'
import { hostClock } from './host/hostClock.ts'
import { hostRandom } from './host/hostRandom.ts'
import { lifetime } from './host/lifetime.ts'
import type { Message, MessageBatch } from './Message.ts'
import { accounts } from './queue/accounts.ts'
import { endings } from './queue/endings.ts'
import { flushing } from './queue/flushing.ts'
import { handover } from './queue/handover.ts'
import { outboxOf } from './queue/outboxOf.ts'
import { shards } from './queue/shards.ts'
import { withdrawing } from './queue/withdrawing.ts'
import type { ClientSettings } from './settingsOf.ts'
import { sinkOf } from './sinkOf.ts'

/** A close may take so long unless it is told otherwise (DE15). */
const CLOSE_WITHIN = 30_000

const LIBRARY = { name: 'headrace-node', version }

/** Where the requests of a client go. */
export interface Requests {
  /** With a limit of time of its own, by the clock that it is given. */
  readonly sinkOn: (clock: Clock) => Sink<MessageBatch>
  /** Whether it is the client's to close. */
  readonly closes: boolean
}

/** A client at work over whatever its requests go to: all that `Client` promises. */
export const openClient = <E extends EventTypes = AnyEvents, T extends Traits = AnyTraits>(
  settings: ClientSettings,
  { sinkOn, closes }: Requests,
): Client<E, T> => {
  const { concurrency, key, timeout } = settings
  const books = accounts(settings)
  const tell = listeners(settings, books.tell)
  const hears = hearing(settings)
  const clock = settings.ownsClock
    ? settings.clock
    : hostClock(settings.clock, (error) => {
        tell({ _tag: 'Defect', at: backgroundClock.now(), where: 'clock', error })
      })
  const now = steady(clock)
  const defect = (where: string, error: unknown): void => {
    tell({ _tag: 'Defect', at: now(), where, error })
  }
  const defectIn =
    (where: string) =>
    (error: unknown): void => {
      defect(where, error)
    }
  let closed: Promise<Closing<Message>> | undefined

  const outcomes = hot<Outcome<Message>>(defectIn('a subscriber of outcomes$'))
  const flushes = flushing(clock, books.totals)
  const door = doorway(books.room)
  const life = lifetime({
    waitUntil: settings.waitUntil,
    drain:
      settings.drainWithin === undefined
        ? undefined
        : () => {
            drain()
          },
    defect: defectIn('waitUntil'),
  })
  const ends = endings({
    accounts: books,
    flushes,
    outcomes,
    tell,
    hears,
    now,
    restores: settings.outbox !== undefined,
    freed: () => {
      door.freed()
      onTheWay.go()
      if (books.waiting() === 0) life.idle()
    },
  })

  const { outbox, own } = outboxOf(settings, defectIn('outbox'))
  const sink = sinkOf(sinkOn(clock), { clock, concurrency, tell, request: books.request })
  const work = relay<MessageBatch>({
    sink,
    outbox,
    retry: settings.retry,
    clock,
    random: hostRandom(settings.random, defectIn('random')),
    inRound: concurrency,
    // Of messages it is told here, and a batch is none of the caller's.
    tell: (happening) => {
      if (happening._tag !== 'Accepted' && happening._tag !== 'Ended') tell(happening)
    },
    ended: ends.end,
    // Others may have made room in the outbox.
    news: () => {
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
      batch: (batch) => {
        books.batch()
        ends.begin(batch)
        onTheWay.push(batch)
      },
      decided: onTheWay.go,
    },
  )

  const take = entrance({
    settings,
    books,
    flushes,
    ends,
    encode: encoderOf({
      clock,
      defect,
      key,
      library: LIBRARY,
      maxMessage: settings.maxMessage,
      defaults: settings.defaults,
      newId: settings.newId,
      onDropped: (keys) => {
        tell({ _tag: 'KeysDropped', at: now(), keys })
      },
      hearsDropped: () => hears('KeysDropped'),
    }),
    isClosed: () => closed !== undefined,
    dropOldest: withdrawing({ outbox: own, relay: work, onTheWay, filling, ends }),
    put: filling.offer,
    closeOpen: () => {
      filling.close('flush')
    },
    go: onTheWay.go,
    busy: life.busy,
    door,
    tell,
    hears,
    now,
  })

  const send = (closedBy: 'flush' | 'end'): void => {
    filling.close(closedBy)
    onTheWay.go()
  }

  const end = closing({
    relay: work,
    clock,
    onTheWay,
    ends,
    outbox,
    sink: closes ? sink : undefined,
    timeout,
    defect,
  })

  const shutDown = async (within: number, lastAttempt: number): Promise<Closing<Message>> => {
    send('end')
    await end(within, lastAttempt)
    flushes.over()
    life.idle()
    outcomes.complete()
    return { totals: books.totals(), abandoned: ends.abandoned() }
  }

  const close = (within: number, lastAttempt: number): Promise<Closing<Message>> => {
    // A turn later, so that whoever closes inside a callback of the close finds the same promise.
    closed ??= life.held(Promise.resolve().then(() => shutDown(within, lastAttempt)))
    door.open()
    return closed
  }

  const drain = draining({
    relay: work,
    clock,
    within: settings.drainWithin ?? 0,
    begin: () => {
      send('flush')
    },
    waiting: books.waiting,
    isHandedOver: onTheWay.isEmpty,
    hold: life.hold,
    giveUp: () => {
      void close(0, 0)
    },
  })

  return {
    identify: (call) => take(call, 'identify'),
    track: (call) => take(call, 'track'),
    page: (call) => take(call, 'page'),
    screen: (call) => take(call, 'screen'),
    group: (call) => take(call, 'group'),
    alias: (call) => take(call, 'alias'),
    send: (call) => take(call, undefined),
    ready: () => (books.boundFor(0) === undefined ? door.pass() : life.held(door.pass())),
    flush: (options) => {
      const within = timeoutOf(options, undefined, defectIn('the timeout of flush'))
      filling.close('flush')
      // Before anything is told of: what somebody sends when he hears of it is no longer waited for.
      const ended = flushes.flush(within)
      onTheWay.go()
      return books.waiting() === 0 ? ended : life.held(ended)
    },
    close: (options) => close(timeoutOf(options, CLOSE_WITHIN, defectIn('the timeout of close')), timeout),
    outcomes$: outcomes.values$,
    outcomes: () => iterate(outcomes.values$),
    stats: () => ({ ...books.stats(), enabled: settings.enabled }),
    [Symbol.asyncDispose]: async () => {
      await close(CLOSE_WITHIN, timeout)
    },
  }
}
