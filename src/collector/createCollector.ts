import { constVoid, isLeft, left, lefts, right } from '../core/either.ts'
import { decodeOptions, list, optionalKey, strict, text } from '../core/options.ts'
import { ownContext } from '../core/ownContext.ts'
import { ConfigError, closed, disabled, invalid } from '../core/refusal.ts'
import type { OpenDestination } from '../destination/createDestination.ts'
import { lifecycle } from '../log/lifecycle.ts'
import { authentication } from './authentication.ts'
import { bodyLimits } from './bodyLimits.ts'
import type { Collector, CollectorClosing, CollectorOptions } from './collector.ts'
import type { DestinationOutcome, SourceStats } from './collector.ts'
import { ingester, type Source } from './ingest.ts'
import { nodeMount, webMount } from './mounts.ts'
import { batchOfOne } from './requestBody.ts'
import { requestHandler } from './requestHandler.ts'
import { collectorOptions, decodeCollectorSettings, type CollectorSettings } from './settings.ts'
import { openTargets } from './targets.ts'

/** All faults at once. The settings are checked against `egress` only if the options are right. */
const checkSettings = (givenSettings: CollectorSettings, givenOptions: CollectorOptions) => {
  const options = decodeOptions(collectorOptions, givenOptions)
  const settings = decodeCollectorSettings(givenSettings, isLeft(options) ? undefined : options.right.egress)
  if (!isLeft(settings) && !isLeft(options)) return [settings.right, options.right] as const
  throw new ConfigError('Invalid settings or options of a collector', lefts([settings, options]).flat())
}

const NO_SOURCE = [{ path: '', message: 'there is no source with this id' }]
const deletionOptions = strict({ sources: optionalKey(list('ids of sources', 0, Infinity, text)) })

/**
 * The receiving side: senders post events of a source in the public tracking convention, and each event goes
 * to the destinations that are connected to its source and allowed by its integrations. Mount it on a server
 * of yours.
 *
 * @throws ConfigError that lists every fault of the settings and the options; OutboxError of a folder.
 *
 * @example
 * import { createCollector } from 'headrace/collector'
 * import { sink } from 'headrace'
 * import type { Event } from 'headrace/events'
 * import type { Payload } from 'headrace'
 *
 * const collector = createCollector({
 *   sources: [{ id: 'web', writeKey: 'wk' }],
 *   destinations: [
 *     {
 *       name: 'Log',
 *       sources: ['web'],
 *       sink: sink('log', async ({ id }: Payload<Event>) => console.log(id)),
 *     },
 *   ],
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
export const createCollector = (given: CollectorSettings, givenOptions: CollectorOptions = {}): Collector => {
  const [settings, options] = checkSettings(given, givenOptions)
  const { clock, maxBatchBytes, maxUploadBytes } = options
  // Destinations that an update opens belong to the collector, not to the caller of the update.
  const own = ownContext()
  const life = lifecycle<CollectorClosing>(clock, 'collector', options)
  const { now, onEvent, defectIn, isClosing } = life
  const outcomes = life.stream<DestinationOutcome>('outcomes$')
  const targets = openTargets(settings, options, outcomes.next, defectIn('the close of a destination'))
  /** All that there were: their counts stay. */
  const known = new Map<string, Source>()
  let sources: ReadonlyMap<string, Source> = new Map()
  let owners: ReturnType<typeof authentication<Source>>
  const connect = (settings: CollectorSettings): void => {
    const connected = settings.destinations.map((each) => new Set(each.sources))
    const all = settings.sources.map(({ id, enabled = true, deletions = false, writeKey }) => {
      const source = known.get(id) ?? { id, enabled, deletions, targets: [], received: 0, accepted: 0 }
      known.set(id, source)
      source.enabled = enabled
      source.deletions = deletions
      source.targets = targets.current().filter((_, at) => connected[at]?.has(id))
      return [writeKey, source] as const
    })
    sources = new Map(all.map(([, source]) => [source.id, source]))
    for (const source of known.values()) {
      if (sources.has(source.id)) continue
      source.enabled = false
      source.targets = []
    }
    owners = authentication(all)
  }
  connect(settings)

  const answers = new Map<number, number>()
  const onAnswered = (status: number) => answers.set(status, (answers.get(status) ?? 0) + 1)
  const ingesting = ingester(options, isClosing, (told) => onEvent({ ...told, at: now(), from: 'collector' }))

  const limits = bodyLimits(clock, options.uploadTimeout, maxBatchBytes)
  const failed = defectIn('the collector')
  const answer = requestHandler(() => owners, maxBatchBytes, maxUploadBytes, isClosing, ingesting, failed)

  const destinationOf = (name: string): OpenDestination | undefined =>
    targets.current().find((target) => target.name === name)?.destination

  const toggle = (name: string, how: 'enable' | 'disable'): boolean => {
    destinationOf(name)?.[how]()
    return destinationOf(name) !== undefined
  }

  const close: Collector['close'] = (given) => {
    limits.close()
    return life.close(() => targets.close(given))
  }

  const update: Collector['update'] = (given) => {
    if (isClosing()) return left(closed(undefined))
    const next = decodeCollectorSettings(given, options.egress)
    if (isLeft(next)) return next
    const updated = targets.update(next.right)
    if (!isLeft(updated)) connect(next.right)
    return updated
  }

  const statsOf = (own: ReadonlyArray<Source>): SourceStats => {
    const received = own.reduce((sum, each) => sum + each.received, 0)
    const accepted = own.reduce((sum, each) => sum + each.accepted, 0)
    return { received, accepted, refused: received - accepted }
  }

  return {
    handle: webMount(answer, limits, onAnswered),
    listener: nodeMount(answer, limits, onAnswered),
    accept: async (id, message) => {
      const source = sources.get(id)
      if (source === undefined) return left(invalid(message, NO_SOURCE))
      if (!source.enabled) return left(disabled(message))
      const { refused, id: messageId = '' } = await ingesting.ingest(source, batchOfOne(message))
      return refused[0] === undefined ? right({ id: messageId }) : left(refused[0].refusal)
    },
    requestDeletion: async (userId, given) => {
      const asked = decodeOptions(deletionOptions, given ?? {})
      if (isLeft(asked)) return left(invalid(userId, asked.left))
      const { sources: ids = [...sources.keys()] } = asked.right
      const faults = ids.flatMap((id, at) =>
        sources.has(id) ? [] : [{ path: `sources[${String(at)}]`, message: 'is not the id of a source' }],
      )
      if (faults.length > 0) return left(invalid(userId, faults))
      const affected = [...new Set(ids)].flatMap((id) => sources.get(id) ?? [])
      return ingesting.deleteUser(affected, { userId })
    },
    enable: (name) => toggle(name, 'enable'),
    disable: (name) => toggle(name, 'disable'),
    outcomes$: outcomes.values$,
    stats: () => ({
      ...statsOf([...known.values()]),
      ...ingesting.counts(),
      answers: Object.fromEntries(answers),
      sources: Object.fromEntries([...sources].map(([id, source]) => [id, statsOf([source])])),
      destinations: Object.fromEntries(targets.current().map((one) => [one.name, one.destination.stats()])),
    }),
    idle: targets.idle,
    update: (given) => own(update, given),
    dead: (name) => destinationOf(name)?.dead,
    redrive: async (name, matches) => (await destinationOf(name)?.redrive(matches)) ?? 0,
    close,
    [Symbol.asyncDispose]: () => close().then(constVoid),
  }
}
