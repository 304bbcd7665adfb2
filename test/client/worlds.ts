/**
 * Random worlds for a client: calls that arrive, an endpoint that behaves by script, flushes and a close. All of it is data, and `play`
 * interprets it.
 */
import * as fc from 'fast-check'
import type { Overflow } from '../../src/client/ClientOptions.ts'
import type { Kind } from './calls.ts'
import type { OutboxKind } from './outboxes.ts'
import { step } from './server.ts'
import type { Step } from './server.ts'

export interface Send {
  readonly kind: Kind
  readonly user: string
  /** Characters of padding. */
  readonly size: number
  readonly poison: boolean
}

export type Act =
  | { readonly do: 'send'; readonly at: number; readonly sends: ReadonlyArray<Send> }
  | { readonly do: 'flush'; readonly at: number; readonly timeout: number | undefined }

export interface World {
  /** What the endpoint does, request by request; the last step repeats. */
  readonly script: ReadonlyArray<Step>
  readonly acts: ReadonlyArray<Act>
  readonly size: number
  readonly flushAfter: number
  readonly maxBatch: number
  readonly maxCount: number
  readonly maxBytes: number
  readonly overflow: Overflow
  readonly concurrency: number
  readonly keyed: boolean
  readonly timeout: number
  readonly within: number
  readonly outbox: OutboxKind
  /** On so many outcomes the subscriber sends another message. */
  readonly reacts: number
  readonly closeAt: number
  readonly closeWithin: number
  readonly seed: number
}

const send: fc.Arbitrary<Send> = fc.record({
  kind: fc.constantFrom('track', 'identify', 'page', 'screen', 'group', 'alias'),
  user: fc.constantFrom('a', 'a', 'b', 'c'),
  size: fc.constantFrom(0, 0, 0, 40, 300),
  poison: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
})

const at = fc.constantFrom(0, 0, 1, 50, 60, 900, 2_000, 6_000)

const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('send' as const),
      at,
      sends: fc.array(send, { minLength: 1, maxLength: 9, size: 'max' }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('flush' as const),
      at,
      timeout: fc.constantFrom(undefined, 0, 100, 100_000),
    }),
  },
)

export const world: fc.Arbitrary<World> = fc.record({
  script: fc.array(step, { minLength: 1, maxLength: 6, size: 'max' }),
  acts: fc.array(act, { minLength: 1, maxLength: 8, size: 'max' }),
  size: fc.constantFrom(1, 3, 5, 20, 20),
  flushAfter: fc.constantFrom(20, 500, 5_000, Infinity),
  maxBatch: fc.constantFrom(800, 1_500, 500_000),
  maxCount: fc.constantFrom(1, 4, 8, 100),
  maxBytes: fc.constantFrom(800, 2_000, 1_000_000),
  overflow: fc.constantFrom('error', 'dropNewest', 'dropOldest'),
  concurrency: fc.constantFrom(1, 1, 2, 4),
  keyed: fc.boolean(),
  timeout: fc.constantFrom(30, 300, 1_000),
  within: fc.constantFrom(1, 1_000, 20_000),
  outbox: fc.constantFrom('own', 'own', 'memory', 'slow', 'failing'),
  reacts: fc.constantFrom(0, 0, 2, 6),
  closeAt: fc.constantFrom(0, 40, 3_500, 9_000, 60_000),
  closeWithin: fc.constantFrom(0, 20, 1_000, 30_000),
  seed: fc.nat(),
})
