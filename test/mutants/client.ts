/** Clients that are wrong on purpose. Each must break a law. */
import { left } from 'fp-ts/lib/Either.js'
import { concatMap, filter, map, of } from 'rxjs'
import type { Client } from '../../src/client/Client.ts'
import type { ClientOptions } from '../../src/client/ClientOptions.ts'
import { createClient } from '../../src/client/createClient.ts'
import type { SentBatch } from '../../src/client/Message.ts'
import { contramap } from '../../src/sink/contramap.ts'
import { delivered } from '../../src/core/outcome.ts'
import { refused, retryable } from '../../src/core/failure.ts'
import type { Verdict } from '../../src/core/failure.ts'
import { always, both, capDelay, exponential, notBefore } from '../../src/policy/retryPolicy.ts'
import type { Sink } from '../../src/sink/sink.ts'
import type { OpenClient } from '../client/world.ts'

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

const sending = (change: (batch: SentBatch) => SentBatch): OpenClient => withSink(contramap(change))

export const clientMutants: Readonly<Record<string, OpenClient>> = {
  'tells nobody of what it dropped': changed(({ outcomes$ }) => ({
    outcomes$: outcomes$.pipe(filter(({ _tag }) => _tag !== 'Dropped')),
  })),
  'tells of each outcome twice': changed(({ outcomes$ }) => ({
    outcomes$: outcomes$.pipe(concatMap((outcome) => of(outcome, outcome))),
  })),
  'says that what expired was delivered': changed(({ outcomes$ }) => ({
    outcomes$: outcomes$.pipe(
      map((outcome) =>
        outcome._tag === 'Expired' ? delivered(outcome.item, outcome.attempts, { sink: 'a lie' }) : outcome,
      ),
    ),
  })),
  'makes more requests at a time': withOptions(({ concurrency = 1 }) => ({ concurrency: concurrency + 1 })),
  'forgets the keys': (writeKey, { key: _, ...options }) => createClient(writeKey, options),
  'puts too many into a batch': withOptions(({ size = 20 }) => ({ size: size + 1 })),
  'puts too few into a batch': withOptions(({ size = 20 }) => ({ size: Math.max(1, size - 1) })),
  'makes batches too large': withOptions(({ maxBatch = 0 }) => ({ maxBatch: maxBatch + 300 })),
  'makes batches too small': withOptions(({ maxBatch = 0 }) => ({ maxBatch: Math.max(760, maxBatch / 2) })),
  'keeps too many': withOptions(({ maxCount = 0 }) => ({ maxCount: maxCount + 1 })),
  'keeps too much': withOptions(({ maxBytes = 0 }) => ({ maxBytes: maxBytes + 400 })),
  'lets messages wait too long': withOptions(({ flushAfter = 0 }) => ({ flushAfter: flushAfter + 30 })),
  'is too patient with a request': withOptions(({ timeout = 1 }) => ({ timeout: timeout + 1 })),
  'knows no deadline': withOptions(() => ({
    retry: both(capDelay(2_000)(exponential({ base: 100 })), notBefore),
  })),
  'does not hear a Retry-After': answering((verdict) =>
    verdict._tag === 'Left' && verdict.left._tag === 'Retryable'
      ? left(retryable(verdict.left.reason))
      : verdict,
  ),
  'divides no batch': answering((verdict) =>
    verdict._tag === 'Left' && verdict.left._tag === 'Refused' ? left(refused('whole')) : verdict,
  ),
  'turns its batches round': sending((batch) => ({ ...batch, members: batch.members.toReversed() })),
  'leaves one out': sending((batch) => ({ ...batch, members: batch.members.slice(0, 3) })),
  'drops where it should refuse': withOptions(({ overflow = 'error' }) => ({
    overflow: overflow === 'error' ? 'dropNewest' : overflow,
  })),
  'refuses where it should drop': withOptions(() => ({ overflow: 'error' })),
  'flushes nothing': changed((client) => ({ flush: () => Promise.resolve(client.stats()) })),
  'waits in a flush for what came later': changed((client) => ({
    flush: async (options) => {
      let totals = await client.flush(options)
      while (totals.waiting > 0 && options?.timeout === undefined) totals = await client.flush()
      return totals
    },
  })),
  'hands nothing back': changed(({ close }) => ({
    close: async (options) => ({ ...(await close(options)), abandoned: [] }),
  })),
  'takes its time to close': changed(({ close }) => ({
    close: ({ timeout = 0 } = {}) => close({ timeout: timeout + 1_000 }),
  })),
  'counts what it refuses as accepted': changed(({ stats }) => ({
    stats: () => ({ ...stats(), accepted: stats().accepted + stats().refused }),
  })),
  'counts no request': changed(({ stats }) => ({ stats: () => ({ ...stats(), requests: 0 }) })),
  'leaves a timer behind': (writeKey, options) => {
    const client = createClient(writeKey, options)
    client.outcomes$.subscribe({ complete: () => options.clock?.schedule(1e9, () => undefined) })
    return client
  },
}

/** Wrong in ways that only the model sees: each world for itself could be like this. */
export const programMutants: Readonly<Record<string, OpenClient>> = {
  'waits one millisecond longer for its batch': withOptions(({ flushAfter = 0 }) => ({
    flushAfter: flushAfter + 1,
  })),
  'lets go of the newest in place of the oldest': withOptions(({ overflow = 'error' }) => ({
    overflow: overflow === 'dropOldest' ? 'dropNewest' : overflow,
  })),
  'tries again a little later': withOptions(({ retry = always }) => ({
    retry: both(retry, exponential({ base: 504, factor: 1 })),
  })),
  'keeps fewer than it may': withOptions(({ maxCount = 2 }) => ({ maxCount: Math.max(1, maxCount - 1) })),
  'is never ready again': changed(({ ready }) => {
    let asked = 0
    return { ready: () => (asked++ > 0 ? new Promise<void>(() => undefined) : ready()) }
  }),
  'lets one through that it has no room for': changed(() => ({ ready: () => Promise.resolve() })),
  'closes without trying again': changed(({ close }) => ({ close: () => close({ timeout: 0 }) })),
  'counts attempts from nothing': changed(({ outcomes$ }) => ({
    outcomes$: outcomes$.pipe(map((outcome) => ({ ...outcome, attempts: 0 }))),
  })),
}
