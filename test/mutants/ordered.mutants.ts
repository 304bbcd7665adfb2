/** Orders with one bug each. A law must find it. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ordered } from '../../src/outbox/ordered.ts'
import { LAWS, orderedLaws, type MakeOrdered } from '../laws/ordered.laws.ts'

const mutants: Readonly<Record<string, readonly [law: keyof typeof LAWS, make: MakeOrdered]>> = {
  'keeps no order': ['order', (outbox) => outbox],
  'keeps one order for all keys': [
    'free',
    (outbox, _, failed, maxBehind) => ordered(outbox, () => 'one', failed, maxBehind),
  ],
  'keeps an order where there is none': [
    'free',
    (outbox, keyOf, failed, maxBehind) => ordered(outbox, (n) => String(keyOf(n)), failed, maxBehind),
  ],
  'never goes on after the first of a key': [
    'all',
    (outbox, ...rest) => ({ ...ordered(outbox, ...rest), ack: outbox.ack }),
  ],
  'goes on while the first of a key waits for its retry': [
    'order',
    (outbox, ...rest) => {
      const inner = ordered(outbox, ...rest)
      return {
        ...inner,
        nack: (list) => {
          // To the order it looks as if the entries had ended.
          void inner.ack(
            list.map(({ entry }) => ({
              entry,
              outcome: { _tag: 'Dropped', item: entry.item, attempts: 1, reason: 'dropOldest' },
            })),
          )
          return inner.nack(list)
        },
      }
    },
  ],
  'holds all that there is': ['bound', (outbox, keyOf, failed) => ordered(outbox, keyOf, failed, 1_000)],
  'hands back in no order': [
    'remaining',
    (outbox, ...rest) => {
      const inner = ordered(outbox, ...rest)
      return { ...inner, takeRemaining: async () => [...(await inner.takeRemaining())].reverse() }
    },
  ],
}

describe('the laws of an order', () =>
  it.each(Object.entries(mutants))('find one that %s', async (_, [law, make]) => {
    const { failed, errorInstance } = await fc.check(orderedLaws(make), {
      numRuns: 1_000,
      endOnFailure: true,
    })
    expect(failed).toBe(true)
    expect(String(errorInstance)).toContain(`${law}: ${LAWS[law]}`)
  }))
