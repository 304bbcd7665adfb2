/** Destinations with one fault each, and the laws that find it. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { concatMap, filter, of } from 'rxjs'
import type { Destination, DestinationOptions } from '../../src/destination/destination.ts'
import { always } from '../../src/policy/retryPolicy.ts'
import { openOver } from '../destination/virtual.ts'
import { destinationLaws } from '../laws/destination.laws.ts'
import type { OpenDestination } from '../laws/destination.laws.ts'

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

const mutants: Readonly<Record<string, OpenDestination>> = {
  'emits no rejected outcome': changed(({ outcomes$ }) => ({
    outcomes$: outcomes$.pipe(filter(({ _tag }) => _tag !== 'Rejected')),
  })),
  'emits each outcome twice': changed(({ outcomes$ }) => ({
    outcomes$: outcomes$.pipe(concatMap((outcome) => of(outcome, outcome))),
  })),
  'keeps no order': (urls, { orderBy: _, ...options }) => openOver(urls, options),
  'allows one request more': withOptions(({ concurrency = 1 }) => ({ concurrency: concurrency + 1 })),
  'allows one millisecond more': withOptions(({ timeout = 1 }) => ({ timeout: timeout + 1 })),
  'has no deadline': withOptions(() => ({ retry: always })),
  'closes late': changed(({ close }) => ({
    close: ({ timeout = 0 } = {}) => close({ timeout: timeout + 1_000 }),
  })),
  'answers no abandoned events': changed(({ close }) => ({
    close: async (options) => ({ ...(await close(options)), abandoned: [] }),
  })),
  'counts what it refuses as accepted': changed(({ stats }) => ({
    stats: () => ({ ...stats(), accepted: stats().accepted + stats().refused }),
  })),
  'leaves a timer behind': (urls, options) => {
    const destination = openOver(urls, options)
    destination.outcomes$.subscribe({ complete: () => options.clock?.schedule(1e9, () => undefined) })
    return destination
  },
}

describe('the laws of a destination find', () =>
  it.each(Object.entries(mutants))('one that %s', async (_, mutant) => {
    const { failed } = await fc.check(destinationLaws(mutant), { numRuns: 1_000, endOnFailure: true })
    expect(failed).toBe(true)
  }))
