/** Destinations with one fault each, and the laws that find it. */
import type { Destination, DestinationOptions } from '../../src/destination/destination.ts'
import { openOver } from '../destination/virtual.ts'
import { destinationLaws, type OpenDestination } from '../laws/destination.laws.ts'
import { itCatches } from '../support/mutants.ts'

const withOptions =
  (change: (options: DestinationOptions) => DestinationOptions): OpenDestination =>
  (urls, options) =>
    openOver(urls, { ...options, ...change(options) })

const changed =
  (change: (destination: Destination) => Partial<Destination>): OpenDestination =>
  (urls, options) => {
    const destination = openOver(urls, options)
    return { ...destination, ...change(destination) }
  }

itCatches<OpenDestination>('a destination', destinationLaws.each, {
  'what it refuses counts as accepted': [
    'D2',
    changed(({ stats }) => ({
      stats: () => ({ ...stats(), accepted: stats().accepted + stats().refused }),
    })),
  ],
  'it answers no abandoned events': [
    'D3',
    changed(({ close }) => ({ close: async (options) => ({ ...(await close(options)), abandoned: [] }) })),
  ],
  'it allows one request more': [
    'D4',
    withOptions(({ concurrency = 1 }) => ({ concurrency: concurrency + 1 })),
  ],
  'it allows one millisecond more': ['D4', withOptions(({ timeout = 1 }) => ({ timeout: timeout + 1 }))],
  'it closes late': [
    'D8',
    changed(({ close }) => ({
      close: ({ timeout = 0 } = {}) => close({ timeout: timeout + 1_000 }),
    })),
  ],
})
