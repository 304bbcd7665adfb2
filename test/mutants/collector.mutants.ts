import { map } from 'rxjs'
import { collectorLaws, type CreateCollector } from '../laws/collector.laws.ts'
import { altering, itCatches } from '../support/mutants.ts'
import { type DestinationOutcome, createCollector } from '../../src/collector/index.ts'

const changed = altering(createCollector)

type Fields = Record<string, unknown>

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
  'C1: it tells only the first source of a deletion': changed(({ requestDeletion }) => ({
    requestDeletion: (user, { sources = [] } = {}) => requestDeletion(user, { sources: sources.slice(0, 1) }),
  })),
  'C2: it counts nothing as unrouted': changed(({ stats }) => ({
    stats: () => ({ ...stats(), unrouted: 0 }),
  })),
  'C3: it knows no integrations of the batch': posting(({ integrations: _, ...body }) => body),
  'C3: it refuses what finds no room': (settings, options) =>
    createCollector(settings, { ...options, whenFull: 'refuse' }),
  'C4: it sends another text to one destination': changed(({ outcomes$ }) => ({
    outcomes$: outcomes$.pipe(map(ofItsOwn)),
  })),
  'C5: it hands nothing back': changed(({ close }) => ({
    close: async (options) => ({ ...(await close(options)), abandoned: {} }),
  })),
})
