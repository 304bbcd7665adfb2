import type { DestinationOptions } from '../../src/destination/destination.ts'
import { openOver } from '../destination/virtual.ts'
import { destinationLaws, type OpenDestination } from '../laws/destination.laws.ts'
import { liveLaws, type OpenLive } from '../laws/liveSettings.laws.ts'
import { altering, itCatches } from '../support/mutants.ts'

const withOptions =
  (change: (options: DestinationOptions) => DestinationOptions): OpenDestination =>
  (urls, options) =>
    openOver(urls, { ...options, ...change(options) })

const changed = altering<Parameters<OpenDestination>, ReturnType<OpenDestination>>(openOver)

itCatches<OpenDestination>('a destination', destinationLaws.each, {
  'D2: what it refuses counts as accepted': changed(({ stats }) => ({
    stats: () => ({ ...stats(), accepted: stats().accepted + stats().refused }),
  })),
  'D3: it answers no abandoned events': changed(({ close }) => ({
    close: async (options) => ({ ...(await close(options)), abandoned: [] }),
  })),
  'D4: it allows one request more': withOptions(({ concurrency = 1 }) => ({ concurrency: concurrency + 1 })),
  'D4: it allows one millisecond more': withOptions(({ timeout = 1 }) => ({ timeout: timeout + 1 })),
  'D8: it closes late': changed(({ close }) => ({
    close: ({ timeout = 0 } = {}) => close({ timeout: timeout + 1_000 }),
  })),
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
  'L1: it asks the URLs with which it began': changing(() => undefined),
  'L2: it asks no new URL for what waits': changing((hooks, change, before) => {
    if (hooks.some((each) => before.includes(each))) change(hooks)
  }),
  'L3: it leaves sinks open': changing((hooks, change) => change(hooks.map((each) => keptOpen(each)))),
})
