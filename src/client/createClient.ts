import { isLeft } from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import { inTime, nextTurn, steady } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import type { Outcome } from '../core/outcome.ts'
import { ConfigError } from '../core/refusal.ts'
import { ingestion } from '../http/ingestion.ts'
import { isListening, listeners } from '../log/listeners.ts'
import { timeoutOf } from '../log/logger.ts'
import type { Listener } from '../log/logEvent.ts'
import { hot } from '../log/streams.ts'
import type { CloseResult } from '../outbox/close.ts'
import { isStoredIn } from '../outbox/lmdb/contract.ts'
import type { CorruptRecord } from '../outbox/lmdb/contract.ts'
import { lmdbOutbox } from '../outbox/lmdb/lmdbOutbox.ts'
import { memoryOutbox } from '../outbox/memoryOutbox.ts'
import { abandonedOf } from '../outbox/outbox.ts'
import type { Outbox } from '../outbox/outbox.ts'
import { withBisection } from '../sink/bisect.ts'
import { makeLayer } from '../sink/layer.ts'
import { withObserver } from '../sink/observe.ts'
import { withRetryAfterGate } from '../sink/retryAfterGate.ts'
import type { Sink } from '../sink/sink.ts'
import { withTimeout } from '../sink/timeout.ts'
import { waitForRoom } from '../sources/waitForRoom.ts'
import { accept, clientCounters } from './accept.ts'
import { batchRelay } from './batchRelay.ts'
import type { AnyEvents, AnyTraits, Client, EventTypes, WithinOptions, Traits } from './client.ts'
import { encoder } from './encoder.ts'
import { flushes, within } from './flush.ts'
import { held, hold, lifetime } from './lifetime.ts'
import { messageCodec } from './message.ts'
import type { Message, SentBatch } from './message.ts'
import { messageStore } from './messageStore.ts'
import type { Ended } from './messageStore.ts'
import { settingsOf } from './options.ts'
import type { ClientOptions, ClientSettings } from './options.ts'

/** The default time for a close, in milliseconds. */
const CLOSE_WITHIN = 30_000

/** The outbox of the host, or the folder, opened; undefined if messages wait in memory. */
const openOutbox = (
  { outbox, clock }: ClientSettings,
  onCorrupt: (record: CorruptRecord) => void,
): Outbox<Message> | undefined =>
  isStoredIn(outbox) ? lmdbOutbox({ ...outbox, codec: messageCodec, clock, onCorrupt }) : outbox

/** The client has bounds of its own, and reports outcomes in place of dead letters. */
const unboundedMemory = (): Outbox<Message> =>
  memoryOutbox({
    maxCount: Number.MAX_SAFE_INTEGER,
    maxBytes: Number.MAX_SAFE_INTEGER,
    sizeOf: ({ byteLength }) => byteLength,
    keepDead: 0,
  })

const counting = <A>(sink: Sink<A>, started: () => void): Sink<A> =>
  makeLayer(sink, (subscribe) => (item, attempt, observer) => {
    started()
    return subscribe(item, attempt, observer)
  })

/** A refused batch is divided until one bad message is alone, and a `Retry-After` holds back all batches. */
const batchSink = (
  requests: Sink<SentBatch>,
  clock: Clock,
  onAttempt: Listener,
  onRequest: () => void,
): Sink<SentBatch> =>
  pipe(
    counting(requests, onRequest),
    withBisection({ clock }),
    withObserver(onAttempt, { clock }),
    withRetryAfterGate({ clock }),
  )

/**
 * A client for one source: it takes calls, checks and encodes them at once, sends them in batches to a server that speaks the public
 * tracking convention, and reports one outcome for every message. Give it the types of your events, and `track` checks them.
 *
 * Defaults: batches of 20, every 5 s, of at most 500,000 bytes; one request at a time, so order is kept; 10 s for a request; retries
 * with backoff until 4 h; at most 10,000 messages or 32 MiB waiting, in memory unless `outbox` names a folder. Its timers do not hold the
 * process: at the end of the program it sends what waits, for at most 10 s, and lets the process go.
 *
 * @throws ConfigError naming everything that is wrong with the write key and the options, and no value.
 * @throws OutboxError when the folder of `outbox: { path }` cannot be opened: `reason` says why, the message says what to do.
 *
 * @example
 * import { createClient } from 'headrace/client'
 * import { loopbackReceiver } from 'headrace/testing'
 *
 * const receiver = await loopbackReceiver() // stands for your ingestion endpoint
 * const client = createClient<{ 'Signed Up': { plan: string } }>('a write key', { endpoint: receiver.url })
 * console.log(client.track({ userId: 'u1', event: 'Signed Up', properties: { plan: 'pro' }, messageId: 'm1' }))
 * // => { _tag: 'Right', right: { id: 'm1' } }
 * const { accepted, delivered } = await client.flush()
 * console.log(accepted, delivered, receiver.received[0]?.path) // => 1 1 /v1/batch
 * await client.close()
 * await receiver.close()
 */
export const createClient = <E extends EventTypes = AnyEvents, T extends Traits = AnyTraits>(
  writeKey: string,
  options: ClientOptions = {},
): Client<E, T> => {
  const checked = settingsOf(writeKey, options)
  if (isLeft(checked)) throw new ConfigError('Invalid client options', checked.left)
  const { settings, requests } = checked.right
  const { clock, timeout, drainWithin } = settings
  const now = steady(clock)
  const given = openOutbox(settings, (record) => onCorrupt(record))
  const outbox = given ?? unboundedMemory()
  const isShared = outbox.watch !== undefined
  /** What a shared outbox holds may be leased by other processes. */
  const stored = isShared ? { waiting: 0, bytes: 0 } : outbox.stats()

  const onEvent = listeners(settings)
  const hears = isListening(settings)
  const failedIn =
    (where: string) =>
    (error: unknown): void =>
      onEvent({ _tag: 'Defect', at: now(), where, error })

  const listening = new Set<() => void>()
  const changed = (): void => {
    for (const listener of listening) listener()
  }
  /** Waits until `isReached`, at most `limit` milliseconds. */
  const until = (limit: number, isReached: () => boolean): Promise<boolean> => {
    if (isReached()) return Promise.resolve(true)
    let check: () => void = () => undefined
    const reached = new Promise<void>((resolve) => {
      check = () => {
        if (isReached()) resolve()
      }
    })
    listening.add(check)
    return within(clock, limit, reached).finally(() => listening.delete(check))
  }

  let closing: Promise<CloseResult<Message>> | undefined
  const abandoned: Message[] = []
  const outcomes = hot<Outcome<Message>>(failedIn('a subscriber of outcomes$'))
  let isReportingDrop = false

  const report = (outcome: Outcome<Message>): void => {
    if (outcome._tag === 'Abandoned') abandoned.push(outcome.item)
    if (outcome._tag !== 'Delivered' || hears('Ended')) {
      const before = isReportingDrop
      isReportingDrop ||= outcome._tag === 'Dropped'
      onEvent({ _tag: 'Ended', at: now(), outcome })
      isReportingDrop = before
    }
    outcomes.next(outcome)
  }

  const ended = (list: ReadonlyArray<Ended>): void => {
    for (const { entry, outcome } of list) {
      counted.ended(outcome)
      report(outcome)
      pending.ended(entry.id)
    }
    afterEnds()
  }
  /** A stored record that cannot be read. It is a dead letter now, and has no outcome. */
  const onCorrupt = ({ id }: Pick<CorruptRecord, 'id'>): void => {
    failedIn('outbox')(new Error(`the stored message ${id} cannot be read: it is a dead letter now`))
    counted.corrupt()
    pending.ended(id)
    afterEnds()
  }
  const afterEnds = (): void => {
    room.freed()
    if (counted.waiting() === 0) life.idle()
    changed()
  }

  const pending = flushes(stored.waiting)
  const store = messageStore(outbox, given === undefined, clock, {
    placed: pending.place,
    added: (count, bytes) => relay.added(count, bytes),
    changed: () => {
      relay.poll()
      room.freed()
      changed()
    },
    failed: failedIn('outbox'),
  })
  const counted = clientCounters(settings, given?.stats, stored, store.notStored)
  const room = waitForRoom(counted.occupancy)
  const { endpoint, writeKey: key, ...how } = requests
  const endpointSink =
    settings.sink === undefined
      ? ingestion(endpoint, key, { ...how, clock, holds: false })
      : withTimeout(timeout, { clock })(settings.sink)
  const onAttempt: Listener = (event) => {
    if (event._tag === 'Attempted') counted.counted.attempts++
    onEvent(event)
  }
  const sink = batchSink(endpointSink, clock, onAttempt, () => {
    counted.counted.requests++
  })
  const relay = batchRelay(settings, store, sink, stored, {
    onEvent,
    sent: () => {
      counted.counted.batches++
    },
    ended,
    corrupt: (id) => onCorrupt({ id }),
    changed,
  })

  /** Whether nothing is left here, and the store has nothing due. */
  const isIdle = (): boolean =>
    store.notStored().count === 0 && !store.isBusy() && relay.isIdle() && !relay.hasWorkBefore(now() + 1)

  let isLookingAgain = false
  const stopWatching = outbox.watch?.(() => {
    if (isLookingAgain) return
    isLookingAgain = true
    nextTurn(() => {
      isLookingAgain = false
      relay.lookAgain()
      room.recheck()
    })
  })

  const shutDown = async (limit: number, lastAttempt: number): Promise<CloseResult<Message>> => {
    const closeAt = now() + limit
    const quietly = (where: string, task: () => Promise<void>): Promise<void> =>
      inTime(clock, timeout, task).catch(failedIn(where))
    relay.flush('end', store.notStored().count)
    await until(limit, () => !store.isBusy() && !relay.hasWorkBefore(closeAt))
    relay.stopStarting()
    await until(lastAttempt, () => relay.inFlight() === 0)
    const cut = relay.cut()
    await until(timeout, () => !store.isBusy())
    stopWatching?.()
    const left = [...store.stop(cut)]
    if (!outbox.durable)
      await quietly('outbox', async () => {
        left.push(...(await outbox.takeRemaining()))
      })
    for (const entry of left) {
      const outcome = abandonedOf(entry)
      counted.ended(outcome)
      report(outcome)
    }
    if (settings.sink === undefined) await quietly('the close of the sink', sink.close(lastAttempt))
    await quietly('the close of the outbox', outbox.close)
    pending.release()
    life.idle()
    outcomes.complete()
    return { totals: counted.totals(), abandoned }
  }

  const close = (limit: number, lastAttempt: number): Promise<CloseResult<Message>> => {
    // A turn later, so that a call of `close` inside a callback of the close finds the same promise.
    closing ??= held(Promise.resolve().then(() => shutDown(limit, lastAttempt)))
    room.open()
    return closing
  }

  let isDraining = false
  /** At the end of the program: sends what waits, until all has ended or nothing more can happen in time. */
  const drain = async (limit: number): Promise<void> => {
    if (isDraining || closing !== undefined) return
    isDraining = true
    const release = hold()
    const drainUntil = now() + limit
    relay.flush('flush', store.notStored().count)
    await until(limit, () => counted.waiting() === 0 || (!store.isBusy() && !relay.hasWorkBefore(drainUntil)))
    isDraining = false
    if (counted.waiting() > 0) void close(0, 0)
    release()
  }

  const onExit =
    drainWithin === undefined
      ? undefined
      : () => {
          void drain(drainWithin)
        }
  const life = lifetime(settings.waitUntil, onExit, failedIn('waitUntil'))
  if (counted.waiting() > 0) life.busy()
  relay.poll()

  const send = accept({
    settings,
    encode: encoder(
      settings,
      (keys) => onEvent({ _tag: 'UnknownKeys', at: now(), keys }),
      () => hears('UnknownKeys'),
      failedIn('newId'),
    ),
    ...{ counted, store, relay, flushes: pending, room, report, onEvent, hears, now, busy: life.busy },
    isClosed: () => closing !== undefined,
    isReportingDrop: () => isReportingDrop || outcomes.current()?._tag === 'Dropped',
  })

  const timeoutIn = (given: WithinOptions | undefined, method: string): number | undefined =>
    timeoutOf(given, undefined, failedIn(`the timeout of ${method}`))

  return {
    identify: (call) => send(call, 'identify'),
    track: (call) => send(call, 'track'),
    page: (call) => send(call, 'page'),
    screen: (call) => send(call, 'screen'),
    group: (call) => send(call, 'group'),
    alias: (call) => send(call, 'alias'),
    send: (call) => send(call, undefined),
    ready: () => (counted.boundFor(0) === undefined ? room.ready() : held(room.ready())),
    persisted: async (given) => {
      const limit = timeoutIn(given, 'persisted')
      const isPersisted = store.persisted()
      return held(within(clock, limit, isPersisted).then((isDone) => isDone && isPersisted))
    },
    flush: (given) => {
      const limit = timeoutIn(given, 'flush')
      // Before anything is sent: what a listener adds meanwhile is not waited for.
      const done = pending.flush()
      relay.flush('flush', store.notStored().count)
      const isDone = isShared ? until(Infinity, isIdle) : done
      if (isDone === undefined) return Promise.resolve(counted.totals())
      const totals = within(clock, limit, isDone).then(counted.totals)
      return counted.waiting() === 0 ? totals : held(totals)
    },
    close: (given) => close(timeoutIn(given, 'close') ?? CLOSE_WITHIN, timeout),
    outcomes$: outcomes.values$,
    stats: counted.stats,
    [Symbol.asyncDispose]: async () => {
      await close(CLOSE_WITHIN, timeout)
    },
  }
}
