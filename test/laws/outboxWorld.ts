/** What is done to an outbox: plain data that reaches its bounds. */
import * as fc from 'fast-check'
import type { Clock } from '../../src/core/clock.ts'
import type { Awaitable } from '../../src/core/awaitable.ts'
import type { Outbox } from '../../src/outbox/outbox.ts'

export interface Item {
  readonly n: number
  readonly size: number
  readonly text: string
}

export interface Bounds {
  readonly maxCount: number
  readonly maxBytes: number
  readonly keepDead: number
}

/** Where outboxes lie. Opened again, it is another life of the same one. */
export interface Ground {
  readonly open: (bounds: Bounds, clock: Clock) => Outbox<Item>
  /** What a kill leaves behind is what the next `open` finds. */
  readonly crash: () => Awaitable<void>
  /** Nobody will open it any more. */
  readonly leave: () => Awaitable<void>
  /** When something will be due later, nobody can say: a broker brings it by itself. */
  readonly knowsOnlyWhatIsDue?: boolean
}

export type MakeGround = () => Ground

export type How = 'delivered' | 'rejected' | 'expired' | 'dropped'

/** A share of the items: those whose number leaves `rest` when divided by `by`. */
interface Share {
  readonly rest: number
  readonly by: number
}

export type Command =
  /** All at once. */
  | { readonly do: 'append'; readonly items: ReadonlyArray<Omit<Item, 'n'>> }
  | { readonly do: 'take'; readonly limit: number; readonly parked: number }
  /** Those that are out, by position, all at once. */
  | {
      readonly do: 'park'
      readonly which: ReadonlyArray<number>
      readonly delay: number
      readonly tried: boolean
    }
  | { readonly do: 'end'; readonly which: ReadonlyArray<number>; readonly how: How }
  | { readonly do: 'bury'; readonly item: Omit<Item, 'n'> }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'redrive'; readonly share: Share }
  | { readonly do: 'purge'; readonly share: Share }
  | { readonly do: 'list'; readonly limit: number }
  | { readonly do: 'abandon' }
  | { readonly do: 'crash' }
  | { readonly do: 'reopen'; readonly times: number }

export interface World {
  readonly bounds: Bounds
  readonly commands: ReadonlyArray<Command>
}

const item = fc.record({
  size: fc.constantFrom(0, 1, 7, 20),
  text: fc.constantFrom('', 'a', '{"a" : 1}', ' é\u2028😀\n', '\u0000', 'long '.repeat(900)),
})
const which = fc.array(fc.nat(7), { minLength: 1, maxLength: 4 })
const share: fc.Arbitrary<Share> = fc.constantFrom(
  { rest: 0, by: 1 },
  { rest: 0, by: 2 },
  { rest: 1, by: 3 },
  { rest: 5, by: 5 },
)

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 24,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      items: fc.array(item, { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 24,
    arbitrary: fc.record({
      do: fc.constant('take' as const),
      limit: fc.integer({ min: 0, max: 6 }),
      parked: fc.nat(4),
    }),
  },
  {
    weight: 16,
    arbitrary: fc.record({
      do: fc.constant('park' as const),
      which,
      delay: fc.constantFrom(0, 1, 1, 10, 50),
      tried: fc.constantFrom(true, true, true, false),
    }),
  },
  {
    weight: 16,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      which,
      how: fc.constantFrom<How>('delivered', 'rejected', 'expired', 'dropped'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('bury' as const), item }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(0, 1, 9, 40) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('redrive' as const), share }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('purge' as const), share }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('list' as const), limit: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 1, arbitrary: fc.constant<Command>({ do: 'abandon' }) },
  { weight: 1, arbitrary: fc.constant<Command>({ do: 'crash' }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('reopen' as const), times: fc.constantFrom(1, 2) }) },
)

export const world: fc.Arbitrary<World> = fc.record({
  bounds: fc.record({
    maxCount: fc.constantFrom(3, 10, 1_000),
    maxBytes: fc.constantFrom(30, 100, 1_000_000),
    keepDead: fc.constantFrom(0, 2, 1_000),
  }),
  commands: fc.array(command, { minLength: 200, maxLength: 200, size: 'max' }),
})
