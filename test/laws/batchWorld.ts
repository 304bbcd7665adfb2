/** The worlds in which the batch laws ask: settings and commands, as plain data that reaches the limits. */
import * as fc from 'fast-check'
import { frameBytes } from '../../src/event/payload.ts'
import type { Frame } from '../../src/event/payload.ts'

export interface Settings {
  readonly maxCount: number
  readonly maxBytes: number
  readonly maxDelay: number
  readonly delayFrom: 'firstItem' | 'lastFlush'
  readonly before: string
  readonly after: string
}

export type End = 'complete' | 'error' | 'teardown'

export type Command =
  | { readonly do: 'offer'; readonly size: number }
  | { readonly do: 'left' }
  | { readonly do: 'advance'; readonly ms: number }
  /** Steps the wall clock, which must change nothing. */
  | { readonly do: 'wall'; readonly ms: number }
  | { readonly do: 'flush' }
  | { readonly do: End }
  /** Runs these from within the next emission. */
  | { readonly do: 'within'; readonly commands: ReadonlyArray<Command> }

export interface World {
  readonly settings: Settings
  readonly commands: ReadonlyArray<Command>
}

export const frameOf = ({ before, after }: Pick<Settings, 'before' | 'after'>): Frame => ({
  prefix: before,
  suffix: after,
})

export const fits = ({ maxBytes, before, after }: Settings, size: number): boolean =>
  frameBytes(frameOf({ before, after })) + size <= maxBytes

/** Sizes near the limits: nothing, next to nothing, and what just goes in or just does not. */
const sizes = (room: number): fc.Arbitrary<number> =>
  fc
    .oneof(
      { weight: 6, arbitrary: fc.constantFrom(0, 1, 1, 2) },
      { weight: 3, arbitrary: fc.constantFrom(room - 1, room, room + 1, room >> 1, (room >> 1) - 1) },
      { weight: 2, arbitrary: fc.integer({ min: 0, max: room + 2 }) },
    )
    .map((size) => Math.max(0, Math.min(size, 2_000)))

const advances = (maxDelay: number): fc.Arbitrary<number> =>
  fc.constantFrom(0, 0.3, 0.5, 1).chain((part) => {
    const ms = Math.round((maxDelay === Infinity ? 100 : maxDelay) * part)
    return part === 1 ? fc.constantFrom(ms - 1, ms, ms + 1) : fc.constant(ms)
  })

const settings: fc.Arbitrary<Settings> = fc
  .record({
    maxCount: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constantFrom(1, 2, 20, Infinity)),
    room: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constantFrom(10, 400, 100_000)),
    maxDelay: fc.oneof(fc.constantFrom(10, 100, 5_000, Infinity), fc.integer({ min: 2, max: 50 })),
    delayFrom: fc.constantFrom('firstItem' as const, 'lastFlush' as const),
    frame: fc.constantFrom(['[', ']'], ['{"é":[', ']}'], ['', '']),
  })
  .map(({ room, frame: [before = '', after = ''], ...rest }) => ({
    ...rest,
    before,
    after,
    maxBytes: Buffer.byteLength(before + after) + room,
  }))

export interface WorldOptions {
  /** Whether commands come from within emissions too. Default false. */
  readonly within?: boolean
  /** The ends to choose from; none leaves the stream open. Default all three. */
  readonly ends?: ReadonlyArray<End>
  /** Fixes some of the settings. */
  readonly fixed?: Partial<Settings>
}

const everyEnd: ReadonlyArray<End> = ['complete', 'error', 'teardown']

const commandsFor = (
  fixed: Settings,
  busy: boolean,
  { within = false, ends }: WorldOptions,
): fc.Arbitrary<ReadonlyArray<Command>> => {
  const room = fixed.maxBytes - frameBytes(frameOf(fixed))
  const offer = sizes(room).map((size) => ({ do: 'offer', size }) as const)
  const advance = advances(fixed.maxDelay).map((ms) => ({ do: 'advance', ms }) as const)
  const chosen: ReadonlyArray<End> = ends === undefined || ends.length === 0 ? everyEnd : ends
  const end = fc.constantFrom(...chosen).map((each) => ({ do: each }))
  const simple: ReadonlyArray<fc.WeightedArbitrary<Command>> = [
    { weight: busy ? 40 : 12, arbitrary: offer },
    { weight: busy ? 1 : 6, arbitrary: advance },
    { weight: 1, arbitrary: fc.constant({ do: 'left' }) },
    { weight: 1, arbitrary: fc.constant({ do: 'flush' }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom(-18_000_000, 18_000_000).map((ms) => ({ do: 'wall', ms }) as const),
    },
  ]
  const inner: fc.Arbitrary<Command> = fc.oneof(
    { weight: 6, arbitrary: offer },
    { weight: 1, arbitrary: fc.constant({ do: 'flush' }) },
    { weight: 1, arbitrary: advance },
    { weight: 1, arbitrary: ends?.length === 0 ? offer : end },
  )
  const nested = fc
    .array(inner, { minLength: 1, maxLength: 4 })
    .map((commands) => ({ do: 'within', commands }) as const)
  const one: fc.Arbitrary<Command> = fc.oneof(
    ...simple,
    ...(within ? [{ weight: 3, arbitrary: nested }] : []),
  )
  const many = fc.array(one, { maxLength: busy ? 80 : 50, size: 'max' })
  if (ends?.length === 0) return many
  // What comes after the end must change nothing.
  return fc
    .tuple(many, end, fc.array(one, { maxLength: 4 }))
    .map(([first, last, after]) => [...first, last, ...after])
}

export const world = (options: WorldOptions = {}): fc.Arbitrary<World> =>
  settings
    .map((each) => ({ ...each, ...options.fixed }))
    .chain((each) =>
      fc
        .boolean()
        .chain((busy) => commandsFor(each, busy, options))
        .map((commands) => ({ settings: each, commands })),
    )
