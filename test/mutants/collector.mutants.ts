/** Collectors with one fault each, and the law that finds it. */
import { map } from 'rxjs'
import type { Collector, DestinationOutcome } from '../../src/collector/collector.ts'
import { createCollector } from '../../src/collector/createCollector.ts'
import { collectorLaws, type CreateCollector } from '../laws/collector.laws.ts'
import { itCatches } from '../support/mutants.ts'

const changed =
  (change: (collector: Collector) => Partial<Collector>): CreateCollector =>
  (settings, options) => {
    const collector = createCollector(settings, options)
    return { ...collector, ...change(collector) }
  }

type Fields = Record<string, unknown>

/** Changes what is posted: an object, in all worlds. */
const posting = (change: (body: Fields) => object): CreateCollector =>
  changed(({ handle }) => ({
    handle: async (request) => {
      const { url, method, headers } = request
      const body = JSON.stringify(change((await request.json()) as Fields))
      return handle(new Request(url, { method, headers, body }))
    },
  }))

/** Another text at one destination. The outcome keeps its kind. */
const ofItsOwn = (each: DestinationOutcome): DestinationOutcome => {
  const { destination, outcome } = each
  return destination === 'B'
    ? { destination, outcome: { ...outcome, item: { ...outcome.item, text: '{}' } } as typeof outcome }
    : each
}

itCatches<CreateCollector>('a collector', collectorLaws, {
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
  'it knows no integrations of the batch': ['C3', posting(({ integrations: _, ...body }) => body)],
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
})
