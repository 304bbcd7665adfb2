import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { messageOf } from '../core/awaitable.ts'
import { systemClock } from '../core/clock.ts'
import { disabled, notStored, ConfigError } from '../core/refusal.ts'
import type { Fault, Refusal } from '../core/refusal.ts'
import type { Totals } from '../core/totals.ts'
import type { Call } from '../event/call.ts'
import type { Event } from '../event/event.ts'
import type { Payload } from '../event/payload.ts'
import { isListening } from '../log/listeners.ts'
import type { Relay } from '../outbox/relay.ts'
import { isRetryPolicy } from '../policy/retryPolicy.ts'
import type { Sink } from '../sink/sink.ts'
import { waitForRoom } from '../sources/waitForRoom.ts'
import type { DestinationOptions, Accepted, Destination } from './destination.ts'
import { encoderOf } from './encoder.ts'
import { numbersOf, webhooksOf } from './options.ts'
import { outboxFaults } from './record.ts'
import { decodeSettings } from './settings.ts'
import type { Settings } from './settings.ts'
import { sinkOf, workings } from './worker.ts'

/**
 * Resolves with the totals when nothing waits any more, or when nothing more will end: a durable outbox keeps things beyond the
 * close, and what it cannot read. All who ask meanwhile share one promise.
 */
export const idleness = (
  relay: Pick<Relay<never>, 'totals' | 'onChange' | 'isAborted'>,
): (() => Promise<Totals>) => {
  let shared: Promise<Totals> | undefined

  const settle = (resolve: (totals: Totals) => void): void => {
    const check = (): void => {
      const totals = relay.totals()
      if (totals.waiting > 0 && !relay.isAborted()) return
      unwatch()
      shared = undefined
      resolve(totals)
    }
    const unwatch = relay.onChange(check)
    check()
  }

  return () => (shared ??= new Promise(settle))
}

/** Looked at before anything is opened: what fails later would leave a folder open. */
const retryFaults = (retry: unknown): ReadonlyArray<Fault> =>
  retry === undefined || isRetryPolicy(retry)
    ? []
    : [{ path: 'retry', message: 'must be a RetryPolicy: make it with the constructors' }]

/** What decoded settings stand for, or what is wrong with the options that all their URLs share. */
export const partsOf = (
  settings: Settings,
  options: DestinationOptions,
): Either<ReadonlyArray<Fault>, Parts> => {
  const { clock = systemClock, egress, statuses, messageIdHeader, outbox, retry } = options
  const { enabled = true } = settings
  const shared = { clock, egress, statuses, messageIdHeader, connections: numbersOf(options).concurrency }
  const urls = webhooksOf(settings, shared)
  const faults = [...(isLeft(urls) ? urls.left : []), ...outboxFaults(outbox), ...retryFaults(retry)]
  return isLeft(urls) || faults.length > 0 ? left(faults) : right({ urls: urls.right, enabled })
}

/** What a destination posts to, and what its settings say beside the URLs. */
export interface Parts {
  /** Each signs what it sends, if it has a secret: what waits has no signer, whoever stores it. */
  readonly urls: ReadonlyArray<Sink<Payload<Event>>>
  readonly enabled: boolean
}

/** A destination at work over its parts, whatever they post to: all that `Destination` promises. */
export const openDestination = ({ urls, ...settings }: Parts, options: DestinationOptions): Destination => {
  const numbers = numbersOf(options)
  const hears = isListening(options)
  let enabled = settings.enabled

  const room = waitForRoom(() => work.waiting())
  const work = workings(
    {
      sinkIn: (around) => sinkOf(urls, around),
      numbers,
      ended: room.freed,
      news: room.freed,
      answered: room.recheck,
      closing: room.open,
    },
    options,
  )
  const encode = encoderOf({
    clock: options.clock ?? systemClock,
    maxBody: numbers.maxBody,
    newId: options.newId,
    onDropped: (keys) => {
      work.onEvent({ _tag: 'UnknownKeys', at: work.now(), keys })
    },
    hearsDropped: () => hears('UnknownKeys'),
  })

  const refuse = (refusal: Refusal): Either<Refusal, never> => {
    if (refusal._tag === 'Full') room.refused()
    work.onEvent({ _tag: 'Refused', at: work.now(), refusal })
    return left(refusal)
  }

  const send = async (call: Call): Promise<Either<Refusal, Accepted>> => {
    if (!enabled) return refuse(disabled(call))
    const encoded = encode(call)
    if (isLeft(encoded)) return refuse(encoded.left)
    room.used()
    try {
      const kept = await work.offer(encoded.right)
      return isLeft(kept) ? refuse({ ...kept.left, input: call }) : right({ id: encoded.right.id })
    } catch (error) {
      return refuse(notStored(call, messageOf(error)))
    }
  }

  return {
    send,
    ready: room.ready,
    outcomes$: work.outcomes$,
    attempts$: work.attempts$,
    stats: () => ({ ...work.stats(), enabled }),
    enable: () => {
      enabled = true
    },
    disable: () => {
      enabled = false
    },
    idle: work.idle,
    redrive: work.redrive,
    close: work.close,
    [Symbol.asyncDispose]: async () => {
      await work.close()
    },
  }
}

const orThrow = <A>(what: string, checked: Either<ReadonlyArray<Fault>, A>): A => {
  if (isLeft(checked)) throw new ConfigError(`the ${what} of a webhook destination are wrong`, checked.left)
  return checked.right
}

/**
 * A webhook destination: each event that it accepts is posted to all its URLs, signed, until one of them has taken it, all have
 * refused it, or four hours are over (seed, part A). It accounts for every event.
 *
 * Wrong settings, and options for its requests that are wrong, throw one `ConfigError` that names every fault; `decodeSettings` says
 * the same of the settings as a value. A number that is wrong throws a `RangeError` that names it.
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
  const settings = orThrow('settings', decodeSettings(given, options.egress))
  return openDestination(orThrow('options', partsOf(settings, options)), options)
}
