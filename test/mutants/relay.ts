/** Relays that are wrong on purpose. Each must break a law. */
import { retryable } from '../../src/core/failure.ts'
import type { RelayOptions } from '../../src/outbox/relay.ts'
import { relay } from '../../src/outbox/relay.ts'
import { both, deadline, exponential, standard } from '../../src/policy/retryPolicy.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import type { MakeRelay } from '../laws/relay.ts'

const over =
  (change: (outbox: Outbox<number>) => Partial<Outbox<number>>): MakeRelay =>
  (options) =>
    relay({ ...options, outbox: { ...options.outbox, ...change(options.outbox) } })

const withOptions =
  (change: (options: RelayOptions<number>) => Partial<RelayOptions<number>>): MakeRelay =>
  (options) =>
    relay({ ...options, ...change(options) })

export const relayMutants: Readonly<Record<string, MakeRelay>> = {
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
  'gives up early': withOptions(({ retry }) => ({ retry: both(retry, deadline(500)) })),
  'goes on after the deadline': withOptions(() => ({ retry: standard })),
  'tries a final no again': withOptions(({ sink }) => ({
    retry: exponential({ base: 100 }),
    sink: {
      ...sink,
      deliver: (item, attempt) => sink.deliver(item, { ...attempt, lastFailure: undefined, until: Infinity }),
    },
  })),
}
