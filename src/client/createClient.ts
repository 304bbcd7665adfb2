import { constVoid, isLeft, left, right, type Either } from '../core/either.ts'
import { fullIn, closed, disabled, notStored, type Closed, type Full, type Refusal } from '../core/refusal.ts'
import { messageOf, retryable, wasStarted, type Verdict } from '../core/failure.ts'
import { ownContext } from '../core/ownContext.ts'
import { CLOSE_TIMEOUT, timeoutOf, type WaitOptions } from '../core/options.ts'
import type { Accepted, Outcome } from '../core/outcome.ts'
import { heldBytes, maxHeldBytes, newId } from '../event/payload.ts'
import { trackingFrame } from '../event/trackingMessage.ts'
import { bareIngestion } from '../http/bareIngestion.ts'
import { lifecycle } from '../log/lifecycle.ts'
import { callSafely } from '../log/listeners.ts'
import { LAST_ATTEMPT, closeRelay, type CloseResult } from '../outbox/close.ts'
import { deadLetters } from '../outbox/deadLetters.ts'
import { inUse, type CorruptRecord } from '../outbox/outbox.ts'
import { openOutbox } from '../outbox/lmdb/openOutbox.ts'
import { memoryOutbox } from '../outbox/memoryOutbox.ts'
import { relay, type Relay } from '../outbox/relay.ts'
import { MIN_UNSAVED, batchOf, type Shape } from '../outbox/take.ts'
import { writeBehind } from '../outbox/writeBehind.ts'
import { withBisection } from '../sink/bisect.ts'
import { WithNext, makeLayer, stoppable } from '../sink/layer.ts'
import { MAX_HOLD } from '../sink/retryAfterGate.ts'
import type { Layer, Sink } from '../sink/sink.ts'
import { withTimeout } from '../sink/timeout.ts'
import { waitForRoom } from '../sources/waitForRoom.ts'
import type { Client, EventTypes, Traits } from './client.ts'
import { held, lifetime } from './processExit.ts'
import { encoder, isMessage, storedMessages, type CallType, type Message, type SentBatch } from './message.ts'
import { FRAME_BYTES, checkClientOptions, type ClientOptions, type ClientSettings } from './options.ts'

const COMMA = 1
const CLIENT_CLOSING: Verdict = left(retryable('held', { detail: 'the client is closing; it was not sent' }))

/** Milliseconds for the drain at the end of the program. */
const DRAIN_TIMEOUT = 10_000

/** Counted beside the messages: batches that were sent, each for an attempt, and their requests. */
type Sent = Record<'batches' | 'requests', number>

/** The endpoint, or the sink of the host. A refused batch is divided until one bad message is alone. */
const batchSink = (settings: ClientSettings, sent: Sent, why: () => Verdict | undefined): Sink<SentBatch> => {
  const { requests, sink, timeout, layer: given } = settings
  const layer: Layer | undefined = given && ((inner) => given(stoppable(inner, why)))
  const counted = (what: keyof Sent, inner: Sink<SentBatch>): Sink<SentBatch> =>
    makeLayer<SentBatch>(inner, (subscribe) => (batch, attempt, observer) => {
      sent[what]++
      const onVerdict = (verdict: Verdict): void => {
        // A layer of the host held it back.
        if (isLeft(verdict) && !wasStarted(verdict.left)) sent[what]--
        observer.next(verdict)
      }
      return subscribe(batch, attempt, new WithNext(observer, onVerdict))
    })
  const { endpoint, writeKey } = requests
  const inner: Sink<SentBatch> =
    sink === undefined
      ? bareIngestion(endpoint, writeKey, { ...requests, timeout, holds: false }, layer)
      : withTimeout({ timeout })(layer?.(sink) ?? sink)
  // A batch may be divided after the stop.
  return counted('batches', withBisection()(counted('requests', stoppable(inner, why))))
}

/** A batch holds messages in their order, up to the count and bytes of the options. */
const batches = (settings: ClientSettings): Shape<Message, SentBatch> => {
  const { size: count, maxBatchBytes, flushAfter: delay, concurrency } = settings
  const bytes = maxBatchBytes - FRAME_BYTES + COMMA
  return {
    take: batchOf({ count, bytes, delay, delayAfter: 'start', concurrency }),
    maxUnsaved: () => count * Math.max(MIN_UNSAVED, concurrency),
    sizeOf: ({ byteLength }) => byteLength + COMMA,
    toItem: (entries, closedBy) => {
      const members = entries.map(({ item }) => item)
      const items = members.map(({ items: [item] }) => item)
      const byteLength = members.reduce((sum, member) => sum + COMMA + member.byteLength, FRAME_BYTES - COMMA)
      return { id: newId(), items, members, byteLength, frame: trackingFrame, closedBy }
    },
    isBatch: true,
    maxHold: MAX_HOLD,
  }
}

/**
 * A client for one source: it takes calls, checks and encodes them at once, sends them in batches to a
 * server that speaks the public tracking convention, and reports one outcome for every message. Give it the
 * types of your events, and `track` checks them.
 *
 * Defaults: batches of 20, every 5 s, of at most 500,000 bytes; one request at a time, so order is kept;
 * 10 s for a request; retries with backoff until 4 h; at most 10,000 messages or 32 MiB waiting, in memory
 * unless `outbox` names a folder. Its timers do not hold the process: at the end of the program it sends
 * what waits, for at most 10 s, and lets the process go.
 *
 * @throws ConfigError naming everything that is wrong with the write key and the options, and no value.
 * @throws OutboxError when the folder of `outbox: { path }` cannot be opened: `reason` says why, the
 * message says what to do.
 *
 * @example
 * import { createClient } from 'headrace/client'
 * import { loopbackReceiver } from 'headrace/testing'
 *
 * const receiver = await loopbackReceiver() // stands for your ingestion endpoint
 * const client = createClient<{ 'Signed Up': { plan: string } }>('a write key', { endpoint: receiver.url })
 * const signedUp = { event: 'Signed Up', properties: { plan: 'pro' }, messageId: 'm1' } as const
 * console.log(client.track({ userId: 'u1', ...signedUp })) // => { _tag: 'Right', right: { id: 'm1' } }
 * const { accepted, delivered } = await client.flush()
 * console.log(accepted, delivered, receiver.received[0]?.path) // => 1 1 /v1/batch
 * await client.close()
 * await receiver.close()
 */
export const createClient = <E extends EventTypes = EventTypes, T extends Traits = Traits>(
  writeKey: string,
  options: ClientOptions = {},
): Client<E, T> => {
  const settings = checkClientOptions(writeKey, options)
  const { clock, random, retry, timeout, enabled, overflow, drainOnExit, maxMessageBytes } = settings
  const { maxCount, maxBytes, name: from } = settings
  const own = ownContext()
  const life = lifecycle<CloseResult<Message>>(clock, from, settings)
  const { now, onEvent, hears, hearsKeys, defectIn: failedIn } = life

  const refusedBy = { Invalid: 0, TooLarge: 0, Full: 0, Disabled: 0, Closed: 0, NotStored: 0 }
  const sent: Sent = { batches: 0, requests: 0 }
  let stopped: Verdict | undefined
  const sink = batchSink(settings, sent, () => stopped)
  const onCorrupt = ({ id }: CorruptRecord): void => work.endedCorrupt(id)
  const store = settings.outbox && openOutbox(settings.outbox, { codec: storedMessages, clock, onCorrupt })
  const bounds = { clock, maxCount, maxBytes, sizeOf: heldBytes }
  const storing = { ...bounds, own, failed: failedIn('outbox'), work: () => work }
  const behind = store && writeBehind<Message>(store, storing)
  const outbox = behind?.outbox ?? memoryOutbox<Message>({ ...bounds, keepDead: 0 })
  const boundFor = (bytes: number): object | undefined => {
    if (behind !== undefined) return behind.fullFor(undefined, bytes)
    const stats = outbox.stats()
    return fullIn(undefined, stats.waiting, stats.bytes + bytes, stats)
  }
  const room = waitForRoom(() => boundFor(1) === undefined, held)
  const largest = maxHeldBytes(maxMessageBytes)

  const outcomes = life.stream<Outcome<Message>>('outcomes$')
  /** The program has nothing left but waiting messages: they are sent without `flushAfter`. */
  let isDraining = false

  const parts = { sink, outbox, retry, clock, random, name: from, onEvent, hears }
  const work: Relay<Message, SentBatch> = relay<Message, SentBatch>({
    ...parts,
    shape: batches(settings),
    isFull: () => boundFor(largest) !== undefined,
    isItem: isMessage,
    ...(behind && { isStoring: behind.isStoring, storeChanged: behind.storeSoon }),
    ended: (outcome) => outcomes.next(outcome),
  })
  if (store) inUse.set(store, work.storeChanged)
  const leaves = (): void => {
    room.freed()
    if (work.waiting() === 0) program.idle()
  }
  work.changes$.subscribe({ next: leaves, error: leaves })

  const encode = encoder(settings, life.onKeys, hearsKeys, failedIn('meta'))

  const shutDown = async (within: number, isExit: boolean): Promise<CloseResult<Message>> => {
    work.flush('end')
    const result = await closeRelay(work, within, timeout, () => (stopped = CLIENT_CLOSING), isExit)
    if (settings.sink === undefined)
      await life.closeInTime('sink', timeout, () => sink.close({ timeout: isExit ? 0 : LAST_ATTEMPT, clock }))
    await life.closeInTime('outbox', timeout, () => outbox.close({ timeout }))
    if (store) inUse.delete(store)
    program.idle()
    return result
  }

  const close = (within: number, isExit = false): Promise<CloseResult<Message>> => {
    work.stopAccepting(within > LAST_ATTEMPT)
    room.open()
    return own(life.close, () => held(shutDown(within, isExit)))
  }

  /** At the end of the program: sends what waits, until all has ended or nothing more can happen in time. */
  const drain = async (within: number): Promise<void> => {
    if (life.isClosing()) return
    const drainUntil = now() + within
    isDraining = true
    work.flush('flush')
    await held(work.until(() => work.waiting() === 0 || !work.hasWorkBefore(drainUntil), within))
    isDraining = false
    if (work.waiting() > 0) void close(0, true)
  }
  const drainTimeout = drainOnExit === true ? DRAIN_TIMEOUT : drainOnExit
  const onExit = drainTimeout === false ? undefined : () => void drain(drainTimeout)
  const program = lifetime(settings.waitUntil, onExit, failedIn('waitUntil'))

  const refuse = (refusal: Refusal): Either<Refusal, never> => {
    if (refusal._tag === 'Full') room.refused(work.waiting())
    refusedBy[refusal._tag]++
    return life.refuse(refusal)
  }

  /** The memory and `writeBehind` answer at once. */
  const offer = (message: Message) => work.offer(message) as Either<Full | Closed, unknown>

  const send = (call: unknown, kind: CallType | undefined): Either<Refusal, Accepted> => {
    try {
      if (life.isClosing()) return refuse(closed(call))
      const encoded = encode(call, kind)
      if (isLeft(encoded)) return refuse(encoded.left)
      if (!enabled) return refuse(disabled(call))
      const message = encoded.right
      let answer = offer(message)
      // A call that sends a dropped message again could do so without end.
      if (isLeft(answer) && (overflow === 'error' || life.isClosing() || work.isReportingDrop()))
        return refuse({ ...answer.left, input: call })
      while (isLeft(answer) && overflow === 'dropOldest' && work.dropOldest()) answer = offer(message)
      if (isLeft(answer)) work.dropNewest(message)
      callSafely(program.busy, undefined, constVoid)
      if (isDraining) work.flush('flush')
      return right({ id: message.id })
    } catch (error) {
      // At the end of the stack only, before anything was accepted.
      refusedBy.NotStored++
      return left(notStored(call, messageOf(error)))
    }
  }

  const timeoutIn = (method: string, within: WaitOptions | undefined, byDefault = Infinity): number =>
    timeoutOf(within, byDefault, failedIn(`the timeout of ${method}`))

  if (work.waiting() > 0) program.busy()

  return {
    ...life.hosted,
    identify: (call) => send(call, 'identify'),
    track: (call) => send(call, 'track'),
    page: (call) => send(call, 'page'),
    screen: (call) => send(call, 'screen'),
    group: (call) => send(call, 'group'),
    alias: (call) => send(call, 'alias'),
    send: (call) => send(call, undefined),
    ready: room.ready,
    persisted: async (given) => {
      const within = timeoutIn('persisted', given)
      if (behind === undefined) return false
      const isStored = behind.stored()
      await held(work.until(() => work.isAborted() || isStored(), within))
      return isStored() && behind.isKept()
    },
    flush: async (given) => {
      const within = timeoutIn('flush', given)
      // Before anything is sent: the flush does not wait for messages that a listener adds meanwhile.
      const isFlushed = store?.watch && behind ? behind.flushed() : work.flushed()
      work.flush('flush')
      const done = work.until(() => work.isAborted() || isFlushed(), within)
      await (work.waiting() === 0 ? done : held(done))
      return work.totals()
    },
    close: (given) => close(timeoutIn('close', given, CLOSE_TIMEOUT)),
    outcomes$: outcomes.values$,
    dead: deadLetters(work, outbox, life.isClosing),
    stats: () => ({
      ...work.totals(),
      enabled,
      refused: Object.values(refusedBy).reduce((sum, count) => sum + count, 0),
      refusedBy: { ...refusedBy },
      bytes: outbox.stats().bytes,
      dead: outbox.stats().dead,
      notPersisted: behind === undefined ? work.waiting() : behind.unstored(),
      ...sent,
      attempts: sent.batches,
      ...work.oldest(),
      ...(!work.isOpen() && { opening: true }),
    }),
    [Symbol.asyncDispose]: async () => close(CLOSE_TIMEOUT).then(constVoid),
  }
}
