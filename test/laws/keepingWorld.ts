/** What is done to messages on a disk: plain data. */
import * as fc from 'fast-check'

/** What the disk does with a transaction: takes it, refuses it before it begins, or fails when all is written and nothing synced. */
export type Disk = 'fine' | 'fails' | 'failsWithin'

export type Command =
  | { readonly do: 'accept'; readonly lane: number; readonly texts: ReadonlyArray<string> }
  | { readonly do: 'close'; readonly lane: number }
  /** The transaction that was asked for comes to its end on the disk; the writer does not know yet. */
  | { readonly do: 'commit' }
  /** The same, if it did not, and the writer is told. */
  | { readonly do: 'tell' }
  | { readonly do: 'disk'; readonly does: Disk }
  | { readonly do: 'ask' }
  | { readonly do: 'take'; readonly limit: number; readonly parked: number }
  | { readonly do: 'park'; readonly which: number; readonly delay: number }
  | { readonly do: 'end'; readonly which: number; readonly isDead: boolean }
  | { readonly do: 'pass'; readonly ms: number }
  /** The disk is well, and all is written that there is. */
  | { readonly do: 'rest' }
  /** `spoils`: one of the parts, by position, is changed on the disk. */
  | { readonly do: 'crash'; readonly spoils: number | undefined }
  | { readonly do: 'reopen' }

export type World = ReadonlyArray<Command>

const lane = fc.constantFrom(0, 0, 0, 1, 2)
const text = fc.constantFrom('{"a":1}', '{"b" : "é\u2028😀"}', '{}', `{"long":"${'x'.repeat(2_000)}"}`)

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 20,
    arbitrary: fc.record({
      do: fc.constant('accept' as const),
      lane,
      texts: fc.array(text, { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 12, arbitrary: fc.record({ do: fc.constant('close' as const), lane }) },
  { weight: 8, arbitrary: fc.constant<Command>({ do: 'commit' }) },
  { weight: 20, arbitrary: fc.constant<Command>({ do: 'tell' }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('disk' as const),
      does: fc.constantFrom<Disk>('fine', 'fine', 'fails', 'failsWithin'),
    }),
  },
  { weight: 8, arbitrary: fc.constant<Command>({ do: 'ask' }) },
  {
    weight: 14,
    arbitrary: fc.record({
      do: fc.constant('take' as const),
      limit: fc.integer({ min: 1, max: 3 }),
      parked: fc.integer({ min: 1, max: 2 }),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      do: fc.constant('park' as const),
      which: fc.nat(3),
      delay: fc.constantFrom(0, 0, 500, 5_000),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('end' as const), which: fc.nat(3), isDead: fc.boolean() }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(1, 999, 1_000) }),
  },
  { weight: 3, arbitrary: fc.constant<Command>({ do: 'rest' }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('crash' as const),
      spoils: fc.constantFrom(undefined, undefined, 0, 1),
    }),
  },
  { weight: 2, arbitrary: fc.constant<Command>({ do: 'reopen' }) },
)

export const world: fc.Arbitrary<World> = fc.array(command, { minLength: 32, maxLength: 32, size: 'max' })
