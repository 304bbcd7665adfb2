/** Destinations with one fault each, and the laws that find it. */
import type { DestinationOptions } from '../../src/destination/destination.ts'
import { openOver } from '../destination/virtual.ts'
import { destinationLaws, type OpenDestination } from '../laws/destination.laws.ts'
import { liveLaws, type OpenLive } from '../laws/liveSettings.laws.ts'
import { itCatches } from '../support/mutants.ts'

type Opened = ReturnType<OpenDestination>

const withOptions =
  (change: (options: DestinationOptions) => DestinationOptions): OpenDestination =>
  (urls, options) =>
    openOver(urls, { ...options, ...change(options) })

const changed =
  (change: (destination: Opened) => Partial<Opened>): OpenDestination =>
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

type Hooks = Parameters<OpenLive>[0]

const openForEver = new WeakMap<Hooks[number], Hooks[number]>()

const keptOpen = (hook: Hooks[number]): Hooks[number] => {
  const known = openForEver.get(hook) ?? { ...hook, close: () => Promise.resolve() }
  openForEver.set(hook, known)
  return known
}

/** A destination that does something else at an update. */
const changing =
  (how: (given: Hooks, change: (hooks: Hooks) => void, before: Hooks) => void): OpenLive =>
  (urls, options) => {
    const destination = openOver(urls, options)
    let before: Hooks = urls
    return {
      ...destination,
      change: (hooks) => {
        how(hooks, (each) => destination.change(each, undefined), before)
        before = hooks
      },
    }
  }

itCatches<OpenLive>('a destination whose settings change', liveLaws.each, {
  'it asks the URLs with which it began': ['L1', changing(() => undefined)],
  'it asks no new URL for what waits': [
    'L2',
    changing((hooks, change, before) => {
      if (hooks.some((each) => before.includes(each))) change(hooks)
    }),
  ],
  'it leaves sinks open': ['L3', changing((hooks, change) => change(hooks.map((each) => keptOpen(each))))],
})
