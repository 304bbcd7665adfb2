import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { Subject } from 'rxjs'
import { systemClock } from '../clock/Clock.ts'
import { systemRandom } from '../clock/Random.ts'
import type { Call } from '../event/Call.ts'
import { eventCodec } from '../event/Event.ts'
import type { Event } from '../event/Event.ts'
import { encodePayload } from '../event/encodePayload.ts'
import { faultsOf } from '../event/faultsOf.ts'
import { bodyBytes } from '../event/Limits.ts'
import type { Payload } from '../event/Payload.ts'
import { toWebhookBody } from '../event/WebhookBody.ts'
import { messageOf } from '../internal/messageOf.ts'
import type { Attempted, Tell } from '../observe/Happening.ts'
import type { Outcome } from '../outcome/Outcome.ts'
import { disabled, invalid, notKept } from '../outcome/Refusal.ts'
import type { Refusal } from '../outcome/Refusal.ts'
import { closeRelay } from '../outbox/relay/closeRelay.ts'
import type { Closing } from '../outbox/relay/closeRelay.ts'
import { memoryOutbox } from '../outbox/memoryOutbox.ts'
import { relay } from '../outbox/relay/relay.ts'
import { standard } from '../policy/RetryPolicy.ts'
import { signerOf } from '../signing/signerOf.ts'
import { turnstile } from '../sources/Turnstile.ts'
import { ConfigError } from './ConfigError.ts'
import type { Accepted, Destination, DestinationOptions } from './Destination.ts'
import { idleness } from './idleness.ts'
import { iterate } from './iterate.ts'
import { listeners } from './listeners.ts'
import { decodeSettings } from './Settings.ts'
import type { Settings } from './Settings.ts'
import { ordering } from './ordering.ts'
import { sinkOf } from './sinkOf.ts'
import { tally } from './tally.ts'

/** Outcomes that an iterator keeps for its reader. */
const KEPT_FOR_READER = 100_000
/** A close may take so long unless it is told otherwise (DE15). */
const CLOSE_WITHIN = 30_000

const settingsOrThrow = (settings: Settings, { egress }: DestinationOptions): Settings => {
  const decoded = decodeSettings(settings, egress)
  if (isLeft(decoded)) throw new ConfigError('the settings of a webhook destination are wrong', decoded.left)
  return decoded.right
}

/**
 * A webhook destination: each event that it accepts is posted to all its URLs, signed, until one of them has taken it, all have
 * refused it, or four hours are over (seed, part A). It accounts for every event.
 *
 * Wrong settings throw one `ConfigError` that names every fault; `decodeSettings` says the same as a value.
 *
 * @example
 * import { webhookDestination } from 'headrace/destination'
 *
 * const destination = webhookDestination({
 *   sharedSecret: 'correct horse',
 *   webhooks: [{ url: 'http://127.0.0.1:9/a' }, { url: 'http://127.0.0.1:9/b', headers: { 'X-Team': 'blue' } }],
 * }, { logger: false })
 * destination.outcomes$.subscribe(({ _tag, item }) => console.log(_tag, item.id))
 * console.log(await destination.send({ type: 'track', userId: 'u1', event: 'Signed Up', messageId: 'm1' }))
 * // => { _tag: 'Right', right: { id: 'm1' } }
 * await destination.close({ timeout: 0 })
 * // => Abandoned m1
 */
export const webhookDestination = (given: Settings, options: DestinationOptions = {}): Destination => {
  const settings = settingsOrThrow(given, options)
  const { clock = systemClock, maxCount = 100_000, maxBytes = 268_435_456, maxBody = bodyBytes } = options
  const { retry = standard, random = systemRandom, inRound = 1_000, timeout = 5_000 } = options
  const signer = settings.sharedSecret === undefined ? undefined : signerOf(settings.sharedSecret)
  const outbox = options.outbox ?? memoryOutbox<Payload<Event>>({ maxCount, maxBytes })
  const outcomes = new Subject<Outcome<Payload<Event>>>()
  const attempts = new Subject<Attempted>()
  let enabled = settings.enabled ?? true
  let closing: Promise<Closing<Payload<Event>>> | undefined

  const tellAttempts: Tell = (happening) => {
    if (happening._tag === 'Attempted') attempts.next(happening)
  }
  const counts = tally()
  const tell = listeners(options, counts.tell, tellAttempts)
  const sink = sinkOf(settings, options, { clock, timeout, inRound, tell })
  const { orderBy } = options
  const parts =
    orderBy === undefined
      ? { sink, retry, inRound }
      : ordering({ sink, retry, inRound }, { orderBy, maxCount, clock, random, tell })

  const room = (): number => {
    const { waiting, bytes } = outbox.stats()
    return bytes >= maxBytes ? 0 : maxCount - waiting
  }
  const gate = turnstile(room)
  const work = relay<Payload<Event>>({
    ...parts,
    outbox,
    clock,
    random,
    tell,
    ended: (outcome) => {
      gate.freed()
      outcomes.next(outcome)
    },
  })
  const rest = idleness(work)

  const codec = eventCodec({
    clock,
    onDropped: (keys) => {
      work.report({ _tag: 'KeysDropped', at: work.now(), keys })
    },
    ...(options.newId === undefined ? {} : { newId: options.newId }),
  })

  const refuse = (refusal: Refusal): Either<Refusal, never> => {
    work.report({ _tag: 'RefusedAtDoor', at: work.now(), refusal })
    return left(refusal)
  }

  const encode = (input: Call): Either<Refusal, Payload<Event>> => {
    const decoded = codec.decode(input)
    if (isLeft(decoded)) return left(invalid(input, faultsOf(decoded.left)))
    const event = decoded.right
    const encoded = encodePayload(event.messageId, event, toWebhookBody(event), maxBody)
    return isLeft(encoded) || signer === undefined ? encoded : right({ ...encoded.right, signer })
  }

  const send = async (input: Call): Promise<Either<Refusal, Accepted>> => {
    if (!enabled) return refuse(disabled(input))
    const encoded = encode(input)
    if (isLeft(encoded)) return refuse(encoded.left)
    gate.used()
    try {
      const kept = await work.offer(encoded.right)
      return isLeft(kept) ? refuse({ ...kept.left, input }) : right({ id: encoded.right.id })
    } catch (error) {
      return refuse(notKept(input, messageOf(error)))
    }
  }

  const close = async (within: number): Promise<Closing<Payload<Event>>> => {
    const closed = await closeRelay(work, { clock, within, lastAttempt: timeout })
    gate.open()
    await sink.close(timeout)()
    await outbox.close()
    outcomes.complete()
    attempts.complete()
    return closed
  }
  const closeOnce: Destination['close'] = ({ timeout: within = CLOSE_WITHIN } = {}) =>
    (closing ??= close(within))

  return {
    send,
    ready: gate.pass,
    outcomes$: outcomes.asObservable(),
    outcomes: () => iterate(outcomes, KEPT_FOR_READER),
    attempts$: attempts.asObservable(),
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
    idle: rest,
    redrive: (matches = () => true) => work.redrive(matches),
    close: closeOnce,
    [Symbol.asyncDispose]: async () => {
      await closeOnce()
    },
  }
}
