/** What is done to a push source: plain data that reaches its bounds. */
import * as fc from 'fast-check'

export interface Item {
  readonly n: number
  readonly size: number
}

export type Command =
  | { readonly do: 'offer'; readonly size: number; readonly times: number }
  /** Asks for the next item, so many times, whether there is one or not. */
  | { readonly do: 'read'; readonly times: number }
  /** Waits for room; `offer` is what is done with it, if anything. */
  | { readonly do: 'ready'; readonly offer: number | null }
  | { readonly do: 'end' }
  | { readonly do: 'leave' }

export interface World {
  readonly capacity: number
  readonly maxBytes: number
  readonly overflow: 'error' | 'dropNewest' | 'dropOldest'
  readonly commands: ReadonlyArray<Command>
}

const size = fc.oneof(fc.nat({ max: 12 }), fc.constantFrom(0, 1, 30, NaN, -1))
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 36,
    arbitrary: fc.record({ do: fc.constant('offer' as const), size, times: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 20,
    arbitrary: fc.record({ do: fc.constant('read' as const), times: fc.integer({ min: 1, max: 4 }) }),
  },
  {
    weight: 18,
    arbitrary: fc.record({ do: fc.constant('ready' as const), offer: fc.option(fc.nat({ max: 12 })) }),
  },
  { weight: 1, arbitrary: fc.constantFrom<Command>({ do: 'end' }, { do: 'leave' }) },
)

export const world: fc.Arbitrary<World> = fc.record({
  capacity: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constant(12)),
  maxBytes: fc.constantFrom(12, 20, 1_000_000),
  overflow: fc.constantFrom('error' as const, 'error' as const, 'dropNewest' as const, 'dropOldest' as const),
  commands: fc.array(command, { maxLength: 30, size: 'max' }),
})
