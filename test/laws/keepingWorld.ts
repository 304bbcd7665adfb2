/** What is done to messages on a disk: plain data. */
import * as fc from 'fast-check'

/**
 * What the disk does with a transaction: takes it, takes only what makes the store no larger, refuses it before it begins, or fails when all
 * is written and nothing synced.
 */
export type Disk = 'fine' | 'full' | 'fails' | 'failsWithin'

export type Command =
  | { readonly do: 'accept'; readonly lane: number; readonly texts: ReadonlyArray<string> }
  | { readonly do: 'close'; readonly lane: number }
  /** The transaction that was asked for comes to its end on the disk; the writer does not know yet. */
  | { readonly do: 'commit' }
  /** The same, if it did not, and the writer is told. */
  | { readonly do: 'onEvent' }
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

/** How often each command comes. */
type Weights = Readonly<Record<Command['do'], number>>

/** A disk that fails now and then. */
const mixed: Weights = {
  accept: 20,
  close: 12,
  commit: 8,
  onEvent: 20,
  disk: 6,
  ask: 8,
  take: 14,
  park: 9,
  end: 6,
  pass: 6,
  rest: 3,
  crash: 3,
  reopen: 2,
}

/** A disk that takes nothing for a while, and others who go on. */
const outage: Weights = {
  accept: 16,
  close: 16,
  commit: 1,
  onEvent: 22,
  disk: 3,
  ask: 4,
  take: 24,
  park: 12,
  end: 9,
  pass: 9,
  rest: 0,
  crash: 1,
  reopen: 1,
}

const command = (weights: Weights, disks: ReadonlyArray<Disk>): fc.Arbitrary<Command> => {
  const all: { readonly [Name in Command['do']]: fc.Arbitrary<Command & { readonly do: Name }> } = {
    accept: fc.record({
      do: fc.constant('accept' as const),
      lane,
      texts: fc.array(text, { minLength: 1, maxLength: 3 }),
    }),
    close: fc.record({ do: fc.constant('close' as const), lane }),
    commit: fc.constant({ do: 'commit' }),
    onEvent: fc.constant({ do: 'onEvent' }),
    disk: fc.record({ do: fc.constant('disk' as const), does: fc.constantFrom(...disks) }),
    ask: fc.constant({ do: 'ask' }),
    take: fc.record({
      do: fc.constant('take' as const),
      limit: fc.integer({ min: 1, max: 3 }),
      parked: fc.integer({ min: 1, max: 2 }),
    }),
    park: fc.record({
      do: fc.constant('park' as const),
      which: fc.nat(3),
      delay: fc.constantFrom(0, 0, 500, 5_000),
    }),
    end: fc.record({ do: fc.constant('end' as const), which: fc.nat(3), isDead: fc.boolean() }),
    pass: fc.record({ do: fc.constant('pass' as const), ms: fc.constantFrom(1, 999, 1_000) }),
    rest: fc.constant({ do: 'rest' }),
    crash: fc.record({
      do: fc.constant('crash' as const),
      spoils: fc.constantFrom(undefined, undefined, 0, 1),
    }),
    reopen: fc.constant({ do: 'reopen' }),
  }
  return fc.oneof(
    ...Object.values(all).map((arbitrary: fc.Arbitrary<Command>, at) => ({
      arbitrary,
      weight: Object.values(weights)[at] ?? 0,
    })),
  )
}

/** The disk takes nothing any more, and what closes is taken from memory. */
const goesDown: fc.Arbitrary<World> = fc
  .record({
    does: fc.constantFrom<Disk>('full', 'full', 'fails', 'failsWithin'),
    lane,
    before: fc.boolean(),
    after: fc.boolean(),
    asks: fc.boolean(),
    limit: fc.integer({ min: 1, max: 3 }),
  })
  .map(({ does, lane: at, before, after, asks, limit }) => {
    const accept: Command = { do: 'accept', lane: at, texts: ['{}'] }
    const close: Command = { do: 'close', lane: at }
    const onEvent: Command = { do: 'onEvent' }
    return [
      accept,
      ...(before ? [close] : []),
      onEvent,
      { do: 'disk', does },
      accept,
      close,
      onEvent,
      ...(after ? [accept, close] : []),
      ...(asks ? [{ do: 'ask' } as const] : []),
      { do: 'take', limit, parked: 1 },
      ...(asks ? [{ do: 'end', which: 0, isDead: false } as const] : []),
    ]
  })

/** It is asked again; whoever has something in hand goes on before or after it answers. */
const isAsked: fc.Arbitrary<World> = fc
  .record({
    does: fc.constantFrom<Disk>('fine', 'fine', 'full'),
    isTold: fc.boolean(),
    which: fc.nat(3),
    isEnd: fc.boolean(),
    isDead: fc.boolean(),
    delay: fc.constantFrom(0, 500),
    closes: fc.nat(9),
  })
  .map(({ does, isTold, which, isEnd, isDead, delay, closes }) => [
    { do: 'disk', does },
    { do: 'pass', ms: 1_000 },
    ...(isTold ? [{ do: 'onEvent' } as const] : []),
    isEnd ? { do: 'end', which, isDead } : { do: 'park', which, delay },
    ...(closes === 0 ? [{ do: 'reopen' } as const] : []),
    { do: 'take', limit: 2, parked: 2 },
  ])

const alone = (one: fc.Arbitrary<Command>): fc.Arbitrary<World> => one.map((each) => [each])

const outages: fc.Arbitrary<World> = fc
  .array(
    fc.oneof(
      { weight: 10, arbitrary: alone(command(outage, ['fine', 'full', 'fails', 'failsWithin'])) },
      { weight: 3, arbitrary: goesDown },
      { weight: 3, arbitrary: isAsked },
    ),
    { minLength: 16, maxLength: 16, size: 'max' },
  )
  .map((parts) => parts.flat())

export const world: fc.Arbitrary<World> = fc.oneof(
  fc.array(command(mixed, ['fine', 'fine', 'full', 'fails', 'failsWithin']), {
    minLength: 32,
    maxLength: 32,
    size: 'max',
  }),
  outages,
)
