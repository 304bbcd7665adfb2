/** Collectors with one fault each, and the laws that find it. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatMap, of } from 'rxjs'
import { createCollector } from '../../src/collector/createCollector.ts'
import type { Collector, CollectorOptions } from '../../src/collector/collector.ts'
import type { CollectorSettings, DestinationSettings } from '../../src/collector/settings.ts'
import { collectorLaws, type CreateCollector } from '../laws/collector.laws.ts'

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

const mutants: Readonly<Record<string, CreateCollector>> = {
  'knows no integrations of the batch': posting(({ integrations: _, ...body }) => body),
  'lets the batch overrule its messages': posting((body) => ({
    ...body,
    batch: body.batch.map((each) =>
      each === null ? null : { ...each, integrations: { ...switches(each), ...switches(body) } },
    ),
  })),
  'cannot be switched off': changed(() => ({ disable: () => true })),
  'connects every destination to every source': withDestinations(() => ({ sources: ['web', 'app'] })),
  'takes from sources that are off': withSettings(({ sources }) => ({
    sources: sources.map((each) => ({ ...each, enabled: true })),
  })),
  'refuses in place of burying': withOptions(() => ({ whenFull: 'refuse' })),
  'tells of each outcome twice': changed(({ outcomes$ }) => ({
    outcomes$: outcomes$.pipe(concatMap((each) => of(each, each))),
  })),
  'says ok to everything': answering((body) => ({
    ...body,
    ok: true,
    okEvents: body['receivedEvents'],
    errors: [],
  })),
  'tells only the first source of a deletion': changed(({ requestDeletion }) => ({
    requestDeletion: (userId, { sources = ['web', 'app'] } = {}) =>
      requestDeletion(userId, { sources: sources.slice(0, 1) }),
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

describe('the laws of a collector find', () =>
  it.each(Object.entries(mutants))('one that %s', async (_, mutant) => {
    const { failed } = await fc.check(collectorLaws(mutant), { numRuns: 1_000, endOnFailure: true })
    expect(failed).toBe(true)
  }))
