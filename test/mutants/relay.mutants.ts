/** Relays with one bug each. A law must find it. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { retryable } from '../../src/core/failure.ts'
import { type RelayOptions, relay } from '../../src/outbox/relay.ts'
import { exponential, standard } from '../../src/policy/retryPolicy.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { relayLaws, type MakeRelay } from '../laws/relay.laws.ts'

const over =
  (change: (outbox: Outbox<number>) => Partial<Outbox<number>>): MakeRelay =>
  (options) =>
    relay({ ...options, outbox: { ...options.outbox, ...change(options.outbox) } })

const withOptions =
  (change: (options: RelayOptions<number>) => Partial<RelayOptions<number>>): MakeRelay =>
  (options) =>
    relay({ ...options, ...change(options) })

const mutants: Readonly<Record<string, MakeRelay>> = {
  'forgets who refused': over(({ nack }) => ({
    nack: (list) =>
      nack(
        list.map(({ entry, due }) => ({
          entry: {
            ...entry,
            progress: { attempts: entry.progress?.attempts ?? 1, lastFailure: retryable('status') },
          },
          due,
        })),
      ),
  })),
  'a restart extends the deadline': over(({ nack }) => ({
    nack: (list) =>
      nack(list.map(({ entry, due }) => ({ entry: { ...entry, firstAttemptAt: undefined }, due }))),
  })),
  'ends twice': over(({ ack }) => ({
    ack: async (list) => {
      await ack(list)
      await ack(list)
    },
  })),
  'loses what it parks': over(({ nack, ack }) => ({
    nack: (list) =>
      list.some(({ entry }) => entry.progress?.attempts === 2)
        ? ack(
            list.map(({ entry }) => ({
              entry,
              outcome: { _tag: 'Dropped', item: -1, attempts: 2, reason: 'dropOldest' },
            })),
          )
        : nack(list),
  })),
  'bounds no rounds': withOptions(() => ({ maxInFlight: 100 })),
  'goes on after the deadline': withOptions(() => ({ retry: standard })),
  'tries a final no again': withOptions(({ sink }) => ({
    retry: exponential({ base: 100 }),
    sink: {
      ...sink,
      deliver: (item, attempt) => sink.deliver(item, { ...attempt, lastFailure: undefined, until: Infinity }),
    },
  })),
}

describe('the laws of a relay', () =>
  it.each(Object.entries(mutants))('find one that %s', async (_, mutant) => {
    const { failed } = await fc.check(relayLaws(mutant), { numRuns: 1_000, endOnFailure: true })
    expect(failed).toBe(true)
  }))
