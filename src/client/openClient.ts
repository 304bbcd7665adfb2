import { backgroundClock, steady } from '../core/clock.ts'
import { version } from '../core/version.ts'
import { isListening } from '../log/listeners.ts'
import { listeners } from '../log/listeners.ts'
import { hot } from '../log/streams.ts'
import { timeoutOf } from '../log/logger.ts'
import type { Outcome } from '../core/outcome.ts'
import type { CloseResult } from '../outbox/close.ts'
import { waitForRoom } from '../sources/waitForRoom.ts'
import type { AnyEvents, AnyTraits, Client, EventTypes, Traits } from './Client.ts'
import { encoderOf } from './encoderOf.ts'
import { entrance } from './entrance.ts'
import { draining } from './host/draining.ts'
import { hostClock } from './host/hostClock.ts'
import { lifetime } from './host/lifetime.ts'
import { openFolder } from './keeping/openFolder.ts'
import type { Message } from './Message.ts'
import { accounts } from './queue/accounts.ts'
import { flushing } from './queue/flushing.ts'
import type { ClientSettings } from './settingsOf.ts'
import { workings } from './workings.ts'
import type { Requests } from './workings.ts'

/** A close may take so long unless it is told otherwise (DE15). */
const CLOSE_WITHIN = 30_000

const LIBRARY = { name: 'headrace-node', version }

/**
 * A client at work over whatever its requests go to: all that `Client` promises. `open` opens its folder.
 *
 * @throws OutboxError when its folder cannot be opened.
 */
export const openClient = <E extends EventTypes = AnyEvents, T extends Traits = AnyTraits>(
  settings: ClientSettings,
  requests: Requests,
  open: typeof openFolder = openFolder,
): Client<E, T> => {
  const { key, timeout } = settings
  const store = open(settings)
  const books = accounts(settings, store?.stats())
  const onEvent = listeners(settings, books.onEvent)
  const hears = isListening(settings)
  const clock = settings.ownsClock
    ? settings.clock
    : hostClock(settings.clock, (error) => {
        onEvent({ _tag: 'Defect', at: backgroundClock.now(), where: 'clock', error })
      })
  const now = steady(clock)
  const defect = (where: string, error: unknown): void => {
    onEvent({ _tag: 'Defect', at: now(), where, error })
  }
  const defectIn =
    (where: string) =>
    (error: unknown): void => {
      defect(where, error)
    }
  let closed: Promise<CloseResult<Message>> | undefined

  /** Nobody waits for what will not end. */
  const rest = (): void => {
    if (books.waiting() === 0) life.idle()
    else if (work.isAllUnreadable()) {
      life.idle()
      flushes.rest()
    }
  }

  const outcomes = hot<Outcome<Message>>(defectIn('a subscriber of outcomes$'))
  const flushes = flushing(clock, books.totals)
  const door = waitForRoom(books.room)
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
  const work = workings({
    settings,
    requests,
    store,
    books,
    flushes,
    outcomes,
    clock,
    onEvent,
    hears,
    freed: () => {
      door.freed()
      rest()
    },
    defect,
  })
  const { ends, filling, keeping, onTheWay } = work
  // That the outbox cannot read something shows when it was asked for it, and no message ends then.
  if (settings.outbox !== undefined) work.relay.onChange(rest)
  // What an earlier life left waits here too.
  if (books.waiting() > 0 && !work.isAllUnreadable()) life.busy()

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
        onEvent({ _tag: 'UnknownKeys', at: now(), keys })
      },
      hearsDropped: () => hears('UnknownKeys'),
    }),
    isClosed: () => closed !== undefined,
    dropOldest: work.dropOldest,
    isAnyLeaving: work.isAnyLeaving,
    put: filling.offer,
    accepted: () => keeping?.accepted(),
    closeOpen: () => {
      filling.close('flush')
    },
    go: onTheWay.go,
    busy: life.busy,
    door,
    onEvent,
    hears,
    now,
  })

  const send = (closedBy: 'flush' | 'end'): void => {
    filling.close(closedBy)
    onTheWay.go()
  }

  const shutDown = async (within: number, lastAttempt: number): Promise<CloseResult<Message>> => {
    send('end')
    await work.end(within, lastAttempt)
    flushes.over()
    life.idle()
    outcomes.complete()
    return { totals: books.totals(), abandoned: ends.abandoned() }
  }

  const close = (within: number, lastAttempt: number): Promise<CloseResult<Message>> => {
    // A turn later, so that whoever closes inside a callback of the close finds the same promise.
    closed ??= life.held(Promise.resolve().then(() => shutDown(within, lastAttempt)))
    door.open()
    return closed
  }

  const drain = draining({
    relay: work.relay,
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

  const persisted = (within: number | undefined): Promise<boolean> => {
    const isKept = keeping?.whenKept() ?? Promise.resolve(false)
    if (within === undefined || within === Infinity) return isKept
    return new Promise((resolve) => {
      const cancel = clock.schedule(within, () => {
        resolve(false)
      })
      void isKept.then((answer) => {
        cancel()
        resolve(answer)
      })
    })
  }

  return {
    identify: (call) => take(call, 'identify'),
    track: (call) => take(call, 'track'),
    page: (call) => take(call, 'page'),
    screen: (call) => take(call, 'screen'),
    group: (call) => take(call, 'group'),
    alias: (call) => take(call, 'alias'),
    send: (call) => take(call, undefined),
    ready: () => (books.boundFor(0) === undefined ? door.ready() : life.held(door.ready())),
    persisted: (options) =>
      life.held(persisted(timeoutOf(options, undefined, defectIn('the timeout of kept')))),
    flush: (options) => {
      const within = timeoutOf(options, undefined, defectIn('the timeout of flush'))
      filling.close('flush')
      // Before anything is told of: what somebody sends when he hears of it is no longer waited for.
      const ended = flushes.flush(within)
      onTheWay.go()
      rest()
      return books.waiting() === 0 ? ended : life.held(ended)
    },
    close: (options) => close(timeoutOf(options, CLOSE_WITHIN, defectIn('the timeout of close')), timeout),
    outcomes$: outcomes.values$,
    stats: () => ({
      ...books.stats(),
      notPersisted: keeping?.notPersisted() ?? books.waiting(),
      enabled: settings.enabled,
    }),
    [Symbol.asyncDispose]: async () => {
      await close(CLOSE_WITHIN, timeout)
    },
  }
}
