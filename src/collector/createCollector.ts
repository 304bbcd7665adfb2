import { isLeft, left, right } from 'fp-ts/lib/Either.js'
import { steady } from '../core/clock.ts'
import { decodeOptions } from '../core/options.ts'
import { ConfigError, disabled, invalid } from '../core/refusal.ts'
import { sumOf } from '../core/totals.ts'
import { openDestination, urlsSink, webhooksOf } from '../destination/createDestination.ts'
import type { OpenDestination } from '../destination/createDestination.ts'
import type { SharedOptions } from '../destination/settings.ts'
import { listeners } from '../log/listeners.ts'
import { hot } from '../log/streams.ts'
import { isStoredIn, OutboxError } from '../outbox/lmdb/contract.ts'
import type { Event } from '../event/event.ts'
import { bodyOf } from '../event/payload.ts'
import type { Payload } from '../event/payload.ts'
import { signerOf } from '../signing/secret.ts'
import { contramap } from '../sink/layer.ts'
import { withObserver } from '../sink/observe.ts'
import { withTimeout } from '../sink/timeout.ts'
import { bodyLimits } from './bodyLimits.ts'
import type { Collector, CollectorClosing, CollectorOptions } from './collector.ts'
import type { CollectorStats, DestinationOutcome, SourceStats } from './collector.ts'
import { ingester } from './ingest.ts'
import type { Source, Target } from './ingest.ts'
import { nodeMount, webMount } from './mounts.ts'
import { single } from './requestBody.ts'
import { requestHandler } from './requestHandler.ts'
import { collectorOptions, decodeCollectorSettings } from './settings.ts'
import type { CheckedCollectorOptions, CollectorSettings, DestinationSettings } from './settings.ts'

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

/** Makes the sink of a destination. One of the host's own has a time for each attempt, and its signature in the payload. */
const sinkOf = (
  settings: DestinationSettings,
  options: SharedOptions,
): Parameters<typeof openDestination>[0] => {
  const { clock, timeout } = options
  const { sink, sharedSecret } = settings
  if (sink === undefined) {
    const urls = webhooksOf(settings, options)
    return (onEvent, isStopped) => urlsSink(urls, options, onEvent, isStopped)
  }
  const signer = sharedSecret && signerOf(sharedSecret)
  const withSignature = (payload: Payload<Event>): Payload<Event> =>
    signer ? { ...payload, signature: signer(bodyOf(payload, 0)) } : payload
  const signed = signer ? contramap(withSignature)(sink) : sink
  return (onEvent) => withObserver(onEvent, { clock })(withTimeout(timeout, { clock })(signed))
}

/** Opens all destinations, or none: if one folder cannot be opened, the others are closed again. */
const openTargets = (
  { destinations }: CollectorSettings,
  { outbox: outboxFor, ...options }: CheckedCollectorOptions,
  onOutcome: (outcome: DestinationOutcome) => void,
): ReadonlyArray<Target> => {
  const opened: Target[] = []
  for (const settings of destinations) {
    const { name, enabled = true, outbox: folder } = settings
    try {
      const given = folder ?? outboxFor?.(name)
      const outbox = isStoredIn(given) ? { owner: name, ...given } : given
      const all = { ...options, ...(outbox === undefined ? {} : { outbox }) }
      const destination = openDestination(sinkOf(settings, all), enabled, all, (outcome) =>
        onOutcome({ destination: name, outcome }),
      )
      opened.push({ name, destination })
    } catch (error) {
      for (const { destination } of opened) void destination.close({ timeout: 0 })
      if (!(error instanceof OutboxError)) throw error
      const { reason, path, message } = error
      throw new OutboxError(reason, path, `destination ${JSON.stringify(name)}: ${message}`)
    }
  }
  return opened
}

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
  const { clock, maxBatch, maxUploading } = options
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

  const answers = new Map<number, number>()
  const onAnswered = (status: number): void => {
    answers.set(status, (answers.get(status) ?? 0) + 1)
  }
  const ingesting = ingester(options, isClosing, (event) => onEvent({ ...event, at: now() }))

  const limits = bodyLimits(clock, options.uploadTimeout, maxBatch, maxUploading)
  const owners = sources.map((source, at) => [settings.sources[at]?.writeKey ?? '', source] as const)
  const failed = defectIn('the collector')
  const answer = requestHandler(owners, maxBatch, maxUploading, isClosing, ingesting, failed)

  const destinationOf = (name: string): OpenDestination | undefined =>
    targets.find((target) => target.name === name)?.destination

  const toggle = (name: string, how: 'enable' | 'disable'): boolean => {
    destinationOf(name)?.[how]()
    return destinationOf(name) !== undefined
  }

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
    limits.close()
    return closing
  }

  const stats = (): CollectorStats => {
    const statsOf = (own: ReadonlyArray<Source>): SourceStats => {
      const received = own.reduce((sum, each) => sum + each.received, 0)
      const accepted = own.reduce((sum, each) => sum + each.accepted, 0)
      return { received, accepted, refused: received - accepted }
    }
    return {
      ...statsOf(sources),
      ...ingesting.counts(),
      answers: Object.fromEntries(answers),
      sources: Object.fromEntries(sources.map((source) => [source.id, statsOf([source])])),
      destinations: Object.fromEntries(targets.map(({ name, destination }) => [name, destination.stats()])),
    }
  }

  return {
    handle: webMount(answer, limits, onAnswered),
    listener: nodeMount(answer, limits, onAnswered),
    accept: async (id, message) => {
      const source = sources.find((each) => each.id === id)
      if (source === undefined)
        return left(invalid(message, [{ path: '', message: 'there is no source with this id' }]))
      if (!source.enabled) return left(disabled(message))
      const { refused, id: messageId = '' } = await ingesting.ingest(source, single(message))
      return refused[0] === undefined ? right({ id: messageId }) : left(refused[0].refusal)
    },
    requestDeletion: async (userId, given) => {
      const { sources: ids = sources.map(({ id }) => id) } = given ?? {}
      const faults = ids.flatMap((id, at) =>
        sources.some((source) => source.id === id)
          ? []
          : [{ path: `sources[${String(at)}]`, message: 'is not the id of a source' }],
      )
      if (faults.length > 0) return left(invalid(userId, faults))
      return ingesting.deleteUser(
        sources.filter(({ id }) => ids.includes(id)),
        { userId },
      )
    },
    enable: (name) => toggle(name, 'enable'),
    disable: (name) => toggle(name, 'disable'),
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
