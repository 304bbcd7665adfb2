import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { steady } from '../core/clock.ts'
import { decodeOptions } from '../core/options.ts'
import { ConfigError, disabled, invalid } from '../core/refusal.ts'
import type { Refusal } from '../core/refusal.ts'
import { sumOf } from '../core/totals.ts'
import { openDestination, urlsSink, webhooksOf } from '../destination/createDestination.ts'
import type { OpenDestination } from '../destination/createDestination.ts'
import { listeners } from '../log/listeners.ts'
import type { Listener } from '../log/logEvent.ts'
import { hot } from '../log/streams.ts'
import { isStoredIn } from '../outbox/lmdb/contract.ts'
import { outboxFault, OutboxError } from '../outbox/lmdb/contract.ts'
import type { Event } from '../event/event.ts'
import type { Payload } from '../event/payload.ts'
import { signerOf } from '../signing/sign.ts'
import { contramap } from '../sink/layer.ts'
import { withObserver } from '../sink/observe.ts'
import type { Sink } from '../sink/sink.ts'
import { withTimeout } from '../sink/timeout.ts'
import { authentication } from './authentication.ts'
import type {
  Collector,
  CollectorClosing,
  CollectorOptions,
  CollectorStats,
  DestinationOutcome,
  SourceStats,
} from './collector.ts'
import { deleter, sourcesById } from './deletions.ts'
import { ingester, messageEncoder } from './ingest.ts'
import { nodeMount } from './nodeMount.ts'
import { requestHandler } from './requestHandler.ts'
import type { Source, Target } from './route.ts'
import { collectorOptions, decodeCollectorSettings } from './settings.ts'
import type {
  CheckedCollectorOptions,
  CollectorSettings,
  DestinationSettings,
  SinkDestinationSettings,
} from './settings.ts'
import { uploads } from './uploads.ts'
import { webMount } from './webMount.ts'

/** All faults at once. The settings are checked against `egress` only if the options are right. */
const check = (
  givenSettings: CollectorSettings,
  givenOptions: CollectorOptions,
): readonly [CollectorSettings, CheckedCollectorOptions] => {
  const options = decodeOptions(collectorOptions, givenOptions)
  const egress = isLeft(options) ? undefined : options.right.egress
  const settings = decodeCollectorSettings(givenSettings, egress)
  if (!isLeft(settings) && !isLeft(options)) return [settings.right, options.right]
  throw new ConfigError('Invalid settings or options of a collector', [
    ...(isLeft(settings) ? settings.left : []),
    ...(isLeft(options) ? options.left : []),
  ])
}

type MakeSink = (onEvent: Listener) => Sink<Payload<Event>>

/** Each attempt has its time. The signer comes with the payload: what waits has none. */
const ownSink =
  ({ sink, sharedSecret }: SinkDestinationSettings, { clock, timeout }: CheckedCollectorOptions): MakeSink =>
  (onEvent) => {
    const signer = sharedSecret === undefined ? undefined : signerOf(sharedSecret)
    const signed =
      signer === undefined ? sink : contramap((payload: Payload<Event>) => ({ ...payload, signer }))(sink)
    return withObserver(onEvent, { clock })(withTimeout(timeout, { clock })(signed))
  }

const sinkOf = (settings: DestinationSettings, options: CheckedCollectorOptions): MakeSink => {
  if (settings.sink !== undefined) return ownSink(settings, options)
  const urls = webhooksOf(settings, options)
  return (onEvent) => urlsSink(urls, options, onEvent)
}

const openTarget = (
  { name, enabled = true, outbox: folder }: DestinationSettings,
  makeSink: MakeSink,
  { outbox: outboxFor, ...options }: CheckedCollectorOptions,
  onOutcome: (outcome: DestinationOutcome) => void,
): Target => {
  const given = folder ?? outboxFor?.(name)
  const outbox = isStoredIn(given) ? { owner: name, ...given } : given
  const all = { ...options, ...(outbox === undefined ? {} : { outbox }) }
  try {
    const destination = openDestination(makeSink, enabled, all, (outcome) =>
      onOutcome({ destination: name, outcome }),
    )
    return { name, destination }
  } catch (error) {
    if (!(error instanceof OutboxError)) throw error
    const { reason, path, message } = error
    throw new OutboxError(outboxFault(reason, path, `destination ${JSON.stringify(name)}: ${message}`))
  }
}

/** Opens all, or none: if one folder cannot be opened, the others are closed again. */
const openTargets = (
  { destinations }: CollectorSettings,
  options: CheckedCollectorOptions,
  onOutcome: (outcome: DestinationOutcome) => void,
): ReadonlyArray<Target> => {
  const sinks = destinations.map((each) => sinkOf(each, options))
  const opened: Target[] = []
  try {
    destinations.forEach((each, at) => {
      const makeSink = sinks[at]
      if (makeSink !== undefined) opened.push(openTarget(each, makeSink, options, onOutcome))
    })
  } catch (error) {
    for (const { destination } of opened) void destination.close({ timeout: 0 })
    throw error
  }
  return opened
}

const statsOf = ({ received, accepted }: Pick<SourceStats, 'received' | 'accepted'>): SourceStats => ({
  received,
  accepted,
  refused: received - accepted,
})

/**
 * The receiving side: senders post events of a source in the public tracking convention, and each event goes to the
 * destinations that are connected to its source and allowed by its integrations. Mount it on a server of yours.
 *
 * @throws ConfigError that lists everything that is wrong with the settings and the options, unknown ones too.
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
export const createCollector = (
  givenSettings: CollectorSettings,
  givenOptions: CollectorOptions = {},
): Collector => {
  const [settings, options] = check(givenSettings, givenOptions)
  const { clock, whenFull, maxBatch, maxUploading } = options
  const now = steady(clock)
  const onEvent = listeners(options)
  let closing: Promise<CollectorClosing> | undefined
  const isClosing = (): boolean => closing !== undefined

  const defectIn =
    (where: string) =>
    (error: unknown): void =>
      onEvent({ _tag: 'Defect', at: now(), where, error })
  const outcomes = hot<DestinationOutcome>(defectIn('a subscriber of outcomes$'))
  const targets = openTargets(settings, options, outcomes.next)
  const sources = settings.sources.map(({ id, enabled = true, deletions = false }): Source => ({
    id,
    enabled,
    deletions,
    targets: targets.filter((_, at) => settings.destinations[at]?.sources.includes(id)),
    received: 0,
    accepted: 0,
  }))

  const reasons = { Invalid: 0, TooLarge: 0, Full: 0, Disabled: 0, Closed: 0, NotStored: 0 }
  const answers = new Map<number, number>()
  let unrouted = 0
  let deletions = 0
  const onAnswered = (status: number): void => {
    answers.set(status, (answers.get(status) ?? 0) + 1)
  }
  const onRefused = (refusal: Refusal): void => onEvent({ _tag: 'Refused', at: now(), refusal })

  const encode = messageEncoder(options, (keys) => onEvent({ _tag: 'UnknownKeys', at: now(), keys }))
  const ingest = ingester(encode, whenFull, isClosing, {
    accepted: (source, count, withoutTarget) => {
      source.received += count
      source.accepted += count
      unrouted += withoutTarget
    },
    refused: (source, refusal) => {
      source.received++
      reasons[refusal._tag]++
      onRefused(refusal)
    },
  })
  const deleteUser = deleter(encode, whenFull, isClosing, (notifications) => {
    deletions += notifications
  })

  const uploading = uploads(clock, options.uploadTimeout, maxUploading)
  const handler = requestHandler({
    authentication: authentication(
      sources.map((source, at) => [settings.sources[at]?.writeKey ?? '', source] as const),
    ),
    maxBatch,
    maxUploading,
    isClosing,
    ingest,
    deleteBySource: async (source, call) => {
      const deleted = await deleteUser([source], call)
      if (isLeft(deleted)) onRefused(deleted.left)
      return deleted
    },
    onDefect: defectIn('the collector'),
  })

  const destinationOf = (name: string): OpenDestination | undefined =>
    targets.find((target) => target.name === name)?.destination

  const shutDown = async (...given: Parameters<Collector['close']>): Promise<CollectorClosing> => {
    const closed = await Promise.all(targets.map(({ destination }) => destination.close(...given)))
    outcomes.complete()
    return {
      totals: sumOf(closed.map(({ totals }) => totals)),
      abandoned: Object.fromEntries(targets.map(({ name }, at) => [name, closed[at]?.abandoned ?? []])),
    }
  }

  const close: Collector['close'] = (given) => {
    if (closing !== undefined) return closing
    closing = Promise.resolve().then(() => shutDown(given))
    uploading.close()
    return closing
  }

  const stats = (): CollectorStats => {
    const sum = (of: (source: Source) => number): number =>
      sources.reduce((total, source) => total + of(source), 0)
    return {
      ...statsOf({ received: sum(({ received }) => received), accepted: sum(({ accepted }) => accepted) }),
      reasons: { ...reasons },
      unrouted,
      deletions,
      answers: Object.fromEntries(answers),
      sources: Object.fromEntries(sources.map((source) => [source.id, statsOf(source)])),
      destinations: Object.fromEntries(targets.map(({ name, destination }) => [name, destination.stats()])),
    }
  }

  return {
    handle: webMount(handler, uploading, maxBatch, onAnswered),
    listener: nodeMount(handler, uploading, maxBatch, onAnswered),
    accept: async (id, message) => {
      const source = sources.find((each) => each.id === id)
      if (source === undefined)
        return left(invalid(message, [{ path: '', message: 'there is no source with this id' }]))
      if (!source.enabled) return left(disabled(message))
      const { refused, id: messageId = '' } = await ingest(source, [message], {
        owned: false,
        size: Infinity,
      })
      return refused[0] === undefined ? right({ id: messageId }) : left(refused[0].refusal)
    },
    requestDeletion: async (userId, given): ReturnType<Collector['requestDeletion']> => {
      // Callers without types may pass null.
      const affected = sourcesById((given as typeof given | null)?.sources, sources)
      return isLeft(affected) ? left(invalid(userId, affected.left)) : deleteUser(affected.right, { userId })
    },
    enable: (name) => {
      destinationOf(name)?.enable()
      return destinationOf(name) !== undefined
    },
    disable: (name) => {
      destinationOf(name)?.disable()
      return destinationOf(name) !== undefined
    },
    outcomes$: outcomes.values$,
    stats,
    idle: async () => sumOf(await Promise.all(targets.map(({ destination }) => destination.idle()))),
    redrive: async (name, matches) => (await destinationOf(name)?.redrive(matches)) ?? 0,
    close,
    [Symbol.asyncDispose]: async () => {
      await close()
    },
  }
}
