/** The laws of `batch`: random settings and commands, played on a virtual clock, and laws over the trace. */
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { from, map, Subject } from 'rxjs'
import { describe, it } from 'vitest'
import type { ObservableEither } from '../../src/core/outcome.ts'
import type { Refusal, Threw, TooLarge } from '../../src/core/refusal.ts'
import { bodyOf, frameBytes } from '../../src/event/payload.ts'
import type { BatchPayload, ClosedBy, EventPayload, ItemBatch, Payload } from '../../src/event/payload.ts'
import { batch } from '../../src/operators/batch.ts'
import type { BatchOptions, ItemBatchOptions } from '../../src/operators/batch.ts'
import { lift } from '../../src/operators/rightSide.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { holds, law, type PlainLaw, same } from '../support/check.ts'

type Settings = Required<Pick<BatchOptions, 'maxCount' | 'maxBytes' | 'maxDelay' | 'delayFrom' | 'frame'>> & {
  /** Bytes between two members. */
  readonly comma: 0 | 1
}

type End = 'complete' | 'error' | 'teardown'

type Command =
  | { readonly do: 'offer'; readonly size: number }
  | { readonly do: 'left' }
  | { readonly do: 'advance'; readonly ms: number }
  /** Steps the wall clock, which must change nothing. */
  | { readonly do: 'wall'; readonly ms: number }
  | { readonly do: 'flush' }
  | { readonly do: End }
  /** Runs these from within the next emission. */
  | { readonly do: 'within'; readonly commands: ReadonlyArray<Command> }

interface World {
  readonly settings: Settings
  readonly commands: ReadonlyArray<Command>
}

const fits = ({ maxBytes, frame }: Settings, size: number): boolean => frameBytes(frame) + size <= maxBytes

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
    frame: fc.constantFrom(
      { prefix: '[', suffix: ']' },
      { prefix: '{"é":[', suffix: ']}' },
      { prefix: '', suffix: '' },
    ),
  })
  .map(({ room, ...rest }) => ({ ...rest, comma: 1, maxBytes: frameBytes(rest.frame) + room }))

interface WorldOptions {
  /** Whether commands come from within emissions too. Default false. */
  readonly within?: boolean
  /** Whether the stream is left open. Default false. */
  readonly isOpen?: boolean
  /** Fixes some of the settings. */
  readonly fixed?: Partial<Settings>
}

const everyEnd: ReadonlyArray<End> = ['complete', 'error', 'teardown']

const commandsFor = (
  fixed: Settings,
  busy: boolean,
  { within = false, isOpen = false }: WorldOptions,
): fc.Arbitrary<ReadonlyArray<Command>> => {
  const room = fixed.maxBytes - frameBytes(fixed.frame)
  const offer = sizes(room).map((size) => ({ do: 'offer', size }) as const)
  const advance = advances(fixed.maxDelay).map((ms) => ({ do: 'advance', ms }) as const)
  const end = fc.constantFrom(...everyEnd).map((each) => ({ do: each }))
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
    { weight: 1, arbitrary: isOpen ? offer : end },
  )
  const nested = fc
    .array(inner, { minLength: 1, maxLength: 4 })
    .map((commands) => ({ do: 'within', commands }) as const)
  const one: fc.Arbitrary<Command> = fc.oneof(
    ...simple,
    ...(within ? [{ weight: 3, arbitrary: nested }] : []),
  )
  const many = fc.array(one, { maxLength: busy ? 80 : 50, size: 'max' })
  if (isOpen) return many
  // What comes after the end must change nothing.
  return fc
    .tuple(many, end, fc.array(one, { maxLength: 4 }))
    .map(([first, last, after]) => [...first, last, ...after])
}

const world = (options: WorldOptions = {}): fc.Arbitrary<World> =>
  fc.tuple(settings, fc.boolean()).chain(([each, busy]) => {
    const fixed = { ...each, ...options.fixed }
    return commandsFor(fixed, busy, options).map((commands) => ({ settings: fixed, commands }))
  })

export type BatchUnderTest = (
  options?: BatchOptions,
) => <L, A>(source: ObservableEither<L, Payload<A>>) => ObservableEither<L | TooLarge, BatchPayload<A>>

/** An item: objects, so that identity can be seen. `text` is `size` bytes of it. */
interface Item {
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

interface Batched extends Told {
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

type Event =
  | Batched
  | (Told & { readonly kind: 'refused'; readonly refusal: TooLarge })
  | (Told & { readonly kind: 'left'; readonly value: unknown })
  | (Told & { readonly kind: 'complete' | 'error' | 'abandoned' | 'nested' })

interface Trace {
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
const play = (make: BatchUnderTest, { settings, commands }: World): Trace => {
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
  let item: Item
  let ended = false
  let depth = 0
  let ids = 0

  const told = (): Told => ({ at: clock.monotonic(), during })
  const { comma: _, ...limits } = settings
  const options: BatchOptions = {
    ...limits,
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
      case 'offer':
        if (ended) return
        item = { n: offered.length, size: command.size, at: clock.monotonic() }
        offered.push(item)
        source.next(right(payloadOf(item)))
        return
      case 'left':
        if (ended) return
        lefts.push({ value: `left ${String(lefts.length)}`, ...told() })
        source.next(left(`left ${String(lefts.length - 1)}`))
        return
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
    if (value._tag === 'Right') {
      const { id, items, byteLength, closedBy } = value.right
      const bodies = [bytesAt(value.right, 0), bytesAt(value.right, 1e12)] as const
      const batched = { id, items, byteLength, bodies, closedBy, offered: offered.length }
      onEvent({ kind: 'batch', ...batched, ...told() })
    } else if (typeof value.left === 'string') onEvent({ kind: 'left', value: value.left, ...told() })
    else onEvent({ kind: 'refused', refusal: value.left, ...told() })
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

const batchesOf = (trace: Trace): ReadonlyArray<Batched> =>
  trace.events.filter((event): event is Batched => event.kind === 'batch')

const accepted = (trace: Trace, settings: Settings): ReadonlyArray<Item> =>
  trace.offered.filter((item) => fits(settings, item.size))

const numbers = (items: ReadonlyArray<Item>): ReadonlyArray<number> => items.map((item) => item.n)

const bytesOf = (items: ReadonlyArray<Item>, settings: Settings): number =>
  frameBytes(settings.frame) +
  items.reduce((sum, item) => sum + item.size, 0) +
  settings.comma * (items.length - 1)

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
      return (
        bytes === settings.maxBytes ||
        (next !== undefined && bytes + settings.comma + next.size > settings.maxBytes)
      )
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

type Check = (trace: Trace, asked: World, replay: (asked: World) => Trace) => void

/** A law of the trace of every world. */
const rule = (id: string, options: WorldOptions, check: Check) => ({ id, options, check })

const laws = [
  rule(
    'B1 what goes in comes out once and in order, or is handed back',
    { within: true },
    (trace, { settings }) => {
      const out = [...batchesOf(trace).flatMap((batch) => batch.items), ...trace.abandoned.flat()]
      same(numbers(out), numbers(accepted(trace, settings)))
      const isSame = out.every((item) => item === trace.offered[item.n])
      holds(isSame, 'an item is a copy')
    },
  ),
  rule(
    'B2 what is too large is turned away at once, and the open batch does not notice',
    {},
    (trace, { settings, commands }, replay) => {
      const refusals = trace.events.flatMap((event) =>
        event.kind === 'refused'
          ? [[event.refusal.id, event.refusal.size, event.refusal.limit, event.at]]
          : [],
      )
      const tooLarge = trace.offered.filter((item) => !fits(settings, item.size))
      const wanted = tooLarge.map((item) => [
        ...[`m${String(item.n)}`, bytesOf([item], settings)],
        ...[settings.maxBytes, item.at],
      ])
      same(refusals, wanted)
      const without = commands.map((each) =>
        each.do === 'offer' && !fits(settings, each.size) ? ({ do: 'advance', ms: 0 } as const) : each,
      )
      const shape = (each: Trace) =>
        batchesOf(each).map((one) => [one.items.map(({ size }) => size), one.at, one.during, one.closedBy])
      same(shape(trace), shape(replay({ settings, commands: without })))
    },
  ),
  rule(
    'B5 no batch is empty or too large, and its size is exact',
    { within: true },
    (trace, { settings }) => {
      for (const { items, byteLength, bodies } of batchesOf(trace)) {
        const bytes = bytesOf(items, settings)
        holds(items.length > 0 && items.length <= settings.maxCount, `${String(items.length)} members`)
        holds(bytes <= settings.maxBytes, `a body has ${String(bytes)} bytes`)
        same([byteLength, ...bodies], [bytes, bytes, bytes])
      }
    },
  ),
  rule(
    'B15 with a count of 1 each item leaves at once',
    { fixed: { maxCount: 1 } },
    (trace, { settings }) => {
      const left = batchesOf(trace).map((batch) => [numbers(batch.items), batch.at, batch.closedBy])
      const wanted = accepted(trace, settings).map((item) => [[item.n], item.at, 'count'])
      same(left, wanted)
    },
  ),
  rule('L1 what has ended already passes at once', {}, ({ events, lefts }) => {
    const passed = events.flatMap((event) =>
      event.kind === 'left' ? [{ value: event.value, at: event.at, during: event.during }] : [],
    )
    same(passed, lefts)
  }),
  rule('L2 every batch has an id of its own', { within: true }, (trace) => {
    const ids = batchesOf(trace).map((batch) => batch.id)
    same(new Set(ids).size, ids.length)
  }),
  rule('B6 no item waits longer than the delay', { isOpen: true }, (trace, asked, replay) => {
    const { maxDelay } = asked.settings
    for (const { items, at } of batchesOf(trace))
      for (const item of items) holds(at - item.at <= maxDelay, `an item waited ${String(at - item.at)}`)
    if (maxDelay === Infinity) return
    const later = replay({ ...asked, commands: [...asked.commands, { do: 'advance', ms: maxDelay }] })
    same(later.rests.at(-1)?.open, 0)
  }),
  rule(
    'B7 a completion, an error and a flush leave nothing behind; at unsubscribing the rest is handed back once',
    {},
    ({ events, rests, abandoned }, { commands }) => {
      const end = commands.findIndex(({ do: what }) => everyEnd.some((each) => each === what))
      commands.forEach((command, at) => {
        if (command.do === 'flush' && at < end) same(rests[at]?.open, 0)
      })
      if (commands[end]?.do !== 'teardown') {
        same([rests.at(-1)?.open, abandoned], [0, []])
        return
      }
      const open = rests[end - 1]?.open ?? 0
      const handedBack = abandoned.map((items) => items.length)
      same(handedBack, open === 0 ? [] : [open])
      const isQuiet = !events.some(({ during, kind }) => during >= end && kind !== 'abandoned')
      holds(isQuiet, 'something went out')
    },
  ),
  rule(
    'B8 it ends once, as its source ended, and nothing comes after',
    { within: true },
    (trace, { commands }) => {
      const kinds = trace.events.map((event) => event.kind)
      const ends = kinds.filter((kind) => kind === 'complete' || kind === 'error')
      holds(ends.length <= 1, 'it ended twice')
      if (ends.length === 1) same(kinds.at(-1), ends[0])
      if (commands.some((command) => command.do === 'within')) return
      const end = commands.find(({ do: what }) => everyEnd.some((each) => each === what))
      same(ends, end?.do === 'teardown' ? [] : [end?.do])
    },
  ),
  rule(
    'B9 one timer at most, none while nothing waits, none after the end',
    { within: true },
    (trace, { settings: { maxDelay, maxCount } }) => {
      for (const { timers, open, ended } of trace.rests) {
        const most = ended || open === 0 || maxDelay === Infinity || maxCount === 1 ? 0 : 1
        holds(timers <= most, `${String(timers)} timers while ${String(open)} items wait`)
      }
    },
  ),
  rule('B10 a batch closes for one cause, and no sooner', {}, (trace, asked) => {
    const items = accepted(trace, asked.settings)
    let before = 0
    let taken = 0
    for (const batch of batchesOf(trace)) {
      taken += batch.items.length
      holds(mayClose(batch, before, items[taken], asked), `closed by ${batch.closedBy} with no right to`)
      before = batch.at
    }
  }),
  rule(
    'B11 the same commands give the same, whatever the wall clock does',
    { within: true },
    (trace, { settings, commands }, replay) => {
      const steady = commands.map((each) => (each.do === 'wall' ? ({ do: 'advance', ms: 0 } as const) : each))
      same(replay({ settings, commands: steady }), trace)
    },
  ),
  rule('B12 what is offered within an emission lands behind it', { within: true }, (trace) => {
    const isNested = trace.events.some((event) => event.kind === 'nested')
    holds(!isNested, 'an emission came within another')
    for (const { items, offered } of batchesOf(trace))
      for (const { n } of items) holds(n < offered, 'an item left before it was offered')
  }),
]

export const batchLaws = (make: BatchUnderTest, fixed: Partial<Settings> = {}): ReadonlyArray<PlainLaw> =>
  laws.map(({ id, options, check }) =>
    law(
      id,
      fc.property(world({ ...options, fixed: { ...options.fixed, ...fixed } }), (asked) =>
        check(play(make, asked), asked, (other) => play(make, other)),
      ),
    ),
  )

export type ItemBatchUnderTest = <A>(
  options: ItemBatchOptions<A>,
) => <L>(source: ObservableEither<L, A>) => ObservableEither<L | Refusal | Threw, ItemBatch<A>>

/** What has no frame and no commas. */
const bare = { frame: { prefix: '', suffix: '' }, comma: 0 } as const

/** A batch of any items, played with payloads as items: the laws are the same. */
const asItems =
  (make: ItemBatchUnderTest): BatchUnderTest =>
  ({ frame: _, ...options } = {}) =>
  <L, A>(source: ObservableEither<L, Payload<A>>) =>
    source.pipe(
      make<Payload<A>>({ ...options, sizeOf: ({ byteLength }) => byteLength }),
      map((each): Either<L | TooLarge, BatchPayload<A>> => {
        if (each._tag === 'Left') {
          const refusal = each.left as L | TooLarge
          const isLarge = typeof refusal === 'object' && refusal !== null && '_tag' in refusal
          return left(isLarge ? { ...refusal, id: (refusal.input as Payload<A>).id } : refusal)
        }
        const { items: payloads, ...rest } = each.right
        const items = payloads.flatMap((payload) => payload.items)
        const text = payloads.map((payload) => payload.text).join('')
        // One member stands for all of them, so that the body is what was measured.
        const whole = { id: 'whole', items: [items[0] as A] as const, text, byteLength: rest.byteLength }
        return right({ ...rest, items, members: [whole], frame: bare.frame })
      }),
    )

interface Sized {
  readonly n: number
  readonly size: number | 'throw'
}

/** `Refusal` for what has no size, `TooLarge` for what is too large, or the numbers of a batch. */
const playItems = (make: ItemBatchUnderTest, items: ReadonlyArray<Sized>): ReadonlyArray<unknown> => {
  const told: unknown[] = []
  const sizeOf = ({ size }: Sized): number => {
    if (size === 'throw') throw new Error('planted')
    return size
  }
  from(items)
    .pipe(lift(), make({ sizeOf, maxCount: 3, maxBytes: 20, clock: virtualClock() }))
    .subscribe({
      next: (each) => {
        if (each._tag === 'Right') told.push(each.right.items.map(({ n }) => n))
        else told.push([each.left._tag, 'input' in each.left && (each.left.input as Sized).n])
      },
      error: (error: unknown) => told.push(error),
    })
  return told
}

const hasSize = ({ size }: Sized): boolean => typeof size === 'number' && Number.isFinite(size) && size >= 0

export const itemBatchLaws = (make: ItemBatchUnderTest): ReadonlyArray<PlainLaw> => [
  ...batchLaws(asItems(make), bare),
  law(
    'B16 a wrong answer of sizeOf costs its item only',
    fc.property(
      fc.array(
        fc.oneof(
          { weight: 3, arbitrary: fc.integer({ min: 0, max: 22 }) },
          fc.constantFrom<Sized['size']>(NaN, -1, Infinity, 'throw', undefined as never, '5' as never),
        ),
        { maxLength: 20 },
      ),
      (sizes) => {
        const items = sizes.map((size, n) => ({ n, size }))
        const told = playItems(make, items)
        const bad = items.filter((item) => !hasSize(item))
        const isBad = (each: unknown): boolean =>
          Array.isArray(each) && (each[0] === 'Invalid' || each[0] === 'Threw')
        same(
          told.filter(isBad),
          bad.map(({ n, size }) => [size === 'throw' ? 'Threw' : 'Invalid', n]),
        )
        const others = told.filter((each) => !isBad(each))
        same(others, playItems(make, items.filter(hasSize)))
      },
    ),
  ),
]

describe('batch keeps the law', () => it.each(batchLaws(batch))('$id', ({ check }) => check()))
describe('with sizeOf too', () => it.each(itemBatchLaws(batch))('$id', ({ check }) => check()))
