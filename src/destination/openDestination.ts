import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { steady, systemClock } from '../clock/Clock.ts'
import { systemRandom } from '../clock/Random.ts'
import type { Call } from '../event/Call.ts'
import type { Event } from '../event/Event.ts'
import type { Payload } from '../event/Payload.ts'
import { messageOf } from '../internal/messageOf.ts'
import type { Attempted } from '../observe/Happening.ts'
import type { Outcome } from '../outcome/Outcome.ts'
import { disabled, notKept } from '../outcome/Refusal.ts'
import type { Refusal } from '../outcome/Refusal.ts'
import { inOrder } from '../outbox/inOrder.ts'
import { memoryOutbox } from '../outbox/memoryOutbox.ts'
import { closeRelay } from '../outbox/relay/closeRelay.ts'
import type { Closing } from '../outbox/relay/closeRelay.ts'
import { relay } from '../outbox/relay/relay.ts'
import { standard } from '../policy/RetryPolicy.ts'
import type { Outbox } from '../sink/Outbox.ts'
import type { Sink } from '../sink/Sink.ts'
import type { Accepted, Destination, DestinationOptions } from './Destination.ts'
import { doorway } from '../sources/doorway.ts'
import { encoderOf } from './encoderOf.ts'
import { hot } from '../observe/streams/hot.ts'
import { idleness } from './idleness.ts'
import { iterate } from '../observe/streams/iterate.ts'
import { listeners } from '../observe/listeners.ts'
import { numbersOf } from './numbersOf.ts'
import type { Numbers } from './numbersOf.ts'
import type { Settings } from './Settings.ts'
import { sinkOf } from './sinkOf.ts'
import { tally } from './tally.ts'

/** Outcomes that an iterator keeps for its reader. */
const KEPT_FOR_READER = 100_000
/** A close may take so long unless it is told otherwise (DE15). */
const CLOSE_WITHIN = 30_000

/** What a destination posts to, and what its settings say beside the URLs. */
export interface Parts {
  readonly urls: ReadonlyArray<Sink<Payload<Event>>>
  readonly sharedSecret: Settings['sharedSecret']
  readonly enabled: boolean
}

/** Where accepted events wait, in order if one is wanted (DE7). */
const outboxOf = (
  { outbox, orderBy }: DestinationOptions,
  { maxCount, maxBytes }: Numbers,
  defect: (error: unknown) => void,
): Outbox<Payload<Event>> => {
  const given = outbox ?? memoryOutbox<Payload<Event>>({ maxCount, maxBytes })
  if (orderBy === undefined) return given
  return inOrder(given, { keyOf: ({ items: [event] }) => orderBy(event), defect })
}

/** A destination at work over its parts, whatever they post to: all that `Destination` promises. */
export const openDestination = (
  { urls, sharedSecret, ...settings }: Parts,
  options: DestinationOptions,
): Destination => {
  const { clock = systemClock, random = systemRandom, retry = standard } = options
  const numbers = numbersOf(options)
  const now = steady(clock)
  let enabled = settings.enabled
  let closing: Promise<Closing<Payload<Event>>> | undefined

  const reportFrom =
    (where: string) =>
    (error: unknown): void => {
      tell({ _tag: 'Defect', at: now(), where, error })
    }
  const outcomes = hot<Outcome<Payload<Event>>>(reportFrom('a subscriber of outcomes$'))
  const attempts = hot<Attempted>(reportFrom('a subscriber of attempts$'))
  const counts = tally()
  const tell = listeners(options, counts.tell, (happening) => {
    if (happening._tag === 'Attempted') attempts.next(happening)
  })

  const encode = encoderOf({
    clock,
    maxBody: numbers.maxBody,
    sharedSecret,
    newId: options.newId,
    onDropped: (keys) => {
      tell({ _tag: 'KeysDropped', at: now(), keys })
    },
  })
  const outbox = outboxOf(options, numbers, reportFrom('orderBy'))
  const sink = sinkOf(urls, { ...numbers, clock, tell })
  const door = doorway(() => outbox.stats())
  const work = relay<Payload<Event>>({
    sink,
    outbox,
    retry,
    clock,
    random,
    inRound: numbers.inRound,
    tell,
    ended: (outcome) => {
      door.freed()
      outcomes.next(outcome)
    },
  })

  const refuse = (refusal: Refusal): Either<Refusal, never> => {
    if (refusal._tag === 'Full') door.turnedAway()
    tell({ _tag: 'RefusedAtDoor', at: now(), refusal })
    return left(refusal)
  }

  const send = async (call: Call): Promise<Either<Refusal, Accepted>> => {
    if (!enabled) return refuse(disabled(call))
    const encoded = encode(call)
    if (isLeft(encoded)) return refuse(encoded.left)
    door.used()
    try {
      const kept = await work.offer(encoded.right)
      return isLeft(kept) ? refuse({ ...kept.left, input: call }) : right({ id: encoded.right.id })
    } catch (error) {
      return refuse(notKept(call, messageOf(error)))
    }
  }

  /** What fails to close is told, and keeps nothing else from closing. */
  const quietly = async (where: string, close: () => Promise<void>): Promise<void> => {
    try {
      await close()
    } catch (error) {
      reportFrom(where)(error)
    }
  }

  const shutDown = async (within: number): Promise<Closing<Payload<Event>>> => {
    const closed = await closeRelay(work, { clock, within, lastAttempt: numbers.timeout })
    await quietly('the close of the sink', () => sink.close(numbers.timeout)())
    await quietly('the close of the outbox', () => outbox.close())
    outcomes.complete()
    attempts.complete()
    return closed
  }

  const close: Destination['close'] = ({ timeout: within = CLOSE_WITHIN } = {}) => {
    work.refuse()
    door.open()
    // A turn later, so that whoever closes inside a callback of the close finds the same promise.
    closing ??= Promise.resolve().then(() => shutDown(within))
    return closing
  }

  return {
    send,
    ready: door.pass,
    outcomes$: outcomes.values$,
    outcomes: () => iterate(outcomes.values$, KEPT_FOR_READER),
    attempts$: attempts.values$,
    stats: () => ({
      ...work.totals(),
      enabled,
      refused: counts.refused(),
      bytes: outbox.stats().bytes,
      urls: counts.urls(),
    }),
    enable: () => {
      enabled = true
    },
    disable: () => {
      enabled = false
    },
    idle: idleness(work),
    redrive: (matches = () => true) => work.redrive(matches),
    close,
    [Symbol.asyncDispose]: async () => {
      await close()
    },
  }
}
