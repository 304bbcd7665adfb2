/** Clients with one bug each. A law must find it. */
import * as fc from 'fast-check'
import { left } from 'fp-ts/lib/Either.js'
import { concatMap, filter, map, of } from 'rxjs'
import { describe, expect, it } from 'vitest'
import type { Client } from '../../src/client/client.ts'
import { createClient } from '../../src/client/createClient.ts'
import type { Message, SentBatch } from '../../src/client/message.ts'
import type { ClientOptions } from '../../src/client/options.ts'
import { refused, retryable, type Verdict } from '../../src/core/failure.ts'
import { delivered } from '../../src/core/outcome.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'
import { both, capDelay, exponential, respectRetryAfter } from '../../src/policy/retryPolicy.ts'
import type { Sink } from '../../src/sink/sink.ts'
import { clientLaws, crashLaw, type OpenClient } from '../laws/client.laws.ts'

const withOptions =
  (change: (options: ClientOptions) => ClientOptions): OpenClient =>
  (writeKey, options) =>
    createClient(writeKey, { ...options, ...change(options) })

const changed =
  (change: (client: Client, options: ClientOptions) => Partial<Client>): OpenClient =>
  (writeKey, options) => {
    const client = createClient(writeKey, options)
    return { ...client, ...change(client, options) }
  }

const withSink = (change: (sink: Sink<SentBatch>) => Sink<SentBatch>): OpenClient =>
  withOptions(({ sink }) => (sink === undefined ? {} : { sink: change(sink) }))

const answering = (change: (verdict: Verdict) => Verdict): OpenClient =>
  withSink((sink) => ({
    name: sink.name,
    deliver: (batch, attempt) => sink.deliver(batch, attempt).pipe(map(change)),
    close: sink.close,
  }))

const withOutbox = (change: (outbox: Outbox<Message>) => Partial<Outbox<Message>>): OpenClient =>
  withOptions(({ outbox }) =>
    outbox !== undefined && 'lease' in outbox ? { outbox: { ...outbox, ...change(outbox) } } : {},
  )

const mutants: Readonly<Record<string, OpenClient>> = {
  'reports no drops': changed(({ outcomes$ }) => ({
    outcomes$: outcomes$.pipe(filter(({ _tag }) => _tag !== 'Dropped')),
  })),
  'reports each outcome twice': changed(({ outcomes$ }) => ({
    outcomes$: outcomes$.pipe(concatMap((outcome) => of(outcome, outcome))),
  })),
  'reports what expired as delivered': changed(({ outcomes$ }) => ({
    outcomes$: outcomes$.pipe(
      map((outcome) =>
        outcome._tag === 'Expired' ? delivered(outcome.item, outcome.attempts, { sink: 's' }) : outcome,
      ),
    ),
  })),
  'makes more requests at a time': withOptions(({ concurrency = 1 }) => ({ concurrency: concurrency + 1 })),
  'puts too few messages into a batch': withOptions(({ size = 20 }) => ({ size: Math.max(1, size - 1) })),
  'accepts too many': withOptions(({ maxCount = 0 }) => ({ maxCount: maxCount + 1 })),
  'accepts too many bytes': withOptions(({ maxBytes = 0 }) => ({ maxBytes: maxBytes + 400 })),
  'gives a request too much time': withOptions(({ timeout = 1 }) => ({ timeout: timeout + 1 })),
  'has no deadline': withOptions(() => ({
    retry: both(capDelay(2_000)(exponential({ base: 100 })), respectRetryAfter),
  })),
  'ignores a Retry-After': answering((verdict) =>
    verdict._tag === 'Left' && verdict.left._tag === 'Retryable'
      ? left(retryable(verdict.left.reason))
      : verdict,
  ),
  'divides no batch': answering((verdict) =>
    verdict._tag === 'Left' && verdict.left._tag === 'Refused' ? left(refused('whole')) : verdict,
  ),
  'does not wait for a retry': withOutbox(({ nextDue }) => ({
    nextDue: (retriesOnly) => (retriesOnly === true ? undefined : nextDue()),
  })),
  'drops where it should refuse': withOptions(({ overflow = 'error' }) => ({
    overflow: overflow === 'error' ? 'dropNewest' : overflow,
  })),
  'refuses where it should drop': withOptions(() => ({ overflow: 'error' })),
  'waits in a flush for later messages': changed((client) => ({
    flush: async (options) => {
      let totals = await client.flush(options)
      while (totals.waiting > 0 && options?.timeout === undefined) totals = await client.flush()
      return totals
    },
  })),
  'takes longer to close': changed(({ close }) => ({
    close: ({ timeout = 0 } = {}) => close({ timeout: timeout + 1_000 }),
  })),
}

const crashMutants: Readonly<Record<string, OpenClient>> = {
  'says persisted too early': changed(() => ({ persisted: () => Promise.resolve(true) })),
  'acks before it delivers': withOutbox((outbox) => ({
    lease: async (now, limits) => {
      const leased = await outbox.lease(now, limits)
      await outbox.ack(
        leased.map((entry) => ({ entry, outcome: delivered(entry.item, 1, { sink: 'none' }) })),
      )
      return leased
    },
  })),
}

describe('a law finds a client that', () => {
  it.each(Object.entries(mutants))('%s', async (_, mutant) => {
    await expect(fc.assert(clientLaws(mutant), { numRuns: 3_000, endOnFailure: true })).rejects.toThrow(
      /Property failed/,
    )
  })

  it.each(Object.entries(crashMutants))('%s', async (_, mutant) => {
    await expect(fc.assert(crashLaw(mutant), { numRuns: 3_000, endOnFailure: true })).rejects.toThrow(
      /Property failed/,
    )
  })
})
