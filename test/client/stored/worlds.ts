/** What is done to a client with a folder: plain data. */
import * as fc from 'fast-check'

export interface Answer {
  readonly says: 'yes' | 'busy' | 'gone' | 'hangs'
  readonly after: number | undefined
}

export type Command =
  | { readonly do: 'send'; readonly users: ReadonlyArray<string> }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'flush' }
  | { readonly do: 'ask'; readonly timeout: number | undefined }
  | { readonly do: 'disk'; readonly isDown: boolean }
  | { readonly do: 'crash' }
  | { readonly do: 'close'; readonly timeout: number }

export interface World {
  readonly size: number
  readonly flushAfter: number
  readonly concurrency: number
  readonly isKeyed: boolean
  readonly overflow: 'error' | 'dropNewest'
  /** In memory. */
  readonly maxCount: number
  /** In the folder. */
  readonly folderCount: number
  readonly folderBytes: number
  readonly answers: ReadonlyArray<Answer>
  readonly commands: ReadonlyArray<Command>
}

const user = fc.constantFrom('a', 'b', 'c')

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant('send' as const),
      users: fc.array(user, { minLength: 1, maxLength: 8 }),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(0, 40, 300, 1_000, 5_000) }),
  },
  { weight: 2, arbitrary: fc.constant<Command>({ do: 'flush' }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('ask' as const), timeout: fc.constantFrom(undefined, 500) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('disk' as const), isDown: fc.constantFrom(true, true, false) }),
  },
  { weight: 2, arbitrary: fc.constant<Command>({ do: 'crash' }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('close' as const), timeout: fc.constantFrom(0, 1_000) }),
  },
)

export const world: fc.Arbitrary<World> = fc.record({
  size: fc.constantFrom(1, 2, 5),
  flushAfter: fc.constantFrom(100, Infinity),
  concurrency: fc.constantFrom(1, 1, 3),
  isKeyed: fc.boolean(),
  overflow: fc.constantFrom('error' as const, 'error' as const, 'dropNewest' as const),
  maxCount: fc.constantFrom(4, 12, 1_000),
  folderCount: fc.constantFrom(8, 20, 1_000),
  folderBytes: fc.constantFrom(2_000, 1_000_000),
  answers: fc.array(
    fc.record({
      says: fc.constantFrom(
        'yes' as const,
        'yes' as const,
        'busy' as const,
        'busy' as const,
        'gone' as const,
        'hangs' as const,
      ),
      after: fc.constantFrom(undefined, 5, 200),
    }),
    { minLength: 1, maxLength: 10 },
  ),
  commands: fc.array(command, { minLength: 5, maxLength: 24, size: 'max' }),
})
