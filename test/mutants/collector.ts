/** Collectors that are wrong on purpose. Each must break a law. */
import { concatMap, filter, map, of } from 'rxjs'
import { createCollector } from '../../src/collector/createCollector.ts'
import type { Collector, CollectorOptions } from '../../src/collector/collector.ts'
import type { CollectorSettings, DestinationSettings } from '../../src/collector/settings.ts'
import type { Event } from '../../src/event/event.ts'
import type { Payload } from '../../src/event/payload.ts'
import { memoryOutbox } from '../../src/outbox/memoryOutbox.ts'
import type { CreateCollector } from '../collector/world.ts'

const withOptions =
  (change: (options: CollectorOptions) => CollectorOptions): CreateCollector =>
  (settings, options) =>
    createCollector(settings, { ...options, ...change(options) })

const withSettings =
  (change: (settings: CollectorSettings) => Partial<CollectorSettings>): CreateCollector =>
  (settings, options) =>
    createCollector({ ...settings, ...change(settings) }, options)

const withDestinations = (change: (each: DestinationSettings) => object): CreateCollector =>
  withSettings(({ destinations }) => ({
    destinations: destinations.map((each) => ({ ...each, ...change(each) })),
  }))

const changed =
  (change: (collector: Collector) => Partial<Collector>): CreateCollector =>
  (settings, options) => {
    const collector = createCollector(settings, options)
    return { ...collector, ...change(collector) }
  }

type Batch = Record<string, unknown> & { readonly batch: ReadonlyArray<Record<string, unknown> | null> }

/** Changes what is posted before it is looked at. */
const posting = (change: (body: Batch) => object): CreateCollector =>
  changed(({ handle }) => ({
    handle: async (request) => {
      // The worlds post nothing else.
      const body = (await request.json()) as Batch
      const { url, method, headers } = request
      return handle(new Request(url, { method, headers, body: JSON.stringify(change(body)) }))
    },
  }))

const eachMessage = (change: (message: Record<string, unknown>) => object): CreateCollector =>
  posting((body) => ({ ...body, batch: body.batch.map((each) => (each === null ? null : change(each))) }))

const switches = (message: Record<string, unknown>): Record<string, unknown> => ({
  ...(message['integrations'] as Record<string, unknown> | undefined),
})

const answering = (change: (body: Record<string, unknown>) => object, status?: number): CreateCollector =>
  changed(({ handle }) => ({
    handle: async (request) => {
      const response = await handle(request)
      const body = (await response.json()) as Record<string, unknown>
      return new Response(JSON.stringify(change(body)), { status: status ?? response.status })
    },
  }))

export const collectorMutants: Readonly<Record<string, CreateCollector>> = {
  'knows no integrations': eachMessage(({ integrations: _, ...message }) => message),
  'knows no integrations of the batch': posting(({ integrations: _, ...body }) => body),
  'lets the batch overrule its messages': posting((body) => ({
    ...body,
    batch: body.batch.map((each) =>
      each === null ? null : { ...each, integrations: { ...switches(each), ...switches(body) } },
    ),
  })),
  'does not know All': eachMessage((message) => {
    const { All: _, ...integrations } = switches(message)
    return { ...message, integrations }
  }),
  'takes names in any case': eachMessage((message) => {
    const { a, ...integrations } = switches(message)
    return { ...message, integrations: a === undefined ? integrations : { A: a, ...integrations } }
  }),
  'starts with every destination switched on': withDestinations(() => ({ enabled: true })),
  'cannot be switched off': changed(() => ({ disable: () => true })),
  'cannot be switched on': changed(() => ({ enable: () => true })),
  'connects every destination to every source': withDestinations(() => ({ sources: ['web', 'app'] })),
  'takes from sources that are off': withSettings(({ sources }) => ({
    sources: sources.map((each) => ({ ...each, enabled: true })),
  })),
  'has one bound for all destinations': (settings, options) => {
    const shared = memoryOutbox<Payload<Event>>({ maxCount: options.maxCount ?? 1 })
    const outbox = (): typeof shared => {
      const own = memoryOutbox<Payload<Event>>({ maxCount: options.maxCount ?? 1 })
      const both: typeof own.enqueue = async (items) => {
        const answers = await shared.enqueue(items)
        return answers.some(({ _tag }) => _tag === 'Left') ? answers : own.enqueue(items)
      }
      return { ...own, enqueue: both }
    }
    return createCollector(settings, { ...options, outbox })
  },
  'refuses in place of burying': withOptions(() => ({ whenFull: 'refuse' })),
  'buries in place of refusing': withOptions(() => ({ whenFull: 'deadLetter' })),
  'has a smaller bound': withOptions(({ maxCount = 1 }) => ({ maxCount: Math.max(1, maxCount - 1) })),
  'takes what is too large': withOptions(() => ({ maxMessage: 32_768 })),
  'tells nobody of what it buries': changed(({ outcomes$ }) => ({
    outcomes$: outcomes$.pipe(filter(({ outcome }) => outcome._tag !== 'Rejected')),
  })),
  'tells of each outcome twice': changed(({ outcomes$ }) => ({
    outcomes$: outcomes$.pipe(concatMap((each) => of(each, each))),
  })),
  'names another destination': changed(({ outcomes$ }) => ({
    outcomes$: outcomes$.pipe(map((each) => ({ ...each, destination: 'A' }))),
  })),
  'loses the last message of a batch': posting((body) => ({
    ...body,
    batch: body.batch.length > 1 ? body.batch.slice(0, -1) : body.batch,
  })),
  'takes the good messages of a batch twice': posting((body) => ({
    ...body,
    batch: [...body.batch, ...body.batch],
  })),
  'says ok to everything': answering((body) => ({
    ...body,
    ok: true,
    okEvents: body['receivedEvents'],
    errors: [],
  })),
  'answers 200 whatever comes': answering((body) => body, 200),
  'names the wrong message': answering(({ errors, ...body }) =>
    Array.isArray(errors) ? { ...body, errors: errors.map(() => ({ index: 0 })) } : body,
  ),
  'refuses a batch for one bad message': changed(({ handle, accept }) => ({
    handle: async (request) => {
      const body = (await request.clone().json()) as Batch
      const wrong = body.batch.some((each) => each === null || typeof each['userId'] !== 'string')
      return handle(
        wrong ? new Request(request, { body: JSON.stringify({ ...body, batch: [null] }) }) : request,
      )
    },
    accept,
  })),
  'tells only the first source of a deletion': changed(({ requestDeletion }) => ({
    requestDeletion: (userId, { sources = ['web', 'app'] } = {}) =>
      requestDeletion(userId, { sources: sources.slice(0, 1) }),
  })),
  'tells every source of a deletion': changed(({ requestDeletion }) => ({
    requestDeletion: (userId) => requestDeletion(userId),
  })),
  'counts deletions as messages': changed(({ stats }) => ({
    stats: () => {
      const now = stats()
      return { ...now, received: now.received + now.deletions, accepted: now.accepted + now.deletions }
    },
  })),
  'counts nothing as unrouted': changed(({ stats }) => ({ stats: () => ({ ...stats(), unrouted: 0 }) })),
  'hands nothing back': changed(({ close }) => ({
    close: async (options) => ({ ...(await close(options)), abandoned: {} }),
  })),
  'leaves a timer behind': (settings, options) => {
    const collector = createCollector(settings, options)
    collector.outcomes$.subscribe({
      complete: () => options.clock?.schedule(1e9, () => undefined),
      error: () => undefined,
    })
    return collector
  },
}
