/** Outboxes with one bug each. The law that it breaks must find it. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Entry, Outbox } from '../../src/outbox/outbox.ts'
import { LAWS, memoryGround, outboxLaws, type Item, type Law } from '../laws/outbox.laws.ts'

type Change = (outbox: Outbox<Item>) => Partial<Outbox<Item>>

const withFirst = <T>(list: ReadonlyArray<T>, change: (first: T) => T): ReadonlyArray<T> =>
  list.map((each, at) => (at === 0 ? change(each) : each))

const mutants: Readonly<Record<string, readonly [law: Law, change: Change]>> = {
  'loses what it should put back': [
    'stats',
    ({ ack }) => ({
      nack: (list) =>
        ack(
          list.map(({ entry }) => ({
            entry,
            outcome: { _tag: 'Dropped', item: entry.item, attempts: 1, reason: 'dropOldest' },
          })),
        ),
    }),
  ],
  'leases twice': [
    'once',
    ({ lease, nack, ack }) => {
      let last: ReadonlyArray<Entry<Item>> = []
      return {
        nack: (list) => {
          last = []
          return nack(list)
        },
        ack: (list) => {
          last = []
          return ack(list)
        },
        lease: async (now, limits) => {
          const entries = await lease(now, limits)
          const again = entries.length < limits.count ? last.slice(0, 1) : []
          last = entries
          return [...again, ...entries]
        },
      }
    },
  ],
  'leases before the due time': [
    'due',
    ({ lease }) => ({ lease: (now, limits) => lease(now + 1_000, limits) }),
  ],
  'leases more retries than allowed': [
    'order',
    ({ lease }) => ({ lease: (now, limits) => lease(now, { ...limits, retries: limits.count }) }),
  ],
  'leases new entries in the wrong order': [
    'order',
    ({ lease }) => ({ lease: async (now, limits) => [...(await lease(now, limits))].reverse() }),
  ],
  'ignores retriesOnly': [
    'retriesOnly',
    ({ lease }) => ({ lease: (now, limits) => lease(now, { ...limits, retriesOnly: false }) }),
  ],
  'counts new entries as retries in nextDue': [
    'retriesOnly',
    ({ nextDue }) => ({ nextDue: () => nextDue() }),
  ],
  'forgets the progress': [
    'remembers',
    ({ nack }) => ({
      nack: (list) =>
        nack(withFirst(list, (each) => ({ ...each, entry: { ...each.entry, progress: undefined } }))),
    }),
  ],
  'says a wrong due time': [
    'wakes',
    ({ nextDue }) => ({ nextDue: (retriesOnly) => (retriesOnly === true ? nextDue(true) : undefined) }),
  ],
  'forgets that it is full': ['bounds', ({ stats }) => ({ stats: () => ({ ...stats(), maxCount: 2 }) })],
  'answers for one item only': [
    'bounds',
    ({ enqueue }) => ({ enqueue: (items) => enqueue(items.slice(0, 1)) }),
  ],
  'counts wrongly': [
    'stats',
    ({ stats }) => ({ stats: () => ({ ...stats(), waiting: Math.min(2, stats().waiting) }) }),
  ],
  'lists dead letters backwards': [
    'dead',
    ({ dead }) => ({ dead: { ...dead, list: async (page) => [...(await dead.list(page))].reverse() } }),
  ],
  'redrives nothing': ['redrives', ({ dead }) => ({ dead: { ...dead, redrive: () => 0 } })],
  'purges all': ['purges', ({ dead }) => ({ dead: { ...dead, purge: () => dead.purge(() => true) } })],
  'keeps what it should hand back': ['remaining', () => ({ takeRemaining: () => [] })],
}

describe('the laws of an outbox', () =>
  it.each(Object.entries(mutants))('find one that %s', async (_, [law, change]) => {
    const laws = outboxLaws(() => ({
      open: (bounds, clock) => {
        const outbox = memoryGround.open(bounds, clock)
        return { ...outbox, ...change(outbox) }
      },
    }))
    const { failed, errorInstance } = await fc.check(laws, { numRuns: 1_000, endOnFailure: true })
    expect(failed).toBe(true)
    expect(String(errorInstance)).toContain(`${law}: ${LAWS[law]}`)
  }))
