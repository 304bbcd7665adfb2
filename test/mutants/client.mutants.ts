/** Clients with one bug each that the published laws do not see, and the laws that find it. */
import * as fc from 'fast-check'
import { left } from 'fp-ts/lib/Either.js'
import { map } from 'rxjs'
import { expect, it } from 'vitest'
import type { ClientOptions } from '../../src/client/index.ts'
import { refused, retryable, type Verdict } from '../../src/index.ts'
import { capDelay, exponential } from '../../src/policy/index.ts'
import { delivered } from '../../src/core/outcome.ts'
import { withDelivery } from '../../src/testing/laws/brokenParts.ts'
import type { OpenClient } from '../../src/testing/laws/clientLaws.ts'
import { crashLaw, open, ownClientLaws } from '../laws/client.laws.ts'
import { altering, itCatches } from '../support/mutants.ts'

const withOptions =
  (change: (options: ClientOptions) => ClientOptions): OpenClient =>
  (options) =>
    open({ ...options, ...change(options) })

const changed = altering(open)

const answering = (change: (verdict: Verdict) => Verdict): OpenClient =>
  withOptions(({ sink }) => (sink === undefined ? {} : { sink: withDelivery(sink, map(change)) }))

itCatches<OpenClient>('a client', ownClientLaws, {
  'full: it puts too few messages into a batch': withOptions(({ size = 20 }) => ({
    size: Math.max(1, size - 1),
  })),
  'order: it makes two requests at a time': withOptions(({ concurrency = 1 }) => ({
    concurrency: Math.max(2, concurrency),
  })),
  'time: it gives a request too much time': withOptions(({ timeout = 1 }) => ({ timeout: timeout + 1 })),
  'time: it has no deadline': withOptions(() => ({ retry: capDelay(2_000)(exponential({ base: 100 })) })),
  'wait: it ignores a Retry-After': answering((given) =>
    given._tag === 'Left' && given.left._tag === 'Retryable' ? left(retryable(given.left.reason)) : given,
  ),
  'alone: it divides no batch': answering((verdict) =>
    verdict._tag === 'Left' && verdict.left._tag === 'Refused' ? left(refused('whole')) : verdict,
  ),
  'bounds: it makes one request more at a time': withOptions(({ concurrency = 1 }) => ({
    concurrency: concurrency + 1,
  })),
  'bounds: it accepts too many': withOptions(({ maxCount = 0 }) => ({ maxCount: maxCount + 1 })),
  'bounds: it accepts too many bytes': withOptions(({ maxBytes = 0 }) => ({ maxBytes: maxBytes + 400 })),
  'drops: it drops where it should refuse': withOptions(({ overflow = 'error' }) => ({
    overflow: overflow === 'error' ? 'dropNewest' : overflow,
  })),
  'drops: it refuses where it should drop': withOptions(() => ({ overflow: 'error' })),
  'flush: it waits in a flush for later messages': changed((client) => ({
    flush: async (options) => {
      let totals = await client.flush(options)
      while (totals.waiting > 0 && options?.timeout === Infinity) totals = await client.flush()
      return totals
    },
  })),
})

it.each<[string, OpenClient]>([
  ['says persisted too early', changed(() => ({ persisted: () => Promise.resolve(true) }))],
  [
    'acks before it delivers',
    withOptions(({ outbox }) => {
      if (outbox === undefined || !('lease' in outbox)) return {}
      const lease: typeof outbox.lease = async (now, limits) => {
        const leased = await outbox.lease(now, limits)
        await outbox.ack(leased.map((entry) => ({ entry, outcome: delivered(entry.item, 1, { sink: '' }) })))
        return leased
      }
      return { outbox: { ...outbox, lease } }
    }),
  ],
])('the law of a crash finds a client that %s', async (_, mutant) => {
  const { failed } = await fc.check(crashLaw(mutant), { numRuns: 1_000, endOnFailure: true })
  expect(failed).toBe(true)
})
