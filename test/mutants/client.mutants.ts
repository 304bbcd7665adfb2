/** Clients with one bug each that the published laws do not see, and the laws that find it. */
import * as fc from 'fast-check'
import { left } from 'fp-ts/lib/Either.js'
import { map } from 'rxjs'
import { expect, it } from 'vitest'
import type { Client } from '../../src/client/client.ts'
import { createClient, type ClientOptions } from '../../src/client/index.ts'
import { refused, retryable, type Verdict } from '../../src/index.ts'
import { capDelay, exponential } from '../../src/policy/index.ts'
import { delivered } from '../../src/core/outcome.ts'
import type { OpenClient } from '../../src/testing/laws/clientLaws.ts'
import { crashLaw, ownClientLaws } from '../laws/client.laws.ts'
import { itCatches } from '../support/mutants.ts'

const withOptions =
  (change: (options: ClientOptions) => ClientOptions): OpenClient =>
  (options) =>
    createClient('a key', { ...options, ...change(options) })

const changed =
  (change: (client: Client) => Partial<Client>): OpenClient =>
  (options) => {
    const client = createClient('a key', options)
    return { ...client, ...change(client) }
  }

const answering = (change: (verdict: Verdict) => Verdict): OpenClient =>
  withOptions(({ sink }) =>
    sink === undefined
      ? {}
      : {
          sink: {
            name: sink.name,
            close: sink.close,
            deliver: (batch, attempt) => sink.deliver(batch, attempt).pipe(map(change)),
          },
        },
  )

itCatches<OpenClient>('a client', ownClientLaws, {
  'it puts too few messages into a batch': [
    'full',
    withOptions(({ size = 20 }) => ({ size: Math.max(1, size - 1) })),
  ],
  'it makes two requests at a time': [
    'order',
    withOptions(({ concurrency = 1 }) => ({ concurrency: Math.max(2, concurrency) })),
  ],
  'it gives a request too much time': ['time', withOptions(({ timeout = 1 }) => ({ timeout: timeout + 1 }))],
  'it has no deadline': ['time', withOptions(() => ({ retry: capDelay(2_000)(exponential({ base: 100 })) }))],
  'it ignores a Retry-After': [
    'wait',
    answering((verdict) =>
      verdict._tag === 'Left' && verdict.left._tag === 'Retryable'
        ? left(retryable(verdict.left.reason))
        : verdict,
    ),
  ],
  'it divides no batch': [
    'alone',
    answering((verdict) =>
      verdict._tag === 'Left' && verdict.left._tag === 'Refused' ? left(refused('whole')) : verdict,
    ),
  ],
  'it makes one request more at a time': [
    'bounds',
    withOptions(({ concurrency = 1 }) => ({ concurrency: concurrency + 1 })),
  ],
  'it accepts too many': ['bounds', withOptions(({ maxCount = 0 }) => ({ maxCount: maxCount + 1 }))],
  'it accepts too many bytes': ['bounds', withOptions(({ maxBytes = 0 }) => ({ maxBytes: maxBytes + 400 }))],
  'it drops where it should refuse': [
    'drops',
    withOptions(({ overflow = 'error' }) => ({ overflow: overflow === 'error' ? 'dropNewest' : overflow })),
  ],
  'it refuses where it should drop': ['drops', withOptions(() => ({ overflow: 'error' }))],
  'it waits in a flush for later messages': [
    'flush',
    changed((client) => ({
      flush: async (options) => {
        let totals = await client.flush(options)
        while (totals.waiting > 0 && options?.timeout === Infinity) totals = await client.flush()
        return totals
      },
    })),
  ],
})

it.each<[string, OpenClient]>([
  ['says persisted too early', changed(() => ({ persisted: () => Promise.resolve(true) }))],
  [
    'acks before it delivers',
    withOptions(({ outbox }) => {
      if (outbox === undefined || !('lease' in outbox)) return {}
      const lease: typeof outbox.lease = async (now, limits) => {
        const leased = await outbox.lease(now, limits)
        await outbox.ack(
          leased.map((entry) => ({ entry, outcome: delivered(entry.item, 1, { sink: 'none' }) })),
        )
        return leased
      }
      return { outbox: { ...outbox, lease } }
    }),
  ],
])('the law of a crash finds a client that %s', async (_, mutant) => {
  const { failed } = await fc.check(crashLaw(mutant), { numRuns: 1_000, endOnFailure: true })
  expect(failed).toBe(true)
})
