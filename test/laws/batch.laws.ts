/** The laws of `batch`: random settings and commands, played on a virtual clock, and laws over the trace. */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { Subject } from 'rxjs'
import { isDeepStrictEqual, inspect } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { Refusal, TooLarge } from '../../src/core/refusal.ts'
import { bodyOf, frameBytes } from '../../src/event/payload.ts'
import type { BatchPayload, ClosedBy, EventPayload, Frame, Payload } from '../../src/event/payload.ts'
import { batch } from '../../src/operators/batch.ts'
import type { BatchOptions } from '../../src/operators/batch.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { fullDescribe } from '../support/full.ts'

export interface Law {
  readonly id: string
  readonly property: fc.IProperty<unknown>
}

const holds = (isSo: boolean, what: string): void => {
  if (!isSo) throw new Error(what)
}
const same = (found: unknown, expected: unknown): void =>
  holds(isDeepStrictEqual(found, expected), `${inspect(found)} instead of ${inspect(expected)}`)
const law = <T>(id: string, property: fc.IProperty<T>): Law => ({ id, property })

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

export type BatchUnderTest = typeof batch

/** An item: objects, so that identity can be seen. `text` is `size` bytes of it. */
export interface Item {
  readonly n: number
  readonly size: number
  readonly at: number
}

interface Told {
  /** Elapsed milliseconds. */
  readonly at: number
  /** The top-level command during which it was told. */
  readonly during: number
}

export interface Batched extends Told {
  readonly kind: 'batch'
  readonly id: string
  readonly items: ReadonlyArray<Item>
  readonly byteLength: number
  /** The bytes of the body as it would be sent now, and much later. */
  readonly bodies: readonly [number, number]
  readonly closedBy: ClosedBy
  /** Items offered so far: what is larger was offered within this emission or later. */
  readonly offered: number
}

export type Event =
  | Batched
  | (Told & { readonly kind: 'refused'; readonly refusal: TooLarge })
  | (Told & { readonly kind: 'left'; readonly value: unknown })
  | (Told & { readonly kind: 'complete' | 'error' | 'abandoned' | 'nested' })

export interface Trace {
  readonly events: ReadonlyArray<Event>
  readonly offered: ReadonlyArray<Item>
  readonly lefts: ReadonlyArray<Told & { readonly value: unknown }>
  readonly abandoned: ReadonlyArray<ReadonlyArray<Item>>
  /** After each command: timers that wait, and items taken in that have not left. */
  readonly rests: ReadonlyArray<{ readonly timers: number; readonly open: number; readonly ended: boolean }>
}

/** Every other one has characters of two bytes. */
const textOf = (n: number, size: number): string =>
  n % 2 === 0 ? 'x'.repeat(size) : 'é'.repeat(size >> 1) + 'x'.repeat(size & 1)

const payloadOf = (item: Item): EventPayload<Item> => ({
  id: `m${String(item.n)}`,
  items: [item],
  text: textOf(item.n, item.size),
  byteLength: item.size,
})

/** Plays the commands against an implementation. Without an end among them the stream stays open. */
export const play = (make: BatchUnderTest, { settings, commands }: World): Trace => {
  const clock = virtualClock({ start: 1_000_000 })
  const source = new Subject<Either<string, Payload<Item>>>()
  const flush = new Subject<void>()
  const events: Event[] = []
  const offered: Item[] = []
  const lefts: Array<Told & { value: unknown }> = []
  const abandoned: Array<ReadonlyArray<Item>> = []
  const rests: Array<{ timers: number; open: number; ended: boolean }> = []
  let within: ReadonlyArray<Command> = []
  let during = 0
  let ended = false
  let depth = 0
  let ids = 0

  const told = (): Told => ({ at: clock.monotonic(), during })
  const options: BatchOptions = {
    maxCount: settings.maxCount,
    maxBytes: settings.maxBytes,
    maxDelay: settings.maxDelay,
    delayFrom: settings.delayFrom,
    frame: frameOf(settings),
    flush,
    clock,
    newId: () => `b${String(ids++)}`,
    abandoned: (payloads) => {
      events.push({ kind: 'abandoned', ...told() })
      // Only items go in here.
      abandoned.push(payloads.flatMap((payload) => payload.items as ReadonlyArray<Item>))
    },
  }

  const run = (command: Command): void => {
    switch (command.do) {
      case 'offer': {
        if (ended) return
        const item = { n: offered.length, size: command.size, at: clock.monotonic() }
        offered.push(item)
        source.next(right(payloadOf(item)))
        return
      }
      case 'left': {
        if (ended) return
        const value = `left ${String(lefts.length)}`
        lefts.push({ value, ...told() })
        source.next(left(value))
        return
      }
      case 'advance':
        clock.tick(command.ms)
        return
      case 'wall':
        clock.wall(command.ms)
        return
      case 'flush':
        flush.next()
        return
      case 'within':
        within = command.commands
        return
      case 'complete':
        ended = true
        source.complete()
        return
      case 'error':
        ended = true
        source.error('broken')
        return
      case 'teardown':
        ended = true
        subscription.unsubscribe()
    }
  }

  const onEvent = (event: Event): void => {
    if (depth > 0) events.push({ kind: 'nested', ...told() })
    events.push(event)
    const now = within
    within = []
    depth++
    for (const command of now) run(command)
    depth--
  }

  const onNext = (value: Either<string | TooLarge, BatchPayload<Item>>): void => {
    if (value._tag === 'Left') {
      if (typeof value.left === 'string') onEvent({ kind: 'left', value: value.left, ...told() })
      else onEvent({ kind: 'refused', refusal: value.left, ...told() })
      return
    }
    const { id, items, byteLength, closedBy } = value.right
    const bodies = [bytesAt(value.right, 0), bytesAt(value.right, 1e12)] as const
    onEvent({ kind: 'batch', id, items, byteLength, bodies, closedBy, offered: offered.length, ...told() })
  }

  const subscription = source.pipe(make(options)).subscribe({
    next: onNext,
    error: () => onEvent({ kind: 'error', ...told() }),
    complete: () => onEvent({ kind: 'complete', ...told() }),
  })

  for (const command of commands) {
    run(command)
    const gone = events.reduce((sum, each) => sum + (each.kind === 'batch' ? each.items.length : 0), 0)
    const taken = offered.filter((item) => fits(settings, item.size)).length
    rests.push({ timers: clock.pending(), open: taken - gone, ended })
    during++
  }
  return { events, offered, lefts, abandoned, rests }
}

const bytesAt = (payload: Payload<unknown>, now: number): number => Buffer.byteLength(bodyOf(payload, now))

export const batchesOf = (trace: Trace): ReadonlyArray<Batched> =>
  trace.events.filter((event): event is Batched => event.kind === 'batch')

export const refusalsOf = (trace: Trace): ReadonlyArray<Refusal> =>
  trace.events.flatMap((event) => (event.kind === 'refused' ? [event.refusal] : []))

export const accepted = (trace: Trace, settings: Settings): ReadonlyArray<Item> =>
  trace.offered.filter((item) => fits(settings, item.size))

export const numbers = (items: ReadonlyArray<Item>): ReadonlyArray<number> => items.map((item) => item.n)

export const bytesOf = (items: ReadonlyArray<Item>, settings: Settings): number =>
  frameBytes(frameOf(settings)) + items.reduce((sum, item) => sum + item.size, 0) + items.length - 1

/** A law of the trace of every world. */
export const always = (
  make: BatchUnderTest,
  id: string,
  options: WorldOptions,
  check: (trace: Trace, settings: Settings, asked: World) => void,
): Law =>
  law(
    id,
    fc.property(world(options), (asked) => check(play(make, asked), asked.settings, asked)),
  )

const grouping = (trace: Trace): ReadonlyArray<ReadonlyArray<number>> =>
  batchesOf(trace).map((batch) => numbers(batch.items))

/** What comes out, and how large it is. */
const memberLaws = (make: BatchUnderTest): ReadonlyArray<Law> => [
  always(
    make,
    'B1 what goes in comes out once and in order, or is handed back',
    { within: true },
    (trace, settings) => {
      const out = [...batchesOf(trace).flatMap((batch) => batch.items), ...trace.abandoned.flat()]
      same(numbers(out), numbers(accepted(trace, settings)))
      holds(
        out.every((item) => item === trace.offered[item.n]),
        'an item is a copy',
      )
    },
  ),

  always(make, 'B2 what is too large is turned away at once', {}, (trace, settings) => {
    const refused = trace.offered.filter((item) => !fits(settings, item.size))
    same(
      refusalsOf(trace).map((each) => (each._tag === 'TooLarge' ? [each.id, each.size, each.limit] : each)),
      refused.map((item) => [`m${String(item.n)}`, bytesOf([item], settings), settings.maxBytes]),
    )
    const times = trace.events.flatMap((event) => (event.kind === 'refused' ? [event.at] : []))
    same(
      times,
      refused.map((item) => item.at),
    )
  }),

  always(make, 'B2 and the open batch does not notice', {}, (trace, settings, asked) => {
    const commands = asked.commands.map((each) =>
      each.do === 'offer' && !fits(settings, each.size) ? ({ do: 'advance', ms: 0 } as const) : each,
    )
    const without = play(make, { settings, commands })
    const shape = (each: Trace) =>
      batchesOf(each).map(({ items, at, during, closedBy }) => [
        items.map((item) => item.size),
        at,
        during,
        closedBy,
      ])
    same(shape(trace), shape(without))
  }),

  always(make, 'B3 no batch is empty', { within: true }, (trace) =>
    holds(
      batchesOf(trace).every((batch) => batch.items.length > 0),
      'a batch is empty',
    ),
  ),

  always(make, 'B4 no batch has more members than allowed', { within: true }, (trace, { maxCount }) =>
    holds(
      batchesOf(trace).every((batch) => batch.items.length <= maxCount),
      'a batch has too many members',
    ),
  ),

  always(
    make,
    'B5 no body is larger than allowed, and its size is exact',
    { within: true },
    (trace, settings) => {
      for (const batch of batchesOf(trace)) {
        const bytes = bytesOf(batch.items, settings)
        holds(bytes <= settings.maxBytes, `a body has ${String(bytes)} bytes`)
        same([batch.byteLength, ...batch.bodies], [bytes, bytes, bytes])
      }
    },
  ),

  law(
    'B13 more room makes no more batches',
    fc.property(world({ ends: ['complete'], fixed: { maxDelay: Infinity, maxBytes: 1e9 } }), (asked) => {
      const commands = asked.commands.filter((command) => command.do !== 'flush')
      const count = (maxCount: number): number =>
        batchesOf(play(make, { commands, settings: { ...asked.settings, maxCount } })).length
      const offered = play(make, { ...asked, commands }).offered.length
      for (const maxCount of [1, 3, 20]) {
        same(count(maxCount), Math.ceil(offered / maxCount))
        holds(count(maxCount + 1) <= count(maxCount), 'more room made more batches')
      }
    }),
  ),

  always(
    make,
    'B15 with a count of 1 each item leaves at once',
    { fixed: { maxCount: 1 } },
    (trace, settings) => {
      same(
        batchesOf(trace).map((batch) => [numbers(batch.items), batch.at, batch.closedBy]),
        accepted(trace, settings).map((item) => [[item.n], item.at, 'count']),
      )
      holds(
        trace.rests.every(({ timers }) => timers === 0),
        'there is a timer',
      )
    },
  ),

  always(
    make,
    'B17 items without bytes are bounded all the same',
    { fixed: { maxBytes: 1e9 } },
    (trace, settings, asked) => {
      const commands = asked.commands.map((each) => (each.do === 'offer' ? { ...each, size: 0 } : each))
      same(grouping(play(make, { settings, commands })), grouping(trace))
    },
  ),

  always(make, 'L1 what has ended already passes at once', {}, (trace) => {
    const passed = trace.events.flatMap((event) =>
      event.kind === 'left' ? [{ value: event.value, at: event.at, during: event.during }] : [],
    )
    same(passed, trace.lefts)
  }),

  always(make, 'L2 every batch has an id of its own', { within: true }, (trace) => {
    const ids = batchesOf(trace).map((batch) => batch.id)
    same(new Set(ids).size, ids.length)
  }),
]

/** Why this batch was allowed to close when it did; `next` is the item after it. */
const mayClose = (
  batch: Batched,
  before: number,
  next: Item | undefined,
  { settings, commands }: World,
): boolean => {
  const bytes = bytesOf(batch.items, settings)
  const first = batch.items[0]?.at ?? NaN
  const command = commands[batch.during]?.do
  switch (batch.closedBy) {
    case 'count':
      return batch.items.length === settings.maxCount
    case 'bytes':
      return bytes === settings.maxBytes || (next !== undefined && bytes + 1 + next.size > settings.maxBytes)
    case 'delay':
      return settings.delayFrom === 'firstItem'
        ? batch.at === first + settings.maxDelay
        : batch.at === Math.max(before + settings.maxDelay, first)
    case 'flush':
      return command === 'flush'
    case 'end':
      return command === 'complete' || command === 'error'
    case 'retry':
      return false
  }
}

/** When a batch closes, and why. */
const closeLaws = (make: BatchUnderTest): ReadonlyArray<Law> => [
  always(make, 'B6 no item waits longer than the delay', { ends: [] }, (trace, { maxDelay }, asked) => {
    for (const batch of batchesOf(trace))
      for (const item of batch.items)
        holds(batch.at - item.at <= maxDelay, `an item waited ${String(batch.at - item.at)}`)
    if (maxDelay === Infinity) return
    const later = play(make, { ...asked, commands: [...asked.commands, { do: 'advance', ms: maxDelay }] })
    same(later.rests.at(-1)?.open, 0)
  }),

  always(
    make,
    'B7 on completion and on error the rest goes out first',
    { ends: ['complete', 'error'] },
    (trace) => {
      same(trace.rests.at(-1)?.open, 0)
      same(trace.abandoned, [])
    },
  ),

  always(
    make,
    'B7 at unsubscribing nothing goes out, and the rest is handed back once',
    { ends: ['teardown'] },
    (trace, _, asked) => {
      const at = asked.commands.findIndex((command) => command.do === 'teardown')
      const open = trace.rests[at - 1]?.open ?? 0
      same(
        trace.abandoned.map((items) => items.length),
        open === 0 ? [] : [open],
      )
      holds(
        !trace.events.some((event) => event.during >= at && event.kind !== 'abandoned'),
        'something went out',
      )
    },
  ),

  always(make, 'B7 a flush leaves nothing behind', { ends: [] }, (trace, _, { commands }) =>
    commands.forEach((command, i) => {
      if (command.do === 'flush') same(trace.rests[i]?.open, 0)
    }),
  ),

  always(
    make,
    'B8 it ends once, as its source ended, and nothing comes after',
    { within: true },
    (trace, _, { commands }) => {
      const kinds = trace.events.map((event) => event.kind)
      const ends = kinds.filter((kind) => kind === 'complete' || kind === 'error')
      holds(ends.length <= 1, 'it ended twice')
      if (ends.length === 1) same(kinds.at(-1), ends[0])
      const plain = !commands.some((command) => command.do === 'within')
      const end = commands.find(
        ({ do: what }) => what === 'complete' || what === 'error' || what === 'teardown',
      )
      if (plain) same(ends, end?.do === 'teardown' ? [] : [end?.do])
    },
  ),

  always(
    make,
    'B9 one timer at most, none while nothing waits, none after the end',
    { within: true },
    (trace, settings) => {
      for (const { timers, open, ended } of trace.rests) {
        const most = ended || open === 0 || settings.maxDelay === Infinity ? 0 : 1
        holds(timers <= most, `${String(timers)} timers while ${String(open)} items wait`)
      }
    },
  ),

  always(make, 'B10 a batch closes for one cause, and no sooner', {}, (trace, settings, asked) => {
    const items = accepted(trace, settings)
    let before = 0
    let taken = 0
    for (const batch of batchesOf(trace)) {
      taken += batch.items.length
      holds(mayClose(batch, before, items[taken], asked), `closed by ${batch.closedBy} with no right to`)
      before = batch.at
    }
  }),

  always(
    make,
    'B11 the same commands give the same, whatever the wall clock does',
    { within: true },
    (trace, settings, asked) => {
      same(play(make, asked), trace)
      const commands = asked.commands.map((each) =>
        each.do === 'wall' ? ({ do: 'advance', ms: 0 } as const) : each,
      )
      same(play(make, { settings, commands }), trace)
    },
  ),

  always(make, 'B12 what is offered within an emission lands behind it', { within: true }, (trace) => {
    holds(!trace.events.some((event) => event.kind === 'nested'), 'an emission came within another')
    for (const batch of batchesOf(trace))
      holds(
        batch.items.every((item) => item.n < batch.offered),
        'an item left before it was offered',
      )
    const order = batchesOf(trace).flatMap((batch) => numbers(batch.items))
    holds(
      order.every((n, i) => i === 0 || n > (order[i - 1] ?? -1)),
      'items overtook each other',
    )
  }),

  law(
    'B14 what comes later changes nothing that came before',
    fc.property(world({ ends: [] }), fc.nat(50), (asked, length) => {
      const first = play(make, { ...asked, commands: asked.commands.slice(0, length) })
      const seen = play(make, asked).events.filter((event) => event.during < length)
      same(first.events, seen)
    }),
  ),
]

export const batchLaws = (make: BatchUnderTest): ReadonlyArray<Law> => [
  ...memberLaws(make),
  ...closeLaws(make),
]

describe('batch keeps the law', () => it.each(batchLaws(batch))('$id', ({ property }) => fc.assert(property)))

fullDescribe('the worlds of the laws', () => {
  const traces = fc
    .sample(world({ within: true }), { numRuns: 1_000, seed: 1 })
    .map((asked) => ({ asked, trace: play(batch, asked) }))
  const share = (isSo: (trace: Trace, asked: World) => boolean): number =>
    traces.filter(({ trace, asked }) => isSo(trace, asked)).length / traces.length

  it.each(['count', 'bytes', 'delay', 'flush', 'end'] as const)('have batches closed by %s', (cause) =>
    expect(share((trace) => batchesOf(trace).some((each) => each.closedBy === cause))).toBeGreaterThan(0.05),
  )

  it('reach the limits: full bodies, items too large, a rest on unsubscription, the exact delay', () => {
    expect(
      share((trace, { settings }) => batchesOf(trace).some((each) => each.byteLength === settings.maxBytes)),
    ).toBeGreaterThan(0.05)
    expect(share((trace) => refusalsOf(trace).length > 0)).toBeGreaterThan(0.05)
    expect(share((trace) => trace.abandoned.length > 0)).toBeGreaterThan(0.05)
    expect(
      share((trace, { settings }) =>
        batchesOf(trace).some((each) => each.at - (each.items[0]?.at ?? 0) === settings.maxDelay),
      ),
    ).toBeGreaterThan(0.05)
  })
})
