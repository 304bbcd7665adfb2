import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { messageOf } from '../core/awaitable.ts'
import { steady, systemClock } from '../core/clock.ts'
import { ConfigError, disabled, invalid, notStored } from '../core/refusal.ts'
import type { Fault, Refusal } from '../core/refusal.ts'
import { sumOf } from '../core/totals.ts'
import type { Accepted, CloseOptions } from '../destination/destination.ts'
import { numbersOf } from '../destination/options.ts'
import { receivedBatchBytes, receivedCallBytes } from '../event/limits.ts'
import { listeners } from '../log/listeners.ts'
import { isListening } from '../log/listeners.ts'
import { hot } from '../log/streams.ts'
import { authentication } from './authentication.ts'
import type {
  Collector,
  CollectorClosing,
  CollectorOptions,
  DestinationOutcome,
  Place,
  Source,
} from './collector.ts'
import { tally } from './counters.ts'
import { forgetting } from './deletions.ts'
import { encoding, intake } from './ingest.ts'
import { nodeMount } from './nodeMount.ts'
import { optionsFaults } from './options.ts'
import { reception } from './requestHandler.ts'
import { decodeCollectorSettings } from './settings.ts'
import type { CollectorSettings } from './settings.ts'
import { storage } from './storage.ts'
import { openPlaces } from './targets.ts'
import { uploads } from './uploads.ts'
import { webMount } from './webMount.ts'

const orThrow = <A>(what: string, checked: Either<ReadonlyArray<Fault>, A>): A => {
  if (isLeft(checked)) throw new ConfigError(`the ${what} of a collector are wrong`, checked.left)
  return checked.right
}

/** Everything that is wrong at once: what settings say can be held against `egress` only if that is right. */
const checked = (given: CollectorSettings, options: CollectorOptions): CollectorSettings => {
  const wrong = optionsFaults(options)
  const settings = decodeCollectorSettings(given, wrong.length === 0 ? options.egress : undefined)
  if (wrong.length === 0) return orThrow('settings', settings)
  return orThrow(
    isLeft(settings) ? 'settings and options' : 'options',
    left([...(isLeft(settings) ? settings.left : []), ...wrong]),
  )
}

const numbers = (options: CollectorOptions) => ({
  maxMessage: options.maxMessage ?? receivedCallBytes,
  maxBatch: options.maxBatch ?? receivedBatchBytes,
  maxBody: numbersOf(options, 'createCollector').maxBody,
  uploadTimeout: options.uploadTimeout ?? 30_000,
  maxUploading: options.maxUploading ?? 67_108_864,
})

const openSources = (
  { sources, destinations }: CollectorSettings,
  places: ReadonlyArray<Place>,
): ReadonlyArray<Source> =>
  sources.map(({ id, enabled = true, deletions = false }) => ({
    id,
    enabled,
    deletions,
    places: places.filter((_, at) => destinations[at]?.sources.includes(id)),
    received: 0,
    accepted: 0,
  }))

/**
 * The receiving side: sources post events to it in the public tracking convention, and it forwards each to the destinations that are connected
 * to its source and allowed by it (CO1, CO4). It is mounted on a server of the host's. It accounts for every message.
 *
 * Wrong settings and options, misspelt ones too, throw one `ConfigError` that names every fault; `decodeCollectorSettings` says the same of
 * the settings as a value.
 *
 * @example
 * import { createCollector } from 'headrace/collector'
 * import { sink } from 'headrace'
 * import type { Event, Payload } from 'headrace'
 *
 * const collector = createCollector({
 *   sources: [{ id: 'web', writeKey: 'wk' }],
 *   destinations: [{ name: 'Log', sources: ['web'], sink: sink('log', async ({ id }: Payload<Event>) => console.log(id)) }],
 * })
 * const response = await collector.handle(new Request('http://localhost/v1/track', {
 *   method: 'POST',
 *   headers: { 'Content-Type': 'application/json' },
 *   body: JSON.stringify({ writeKey: 'wk', userId: 'u1', event: 'Signed Up', messageId: 'm1' }),
 * }))
 * // => m1
 * console.log(response.status, await response.text()) // => 200 {"ok":true,"receivedEvents":1,"okEvents":1}
 * await collector.close()
 */
export const createCollector = (given: CollectorSettings, options: CollectorOptions = {}): Collector => {
  const settings = checked(given, options)
  const { clock = systemClock, whenFull = 'deadLetter', newId } = options
  const { maxMessage, maxBatch, maxBody, uploadTimeout, maxUploading } = numbers(options)
  const now = steady(clock)
  const onEvent = listeners(options)
  const hears = isListening(options)
  let closing: Promise<CollectorClosing> | undefined
  const isClosing = (): boolean => closing !== undefined

  const reportFrom =
    (where: string) =>
    (error: unknown): void => {
      onEvent({ _tag: 'Defect', at: now(), where, error })
    }
  const outcomes = hot<DestinationOutcome>(reportFrom('a subscriber of outcomes$'))
  const places = orThrow('options', openPlaces(settings, options, outcomes.next))
  const sources = openSources(settings, places)
  const counts = tally(sources)

  const encode = encoding({
    clock,
    maxMessage,
    maxBody,
    newId,
    onDropped: (keys) => {
      onEvent({ _tag: 'UnknownKeys', at: now(), keys })
    },
    hearsDropped: () => hears('UnknownKeys'),
  })
  const kept = storage(whenFull)
  const onRefused = (refusal: Refusal): void => {
    onEvent({ _tag: 'Refused', at: now(), refusal })
  }
  const take = intake({ encode, storage: kept, tally: counts, isClosing, onRefused })
  const onNotified = counts.deletions
  const forget = forgetting({ sources, encode, storage: kept, isClosing, onNotified, onRefused })
  const arriving = uploads(clock, uploadTimeout, maxUploading)
  const desk = reception({
    authentication: authentication(
      settings.sources.flatMap(({ writeKey }, at) => {
        const source = sources[at]
        return source === undefined ? [] : [[writeKey, source] as const]
      }),
    ),
    maxBatch,
    maxUploading,
    isClosing,
    uploads: arriving,
    take,
    forget: forget.bySource,
    onDefect: reportFrom('the collector'),
    onAnswer: counts.answered,
  })

  const acceptFrom = async (source: Source, message: unknown): Promise<Either<Refusal, Accepted>> => {
    const taken = await take({ source, messages: [message], defaults: {}, owned: false, size: Infinity })
    const [first] = taken.refused
    return first === undefined ? right({ id: taken.id ?? '' }) : left(first.refusal)
  }

  const placeOf = (name: string): Place | undefined => places.find((place) => place.name === name)

  const turn = (name: string, enabled: boolean): boolean => {
    const place = placeOf(name)
    if (place !== undefined) place.enabled = enabled
    return place !== undefined
  }

  const shutDown = async (options: CloseOptions | undefined): Promise<CollectorClosing> => {
    const closed = await Promise.all(places.map(({ work }) => work.close(options)))
    outcomes.complete()
    return {
      totals: sumOf(closed.map(({ totals }) => totals)),
      abandoned: Object.fromEntries(places.map(({ name }, at) => [name, closed[at]?.abandoned ?? []])),
    }
  }

  const close: Collector['close'] = (options) => {
    if (closing !== undefined) return closing
    closing = Promise.resolve().then(() => shutDown(options))
    arriving.close()
    return closing
  }

  return {
    handle: webMount(desk),
    listener: nodeMount(desk),
    accept: async (id, message) => {
      const source = sources.find((each) => each.id === id)
      if (source === undefined)
        return left(invalid(message, [{ path: '', message: 'no source has the id that was given' }]))
      if (!source.enabled) return left(disabled(message))
      try {
        return await acceptFrom(source, message)
      } catch (error) {
        return left(notStored(message, messageOf(error)))
      }
    },
    requestDeletion: async (userId, options) => {
      try {
        // Typed callers give an object or nothing; others give null.
        return await forget.byHost(userId, (options as typeof options | null) ?? {})
      } catch (error) {
        return left(notStored(userId, messageOf(error)))
      }
    },
    enable: (name) => turn(name, true),
    disable: (name) => turn(name, false),
    outcomes$: outcomes.values$,
    stats: () => ({
      ...counts.counts(),
      destinations: Object.fromEntries(
        places.map(({ name, work, enabled }) => [name, { ...work.stats(), enabled }]),
      ),
    }),
    idle: async () => sumOf(await Promise.all(places.map(({ work }) => work.idle()))),
    redrive: async (name, matches) => (await placeOf(name)?.work.redrive(matches)) ?? 0,
    close,
    [Symbol.asyncDispose]: async () => {
      await close()
    },
  }
}
