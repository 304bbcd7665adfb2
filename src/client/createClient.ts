import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { Subject } from 'rxjs'
import { inTime, nextTurn, steady } from '../core/clock.ts'
import { messageOf } from '../core/failure.ts'
import { inMicrotask, ownContext } from '../core/ownContext.ts'
import { CLOSE_TIMEOUT, timeoutOf } from '../core/options.ts'
import { dropped } from '../core/outcome.ts'
import type { Outcome } from '../core/outcome.ts'
import { serialQueue } from '../core/queue.ts'
import { closed, disabled, full, notStored } from '../core/refusal.ts'
import type { Refusal } from '../core/refusal.ts'
import { heldBytes, maxHeldBytes } from '../event/payload.ts'
import { bareIngestion } from '../http/bareIngestion.ts'
import { callSafely, isListening, listeners } from '../log/listeners.ts'
import { hot } from '../log/streams.ts'
import { LAST_ATTEMPT, closeTimes, until as waitUntil } from '../outbox/close.ts'
import type { CloseResult } from '../outbox/close.ts'
import { isStoredIn } from '../outbox/lmdb/contract.ts'
import { lmdbOutbox } from '../outbox/lmdb/lmdbOutbox.ts'
import { abandonedOf } from '../outbox/outbox.ts'
import type { Ack } from '../outbox/outbox.ts'
import { withBisection } from '../sink/bisect.ts'
import { makeLayer } from '../sink/layer.ts'
import type { Sink } from '../sink/sink.ts'
import { withTimeout } from '../sink/timeout.ts'
import { waitForRoom } from '../sources/waitForRoom.ts'
import { batchRelay } from './batchRelay.ts'
import type { Accepted, AnyEvents, AnyTraits, Client, EventTypes, WithinOptions, Traits } from './client.ts'
import { clientCounters } from './counters.ts'
import { held, lifetime } from './processExit.ts'
import { encoder, messageCodec } from './message.ts'
import type { CallType, Message, SentBatch } from './message.ts'
import { messageStore } from './messageStore.ts'
import { checkClientOptions } from './options.ts'
import type { ClientOptions, ClientSettings } from './options.ts'

const ignore = (): void => undefined

/** Milliseconds for the drain at the end of the program. */
const DRAIN_TIMEOUT = 10_000

/** The endpoint, or the sink of the host. A refused batch is divided until one bad message is alone. */
const batchSink = ({ requests, sink, timeout }: ClientSettings, onRequest: () => void): Sink<SentBatch> => {
  const { endpoint, writeKey } = requests
  const how = { ...requests, timeout, holds: false }
  const inner: Sink<SentBatch> =
    sink === undefined ? bareIngestion(endpoint, writeKey, how) : withTimeout(timeout)(sink)
  const counted = makeLayer<SentBatch>(inner, (subscribe) => (batch, attempt, observer) => {
    onRequest()
    return subscribe(batch, attempt, observer)
  })
  return withBisection()(counted)
}

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
  const settings = checkClientOptions(writeKey, options)
  const { clock, timeout, enabled, overflow, drainOnExit, maxMessage } = settings
  const now = steady(clock)
  const own = ownContext()
  const onEvent = listeners(settings)
  const hears = isListening(settings)
  const failedIn =
    (where: string) =>
    (error: unknown): void =>
      onEvent({ _tag: 'Defect', at: now(), where, error })
  const storeFailed = failedIn('outbox')

  const corrupt = (id: string): void => {
    storeFailed(new Error(`the stored message ${id} cannot be read: it is a dead letter now`))
    counted.corrupt(id)
    changed()
  }
  const outbox = isStoredIn(settings.outbox)
    ? lmdbOutbox({ ...settings.outbox, codec: messageCodec, clock, onCorrupt: ({ id }) => corrupt(id) })
    : settings.outbox
  const isShared = outbox?.watch !== undefined
  /** What a shared outbox holds may be leased by other processes. */
  const start = outbox === undefined || isShared ? { waiting: 0, bytes: 0 } : outbox.stats()

  const changes = new Subject<void>()
  const refusals = hot<Refusal>(failedIn('a subscriber of refusals$'))
  const outcomes = hot<Outcome<Message>>(failedIn('a subscriber of outcomes$'))
  const reports = serialQueue()
  let isReportingDrop = false
  let closing: Promise<CloseResult<Message>> | undefined
  let isClosed = false

  const changed = (): void => {
    room.freed()
    if (counted.waiting() === 0) life.idle()
    if (changes.observed) changes.next()
  }
  const until = (limit: number, isReached: () => boolean): Promise<boolean> =>
    waitUntil(clock, changes, limit, isReached)

  const reportNow = (outcome: Outcome<Message>): void => {
    isReportingDrop = outcome._tag === 'Dropped'
    if (outcome._tag !== 'Delivered' || hears('Ended')) onEvent({ _tag: 'Ended', at: now(), outcome })
    outcomes.next(outcome)
    isReportingDrop = false
  }
  /** What a listener causes is reported after the outcome that it hears. */
  const report = (outcome: Outcome<Message>): void => reports.take(reportNow, outcome)
  const ended = (list: ReadonlyArray<Ack<Message>>): void => {
    for (const { entry, outcome } of list) {
      counted.ended(entry.id, outcome)
      report(outcome)
    }
    changed()
  }

  const counted = clientCounters(settings, outbox?.stats, start)
  const storeChanged = (): void => {
    relay.poll()
    changed()
  }
  const store = messageStore(outbox, own, clock, start, counted, corrupt, storeChanged, storeFailed)
  const room = waitForRoom(() => counted.boundFor(1) === undefined)
  const sink = batchSink(settings, () => counted.sent.requests++)
  const largest = maxHeldBytes(maxMessage)
  /** Whether there may be no room for one more message. */
  const isFull = (): boolean => counted.boundFor(largest) !== undefined
  const relay = batchRelay(settings, own, isFull, store, sink, counted.sent, onEvent, ended, changed)
  const encode = encoder(
    settings,
    (keys) => onEvent({ _tag: 'UnknownKeys', at: now(), keys }),
    () => hears('UnknownKeys'),
  )
  /** Whether nothing more happens before `instant`. */
  const isQuiet = (instant: number): boolean => !store.isBusy() && !relay.hasWorkBefore(instant)

  // The outbox is asked a turn later, as its contract says.
  const stopWatching = outbox?.watch?.(() => nextTurn(lookAgain))
  const lookAgain = (): void => {
    relay.lookAgain()
    room.freed()
  }

  const shutDown = async (limit: number, isExit: boolean): Promise<CloseResult<Message>> => {
    const { starting, ending } = closeTimes(limit)
    const stopAt = now() + starting
    const quietly = (where: string, task: () => Promise<void>): Promise<void> =>
      inTime(clock, timeout, task).catch(failedIn(where))
    relay.flush('end')
    await until(starting, () => isQuiet(stopAt))
    relay.stopStarting()
    await until(isExit ? 0 : ending, () => relay.inFlight() === 0)
    const cut = new Set(relay.cut())
    await until(timeout, () => !store.isBusy())
    stopWatching?.()
    const unfinished = [...store.stop([...cut])]
    // What was being stored may be in the store.
    const known = new Set(unfinished.map(({ item }) => item.id))
    await quietly('outbox', async () => {
      const remaining = (await outbox?.takeRemaining()) ?? []
      unfinished.push(...remaining.filter(({ item }) => !known.has(item.id)))
    })
    ended(unfinished.map((entry) => ({ entry, outcome: abandonedOf(entry, cut.has(entry)) })))
    if (settings.sink === undefined)
      await quietly('the close of the sink', () => sink.close({ timeout: isExit ? 0 : LAST_ATTEMPT, clock }))
    if (outbox !== undefined) await quietly('the close of the outbox', () => outbox.close({ timeout }))
    isClosed = true
    changed()
    life.idle()
    outcomes.complete()
    refusals.complete()
    return { totals: counted.totals(), abandoned: unfinished.map(({ item }) => item) }
  }

  const close = (limit: number, isExit = false): Promise<CloseResult<Message>> => {
    // A turn later, so that a call of `close` inside a callback of the close finds the same promise.
    closing ??= own(() => held(Promise.resolve().then(() => shutDown(limit, isExit))))
    room.open()
    return closing
  }

  /** At the end of the program: sends what waits, until all has ended or nothing more can happen in time. */
  const drain = async (limit: number): Promise<void> => {
    if (closing !== undefined) return
    const drainUntil = now() + limit
    relay.flush('flush')
    await held(until(limit, () => counted.waiting() === 0 || isQuiet(drainUntil)))
    if (counted.waiting() > 0) void close(0, true)
  }
  const drainTimeout = drainOnExit === true ? DRAIN_TIMEOUT : drainOnExit
  const onExit = drainTimeout === false ? undefined : () => void drain(drainTimeout)
  const life = lifetime(own, settings.waitUntil, onExit, failedIn('waitUntil'))

  const drops: Array<Outcome<Message>> = []
  const reportDrops = inMicrotask(own, () => {
    drops.splice(0).forEach(report)
    // A flush may wait for what was dropped.
    changed()
  })

  const refuse = (refusal: Refusal): Either<Refusal, never> => {
    if (refusal._tag === 'Full') room.refused(counted.waiting())
    counted.refused(refusal)
    callSafely(tellRefusal, refusal, ignore)
    return left(refusal)
  }
  const tellRefusal = (refusal: Refusal): void => {
    onEvent({ _tag: 'Refused', at: now(), refusal })
    refusals.next(refusal)
  }

  /** Takes a call, or answers why not, at once. It throws at the end of the stack only, before it has accepted anything. */
  const accept = (call: unknown, kind: CallType | undefined): Either<Refusal, Accepted> => {
    if (closing !== undefined) return refuse(closed(call))
    const encoded = encode(call, kind)
    if (isLeft(encoded)) return refuse(encoded.left)
    if (!enabled) return refuse(disabled(call))
    const message = encoded.right
    const size = heldBytes(message)
    let bound = counted.boundFor(size)
    // A call that sends a dropped message again could do so without end.
    const mayDrop = overflow !== 'error' && !isReportingDrop
    if (bound !== undefined && !mayDrop) return refuse(full(call, bound.bound, bound.limit))
    while (bound !== undefined && overflow === 'dropOldest') {
      const entry = relay.takeOldest()
      if (entry === undefined) break
      const outcome = dropped(entry.item, entry.progress?.attempts ?? 0, 'dropOldest')
      store.ack([{ entry, outcome }], () => counted.ended(entry.id, outcome))
      drops.push(outcome)
      bound = counted.boundFor(size)
    }
    if (bound === undefined) {
      // First it is added, then it is reported: what a listener sends meanwhile comes behind it.
      counted.accepted(message)
      store.add(message)
    } else {
      const outcome = dropped(message, 0, 'dropNewest')
      counted.dropped(outcome)
      drops.push(outcome)
    }
    callSafely(announce, message, ignore)
    return right({ id: message.id })
  }
  /** At the end of the stack this may throw. What was accepted is sent with the next message then. */
  const announce = (message: Message): void => {
    if (drops.length > 0) reportDrops()
    relay.pollNew()
    life.busy()
    if (hears('Accepted')) onEvent({ _tag: 'Accepted', at: now(), item: message })
  }
  const send = (call: unknown, kind: CallType | undefined): Either<Refusal, Accepted> => {
    try {
      return accept(call, kind)
    } catch (error) {
      const refusal = notStored(call, messageOf(error))
      counted.refused(refusal)
      return left(refusal)
    }
  }

  const timeoutIn = (method: string, within: WithinOptions | undefined, byDefault = Infinity): number =>
    timeoutOf(within, byDefault, failedIn(`the timeout of ${method}`))

  if (counted.waiting() > 0) life.busy()
  if (isShared) relay.lookAgain()
  else relay.poll()

  return {
    identify: (call) => send(call, 'identify'),
    track: (call) => send(call, 'track'),
    page: (call) => send(call, 'page'),
    screen: (call) => send(call, 'screen'),
    group: (call) => send(call, 'group'),
    alias: (call) => send(call, 'alias'),
    send: (call) => send(call, undefined),
    ready: () => (counted.boundFor(0) === undefined ? room.ready() : held(room.ready())),
    persisted: async (within) => {
      const limit = timeoutIn('persisted', within)
      if (outbox?.durable !== true) return false
      const isPersisted = store.persisted()
      await held(until(limit, () => isClosed || isPersisted()))
      return isPersisted()
    },
    flush: async (within) => {
      const limit = timeoutIn('flush', within)
      // Before anything is sent: what a listener adds meanwhile is not waited for.
      const isOver = counted.flush()
      relay.flush('flush')
      const done = until(limit, () => isClosed || (isShared ? isQuiet(Infinity) : isOver()))
      await (counted.waiting() === 0 ? done : held(done))
      return counted.totals()
    },
    close: (within) => close(timeoutIn('close', within, CLOSE_TIMEOUT)),
    outcomes$: outcomes.values$,
    refusals$: refusals.values$,
    stats: counted.stats,
    [Symbol.asyncDispose]: async () => {
      await close(CLOSE_TIMEOUT)
    },
  }
}
