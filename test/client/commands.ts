/** What a program does with a client, as data that can be played again: to the client, and to the model of it. */
import * as fc from 'fast-check'
import type { Overflow } from '../../src/client/ClientOptions.ts'
import type { CallType } from '../../src/client/Message.ts'

export type Mode = 'ok' | 'busy' | 'gone' | 'hang'

export type Command =
  | { readonly do: 'track'; readonly kind: CallType; readonly pad: number; readonly times: number }
  | { readonly do: 'tick'; readonly ms: number }
  | { readonly do: 'server'; readonly mode: Mode }
  | { readonly do: 'flush'; readonly timeout: number | undefined }
  | { readonly do: 'ready' }
  /** The subscriber answers the next outcomes with a call each. */
  | { readonly do: 'react'; readonly times: number }
  | { readonly do: 'close'; readonly timeout: number }

export interface Setting {
  readonly size: number
  readonly maxBatch: number
  readonly maxCount: number
  readonly maxBytes: number
  readonly overflow: Overflow
  readonly within: number
}

export interface Program {
  readonly setting: Setting
  readonly commands: ReadonlyArray<Command>
}

/** Milliseconds; prime, so that few moments coincide. */
export const LATENCY = 7
export const TIMEOUT = 101
export const BACKOFF = 503
export const FLUSH_AFTER = 1_009

const track: fc.Arbitrary<Command> = fc.record({
  do: fc.constant('track' as const),
  kind: fc.constantFrom('track', 'identify', 'page', 'screen', 'group', 'alias'),
  pad: fc.constantFrom(1, 1, 50, 400),
  times: fc.constantFrom(1, 1, 2, 3, 7),
})

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 8, arbitrary: track },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('tick' as const),
      ms: fc.constantFrom(1, 5, 10, 100, 500, 1_009, 3_000),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('server' as const),
      mode: fc.constantFrom('ok', 'busy', 'busy', 'gone', 'hang'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('flush' as const),
      timeout: fc.constantFrom(undefined, undefined, 0, 60, 2_000),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'ready' as const }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('react' as const), times: fc.constantFrom(1, 3, 9) }) },
)

const close: fc.Arbitrary<Command> = fc.record({
  do: fc.constant('close' as const),
  timeout: fc.constantFrom(0, 50, 700, 20_000),
})

const afterwards = fc.array(command, { maxLength: 4, size: 'max' })

export const program: fc.Arbitrary<Program> = fc.record({
  setting: fc.record({
    size: fc.constantFrom(1, 2, 3, 5, 20),
    maxBatch: fc.constantFrom(900, 1_300, 500_000),
    maxCount: fc.constantFrom(1, 3, 7, 30, 100),
    maxBytes: fc.constantFrom(900, 2_000, 1_000_000),
    overflow: fc.constantFrom('error', 'dropNewest', 'dropOldest', 'dropOldest'),
    within: fc.constantFrom(1, 1_500, 10_000),
  }),
  commands: fc
    .tuple(fc.array(command, { minLength: 1, maxLength: 30, size: 'max' }), close, afterwards)
    .map(([before, closing, after]) => [...before, closing, ...after]),
})
