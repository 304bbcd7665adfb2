/** Collectors with one fault each, and the law that finds it. */
import { map, mergeMap, of } from 'rxjs'
import type { Collector, CollectorOptions, DestinationOutcome } from '../../src/collector/collector.ts'
import { createCollector } from '../../src/collector/createCollector.ts'
import { collectorLaws, type CreateCollector } from '../laws/collector.laws.ts'
import { itCatches } from '../support/mutants.ts'

const changed =
  (change: (collector: Collector, options: CollectorOptions) => Partial<Collector>): CreateCollector =>
  (settings, options) => {
    const collector = createCollector(settings, options)
    return { ...collector, ...change(collector, options) }
  }

type Fields = Record<string, unknown>

/** Changes what is posted, and what is answered: objects, in all worlds. */
const posting = (change: (body: Fields) => object, changeAnswer: (body: Fields) => object): CreateCollector =>
  changed(({ handle }) => ({
    handle: async (request) => {
      const { url, method, headers } = request
      const body = JSON.stringify(change((await request.json()) as Fields))
      const response = await handle(new Request(url, { method, headers, body }))
      const said = changeAnswer((await response.json()) as Fields)
      return new Response(JSON.stringify(said), { status: response.status })
    },
  }))

const asIs = (body: Fields): object => body

/** Another text at one destination. The outcome keeps its kind. */
const ofItsOwn = (each: DestinationOutcome): DestinationOutcome => {
  const { destination, outcome } = each
  return destination === 'B'
    ? { destination, outcome: { ...outcome, item: { ...outcome.item, text: '{}' } } as typeof outcome }
    : each
}

itCatches<CreateCollector>('a collector', collectorLaws, {
  'it says ok to everything': [
    'C1',
    posting(asIs, ({ errors: _, ...body }) => ({ ...body, okEvents: body['receivedEvents'] })),
  ],
  'it takes from sources that are off': [
    'C1',
    ({ sources, destinations }, options) => {
      const enabled = sources.map((each) => ({ ...each, enabled: true }))
      return createCollector({ sources: enabled, destinations }, options)
    },
  ],
  'it tells only the first source of a deletion': [
    'C1',
    changed(({ requestDeletion }) => ({
      requestDeletion: (userId, { sources = [] } = {}) =>
        requestDeletion(userId, { sources: sources.slice(0, 1) }),
    })),
  ],
  'it counts nothing as unrouted': [
    'C2',
    changed(({ stats }) => ({ stats: () => ({ ...stats(), unrouted: 0 }) })),
  ],
  'it knows no integrations of the batch': ['C3', posting(({ integrations: _, ...body }) => body, asIs)],
  'it tells of each outcome twice': [
    'C3',
    changed(({ outcomes$ }) => ({ outcomes$: outcomes$.pipe(mergeMap((each) => of(each, each))) })),
  ],
  'it refuses what finds no room': [
    'C3',
    (settings, options) => createCollector(settings, { ...options, whenFull: 'refuse' }),
  ],
  'it sends another text to one destination': [
    'C4',
    changed(({ outcomes$ }) => ({ outcomes$: outcomes$.pipe(map(ofItsOwn)) })),
  ],
  'it hands nothing back': [
    'C5',
    changed(({ close }) => ({
      close: async (options) => ({ ...(await close(options)), abandoned: {} }),
    })),
  ],
  'it leaves a timer behind': [
    'C5',
    changed(({ close }, { clock }) => ({
      close: (options) => {
        clock?.schedule(1e9, () => undefined)
        return close(options)
      },
    })),
  ],
})
