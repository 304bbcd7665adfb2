import { constVoid, isLeft, left, right, type Either } from '../core/either.ts'
import { isPromiseLike, type Awaitable } from '../core/awaitable.ts'
import { messageOf, refused } from '../core/failure.ts'
import { CLOSE_TIMEOUT, checkOptions, timeoutOf } from '../core/options.ts'
import type { Outcome } from '../core/outcome.ts'
import { ownContext } from '../core/ownContext.ts'
import { closed, disabled, notStored, ConfigError, tooLarge } from '../core/refusal.ts'
import type { Closed, Fault, Full, Refusal } from '../core/refusal.ts'
import type { Event } from '../event/event.ts'
import type { Payload } from '../event/payload.ts'
import { lifecycle } from '../log/lifecycle.ts'
import type { Attempted } from '../log/logEvent.ts'
import { LAST_ATTEMPT, closeRelay, type CloseResult } from '../outbox/close.ts'
import { deadLetters } from '../outbox/deadLetters.ts'
import { inUse, type CorruptRecord, type OutboxStats } from '../outbox/outbox.ts'
import { openOutbox } from '../outbox/lmdb/openOutbox.ts'
import { OutboxError } from '../outbox/lmdb/contract.ts'
import { memoryOutbox } from '../outbox/memoryOutbox.ts'
import { ordered } from '../outbox/ordered.ts'
import { relay } from '../outbox/relay.ts'
import { one } from '../outbox/take.ts'
import type { Sink } from '../sink/sink.ts'
import { waitForRoom } from '../sources/waitForRoom.ts'
import type { Destination, DestinationOptions } from './destination.ts'
import { eventEncoder, heldBytesOf, storedEvents } from './record.ts'
import { decodeSettings, destinationOptions, misplaced } from './settings.ts'
import type { CheckedOptions, Settings } from './settings.ts'
import { urlCounters, urlsSink, webhooksOf, type Receivers } from './urls.ts'

/** A destination with the additions for a collector. */
export interface OpenDestination extends Omit<Destination, 'update'> {
  /** Puts sinks in the place of the present ones if there are any; the toggle stays if it is left out. */
  readonly change: (hooks: ReadonlyArray<Sink<Payload<Event>>>, enabled: boolean | undefined) => void
  readonly isClosing: () => boolean
  /** Accepts an encoded event. Throws, or rejects, if the outbox fails. */
  readonly enqueue: (payload: Payload<Event>) => Awaitable<Either<Full | Closed, unknown>>
  /** Ends an event without room: a dead letter, with an outcome. Left out: its outbox keeps none of these. */
  readonly addDeadLetter?: (payload: Payload<Event>) => Awaitable<Either<Closed, void>>
  /** The outbox, with the events that are on their way into it. */
  readonly occupancy: () => OutboxStats
  readonly sizeOf: (payload: Payload<Event>) => number
  readonly isEnabled: () => boolean
}

/** The answer, or the faults of a `ConfigError` or `OutboxError` that is thrown. */
export const orFaults = <A>(make: () => A): Either<ReadonlyArray<Fault>, A> => {
  try {
    return right(make())
  } catch (error) {
    if (error instanceof ConfigError) return left(error.faults)
    if (error instanceof OutboxError) return left([{ path: 'destinations', message: error.message }])
    throw error
  }
}

/** Opens a destination over any sink. `onOutcome` is called before the subscribers of `outcomes$`. */
export const openDestination = (
  makeReceivers: () => Receivers,
  initiallyEnabled: boolean,
  options: CheckedOptions,
  onOutcome: (outcome: Outcome<Payload<Event>>) => void = constVoid,
): OpenDestination => {
  const { clock, random, retry, timeout, maxInFlight, maxCount, maxBytes, orderBy, name: from } = options
  const urls = urlCounters()
  let enabled = initiallyEnabled
  let refusedCount = 0
  let arriving = 0
  let arrivingBytes = 0

  const life = lifecycle<CloseResult<Payload<Event>>>(clock, from, options, urls.onEvent, (event) => {
    if (event._tag === 'Attempted') attempts.next(event)
  })
  const { onEvent, hears, hearsKeys, defectIn } = life
  const outcomes = life.stream<Outcome<Payload<Event>>>('outcomes$')
  const attempts = life.stream<Attempted>('attempts$')

  const encode = eventEncoder(options, life.onKeys, defectIn, true, hearsKeys)
  const onCorrupt = ({ id }: CorruptRecord): void => {
    work.endedCorrupt(id)
    room.freed()
  }
  const sizeOf = options.outbox === undefined ? heldBytesOf : storedEvents.sizeOf
  const keyOf = ({ orderKey }: Payload<Event>): string | undefined => orderKey
  // Before the outbox: a layer of the host that throws must not leave its folder locked.
  const { sink, exchange, closedUntil, stop } = makeReceivers()
  const opened = options.outbox
    ? openOutbox(options.outbox, { codec: storedEvents, clock, onCorrupt, ...(orderBy && { keyOf }) })
    : memoryOutbox<Payload<Event>>({ maxCount, maxBytes, sizeOf, clock })
  // Only a factory was given the key.
  const isOrdered = orderBy === undefined || (typeof options.outbox === 'function' && opened.orders === true)
  const outbox = isOrdered ? opened : ordered(opened, keyOf, defectIn('the outbox'))
  const occupancy = (): OutboxStats => {
    const stats = outbox.stats()
    if (arriving === 0) return stats
    return { ...stats, waiting: stats.waiting + arriving, bytes: stats.bytes + arrivingBytes }
  }
  const room = waitForRoom(() => {
    const stats = occupancy()
    return stats.waiting < stats.maxCount && stats.bytes < stats.maxBytes
  })
  const parts = { sink, outbox, retry, clock, random, name: from, onEvent, hears }
  const work = relay<Payload<Event>>({
    ...parts,
    shape: one(maxInFlight, closedUntil),
    ended: (outcome) => {
      room.freed()
      onOutcome(outcome)
      outcomes.next(outcome)
    },
    storeChanged: room.freed,
  })
  inUse.set(opened, work.storeChanged)

  const enqueue: OpenDestination['enqueue'] = (payload) => {
    const answer = work.offer(payload)
    if (!isPromiseLike(answer)) return answer
    // An outbox that answers later counts the event later.
    arriving++
    arrivingBytes += sizeOf(payload)
    const answered = (): void => {
      arriving--
      arrivingBytes -= sizeOf(payload)
      room.freed()
    }
    answer.then(answered, answered)
    return answer
  }

  const refuse = (refusal: Refusal): Either<Refusal, never> => {
    refusedCount++
    if (refusal._tag === 'Full') room.refused(occupancy().waiting)
    return life.refuse(refusal)
  }

  const shutDown = async (within: number): Promise<CloseResult<Payload<Event>>> => {
    const result = await closeRelay(work, within, timeout, stop)
    const closeSink = (): Promise<void> => sink.close({ timeout: LAST_ATTEMPT, clock })
    await life.closeInTime('sink', LAST_ATTEMPT + timeout, closeSink)
    await life.closeInTime('outbox', timeout, () => outbox.close({ timeout }))
    inUse.delete(opened)
    return result
  }

  const close: Destination['close'] = (given) => {
    const within = timeoutOf(given, CLOSE_TIMEOUT, defectIn('the timeout of close'))
    work.stopAccepting(within > LAST_ATTEMPT)
    room.open()
    return work.own(life.close, () => shutDown(within))
  }

  return {
    ...life.hosted,
    send: async (call) => {
      if (!enabled) return refuse(disabled(call))
      try {
        const encoded = encode(call)
        if (isLeft(encoded)) return refuse(encoded.left)
        const { payload } = encoded.right
        const entry = await enqueue(payload)
        if (!isLeft(entry)) return right({ id: payload.id })
        const { left: refusal } = entry
        const size = sizeOf(payload)
        // A caller that waits for room would wait for ever.
        if (refusal._tag === 'Full' && refusal.bound === 'bytes' && size > refusal.limit)
          return refuse(tooLarge(call, refusal.limit, size, payload.id))
        return refuse({ ...refusal, input: call })
      } catch (error) {
        return refuse(notStored(call, messageOf(error)))
      }
    },
    sendIn: async (client, call) => {
      if (outbox.enqueueIn === undefined)
        throw new TypeError('sendIn needs an outbox with enqueueIn: postgres() of headrace/outbox/postgres')
      if (!enabled) return left(disabled(call))
      if (life.isClosing()) return left(closed(call))
      const encoded = encode(call)
      if (isLeft(encoded)) return encoded
      const { payload } = encoded.right
      const stored = await outbox.enqueueIn(client, [payload])
      return isLeft(stored) ? left({ ...stored.left, input: call }) : right({ id: payload.id })
    },
    enqueue,
    ...(outbox.addDeadLetter && {
      addDeadLetter: (payload: Payload<Event>) => work.offerDead(payload, refused('noRoom')),
    }),
    occupancy,
    sizeOf,
    ready: room.ready,
    outcomes$: outcomes.values$,
    attempts$: attempts.values$,
    dead: deadLetters(work, outbox, life.isClosing),
    stats: () => ({
      ...work.totals(),
      enabled,
      refused: refusedCount,
      bytes: outbox.stats().bytes,
      dead: outbox.stats().dead,
      evictedDeadLetters: outbox.stats().evictedDeadLetters ?? 0,
      urls: urls.stats(),
      ...work.oldest(),
      ...(!work.isOpen() && { opening: true }),
    }),
    isEnabled: () => enabled,
    isClosing: life.isClosing,
    change: (hooks, isOn = enabled) => {
      enabled = isOn
      if (hooks.length > 0) urls.keep(hooks.map(({ name }) => name))
      work.own(exchange, hooks)
      work.poll()
    },
    enable: () => void (enabled = true),
    disable: () => void (enabled = false),
    idle: async () => {
      const isOver = work.allEnded()
      const isNow = (): boolean => work.isOpen() && (work.totals().waiting === 0 || isOver())
      const isIdle = (): boolean => isNow() || work.isAborted()
      // More may be accepted in the turn in which the wait ends.
      do await work.until(isIdle)
      while (!isIdle())
      return work.totals()
    },
    redrive: (matches = () => true) => work.redrive(matches),
    close,
    [Symbol.asyncDispose]: () => close().then(constVoid),
  }
}

/**
 * Posts each accepted event to all its URLs, signed, until one of them has taken it, all have refused it, or
 * four hours have passed since the first attempt. Every accepted event has one outcome.
 *
 * @throws ConfigError that lists every fault of the settings, or of the options; OutboxError of a folder.
 *
 * @example
 * import { webhookDestination } from 'headrace/destination'
 *
 * const destination = webhookDestination({
 *   sharedSecret: 'correct horse',
 *   webhooks: [
 *     { url: 'http://127.0.0.1:9/a' },
 *     { url: 'http://127.0.0.1:9/b', headers: { 'X-Team': 'blue' } },
 *   ],
 * }, { logger: false })
 * destination.outcomes$.subscribe(({ _tag, item }) => console.log(_tag, item.id))
 * console.log(await destination.send({ type: 'track', userId: 'u1', event: 'Signed Up', messageId: 'm1' }))
 * // => { _tag: 'Right', right: { id: 'm1' } }
 * await destination.close({ timeout: 0 })
 * // => Abandoned m1
 */
export const webhookDestination = (settings: Settings, options: DestinationOptions = {}): Destination => {
  const checked = checkOptions('options of a webhook destination', destinationOptions, options)
  const decoded = decodeSettings(settings, checked.egress)
  if (isLeft(decoded))
    throw new ConfigError('Invalid settings of a webhook destination', misplaced(decoded.left))
  const hooksOf = webhooksOf(checked)
  const own = ownContext()
  const hooks = hooksOf(decoded.right)
  const destination = openDestination(() => urlsSink(hooks, checked), decoded.right.enabled ?? true, checked)
  return {
    ...destination,
    update: (given) => {
      if (destination.isClosing()) return left(closed(undefined))
      const next = decodeSettings(given, checked.egress)
      if (isLeft(next)) return next
      const hooks = orFaults(() => own(hooksOf, next.right))
      if (isLeft(hooks)) return hooks
      destination.change(hooks.right, next.right.enabled)
      return right(undefined)
    },
  }
}
