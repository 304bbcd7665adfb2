/** Destinations that are wrong on purpose. Each must break a law. */
import { concatMap, filter, of } from 'rxjs'
import type { Destination, DestinationOptions } from '../../src/destination/destination.ts'
import { openDestination } from '../../src/destination/createDestination.ts'
import { always } from '../../src/policy/retryPolicy.ts'
import type { OpenDestination } from '../destination/world.ts'

const withOptions =
  (change: (options: DestinationOptions) => DestinationOptions): OpenDestination =>
  (parts, options) =>
    openDestination(parts, { ...options, ...change(options) })

const changed =
  (change: (destination: Destination) => Partial<Destination>): OpenDestination =>
  (parts, options) => {
    const destination = openDestination(parts, options)
    return { ...destination, ...change(destination) }
  }

export const destinationMutants: Readonly<Record<string, OpenDestination>> = {
  'tells nobody of what was rejected': changed(({ outcomes$ }) => ({
    outcomes$: outcomes$.pipe(filter(({ _tag }) => _tag !== 'Rejected')),
  })),
  'tells of each outcome twice': changed(({ outcomes$ }) => ({
    outcomes$: outcomes$.pipe(concatMap((outcome) => of(outcome, outcome))),
  })),
  'keeps no order': (parts, { orderBy: _, ...options }) => openDestination(parts, options),
  'has wider lanes': withOptions(({ concurrency = 1 }) => ({ concurrency: concurrency + 1 })),
  'is too patient': withOptions(({ timeout = 1 }) => ({ timeout: timeout + 1 })),
  'knows no deadline': withOptions(() => ({ retry: always })),
  'takes its time to close': changed(({ close }) => ({
    close: ({ timeout = 0 } = {}) => close({ timeout: timeout + 1_000 }),
  })),
  'hands nothing back': changed(({ close }) => ({
    close: async (options) => ({ ...(await close(options)), abandoned: [] }),
  })),
  'counts what it refuses as accepted': changed(({ stats }) => ({
    stats: () => ({ ...stats(), accepted: stats().accepted + stats().refused }),
  })),
  'leaves a timer behind': (parts, options) => {
    const destination = openDestination(parts, options)
    destination.outcomes$.subscribe({ complete: () => options.clock?.schedule(1e9, () => undefined) })
    return destination
  },
}
