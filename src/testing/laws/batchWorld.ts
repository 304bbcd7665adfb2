import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { Subject } from 'rxjs'
import type { ObservableEither } from '../../core/outcome.ts'
import type { TooLarge } from '../../core/refusal.ts'
import { bodyOf, frameBytes } from '../../event/payload.ts'
import type { BatchPayload, ClosedBy, EventPayload, FixedFrame, Payload } from '../../event/payload.ts'
import type { BatchOptions } from '../../operators/batch.ts'
import { virtualClock } from '../virtualClock.ts'
import type { Run } from './law.ts'

/** An operator that gathers payloads into batches: `batch` of headrace, or one of your own with the same options. */
export type Batcher = (
  options?: BatchOptions,
) => <L, A>(source: ObservableEither<L, Payload<A>>) => ObservableEither<L | TooLarge, BatchPayload<A>>

/** The options of one batcher. `null` stands for Infinity, which JSON does not have. */
interface Settings {
  readonly maxCount: number | null
  /** Bytes for members and commas, without the frame. */
  readonly room: number
  readonly maxDelay: number | null
  readonly delayFrom: 'firstItem' | 'lastFlush'
  readonly frame: FixedFrame
}

export type Command =
  | { readonly do: 'offer'; readonly size: number }
  | { readonly do: 'advance'; readonly ms: number }
  /** Steps the wall clock, which must change nothing. */
  | { readonly do: 'wall'; readonly ms: number }
  | { readonly do: 'left' | 'flush' | 'complete' | 'error' | 'unsubscribe' }
  /** Runs these from within the next emission. */
  | { readonly do: 'within'; readonly commands: ReadonlyArray<Command> }

export interface BatchWorld {
  readonly settings: Settings
  readonly commands: ReadonlyArray<Command>
}

export const isEnd = ({ do: what }: Command): boolean =>
  what === 'complete' || what === 'error' || what === 'unsubscribe'

const settings: fc.Arbitrary<Settings> = fc.record({
  maxCount: fc.oneof(fc.integer({ min: 1, max: 5 }), fc.constantFrom(1, 2, 20, null)),
  room: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constantFrom(10, 400, 100_000)),
  maxDelay: fc.oneof(fc.constantFrom(10, 100, 5_000, null), fc.integer({ min: 2, max: 50 })),
  delayFrom: fc.constantFrom('firstItem', 'lastFlush'),
  frame: fc.constantFrom(
    { prefix: '[', suffix: ']' },
    { prefix: '{"é":[', suffix: ']}' },
    { prefix: '', suffix: '' },
  ),
})

/** Sizes near the limits: nothing, next to nothing, and what just goes in or just does not. */
const sizes = (room: number): fc.Arbitrary<number> =>
  fc
    .oneof(
      { weight: 6, arbitrary: fc.constantFrom(0, 1, 1, 2) },
      { weight: 3, arbitrary: fc.constantFrom(room - 1, room, room + 1, room >> 1, (room >> 1) - 1) },
      { weight: 2, arbitrary: fc.integer({ min: 0, max: room + 2 }) },
    )
    .map((size) => Math.max(0, Math.min(size, 2_000)))

/** No time, a part of the delay, or about all of it. */
const advances = (maxDelay: number | null): fc.Arbitrary<number> => {
  const ms = maxDelay ?? 100
  const parts = [0, 0.3, 0.5].map((part) => Math.round(ms * part))
  return fc.oneof(fc.constantFrom(...parts), fc.constantFrom(ms - 1, ms, ms + 1))
}

const commandsOf = (
  { room, maxDelay }: Settings,
  isBusy: boolean,
  hasNested: boolean,
): fc.Arbitrary<ReadonlyArray<Command>> => {
  const offer = sizes(room).map((size): Command => ({ do: 'offer', size }))
  const flush = fc.constant<Command>({ do: 'flush' })
  const end = fc.constantFrom<Command>({ do: 'complete' }, { do: 'error' }, { do: 'unsubscribe' })
  const nested = fc.array(fc.oneof({ weight: 6, arbitrary: offer }, flush, end), {
    minLength: 1,
    maxLength: 4,
  })
  const command: fc.Arbitrary<Command> = fc.oneof(
    { weight: isBusy ? 40 : 12, arbitrary: offer },
    { weight: isBusy ? 1 : 6, arbitrary: advances(maxDelay).map((ms): Command => ({ do: 'advance', ms })) },
    fc.constant<Command>({ do: 'left' }),
    flush,
    fc.constantFrom<Command>({ do: 'wall', ms: -18_000_000 }, { do: 'wall', ms: 18_000_000 }),
    { weight: hasNested ? 3 : 0, arbitrary: nested.map((commands): Command => ({ do: 'within', commands })) },
  )
  const many = fc.array(command, { maxLength: isBusy ? 80 : 50, size: 'max' })
  // What comes after the end must change nothing.
  return fc
    .tuple(many, end, fc.array(command, { maxLength: 4 }))
    .map(([before, last, after]) => [...before, last, ...after])
}

export const worlds = (hasNested: boolean): fc.Arbitrary<BatchWorld> =>
  fc
    .tuple(settings, fc.boolean())
    .chain(([each, isBusy]) =>
      commandsOf(each, isBusy, hasNested).map((commands) => ({ settings: each, commands })),
    )

/** An item. Its text has `size` bytes. */
export interface Item {
  readonly n: number
  readonly size: number
  /** Elapsed milliseconds when it was offered. */
  readonly at: number
}

/** Something that came out. */
interface Emitted {
  readonly kind: 'batch' | 'refused' | 'left' | 'complete' | 'error'
  readonly value: unknown
  readonly at: number
  /** The top-level command during which it came. */
  readonly during: number
}

export interface Batched extends Pick<Emitted, 'at' | 'during'> {
  readonly id: string
  readonly items: ReadonlyArray<Item>
  readonly byteLength: number
  /** Bytes of the body, counted. */
  readonly bodyBytes: number
  readonly closedBy: ClosedBy
  /** Items offered until then: what is larger was offered within this emission or later. */
  readonly offered: number
}

interface Rest {
  readonly at: number
  /** Timers that wait. */
  readonly timers: number
  /** Items that were taken in and have not come out. */
  readonly open: ReadonlyArray<Item>
  readonly hasEnded: boolean
}

export interface Trace {
  readonly emitted: Emitted[]
  readonly batches: Batched[]
  /** The command that ended it; at first empty. */
  end: string
  /** Whether something came out while something else was coming out. */
  isNested: boolean
  /** Offered items that fit into a batch. */
  readonly taken: Item[]
  /** Offered items that fit into none. */
  readonly tooLarge: Item[]
  readonly lefts: Emitted[]
  readonly handedBack: Array<ReadonlyArray<Item>>
  /** After each command. */
  readonly rests: Rest[]
}

export const maxBytesOf = ({ room, frame }: Settings): number => room + frameBytes(frame)

/** Bytes of a body with these members, by the rules alone. */
export const bytesOf = (items: ReadonlyArray<Item>, { frame }: Settings): number =>
  frameBytes(frame) + items.reduce((sum, item) => sum + item.size + 1, -1)

/** Every other one has characters of two bytes. */
const payloadOf = (item: Item): EventPayload<Item> => ({
  id: `m${String(item.n)}`,
  items: [item],
  text: item.n % 2 === 0 ? 'x'.repeat(item.size) : 'é'.repeat(item.size >> 1) + 'x'.repeat(item.size & 1),
  byteLength: item.size,
})

export const play = (make: Batcher, { settings, commands }: BatchWorld, log: Run['log']): Trace => {
  const clock = virtualClock({ start: 1_000_000 })
  const source = new Subject<Either<string, Payload<Item>>>()
  const flush = new Subject<void>()
  const trace: Trace = {
    ...{ emitted: [], batches: [], end: '', isNested: false, taken: [], tooLarge: [] },
    ...{ lefts: [], handedBack: [], rests: [] },
  }
  let within: ReadonlyArray<Command> = []
  let during = 0
  let depth = 0
  let gone = 0
  let ids = 0

  const now = () => ({ at: clock.monotonic(), during })
  const offeredItems = (): number => trace.taken.length + trace.tooLarge.length

  const run = (command: Command): void => {
    if (trace.end !== '' && (isEnd(command) || command.do === 'offer' || command.do === 'left')) return
    if (isEnd(command)) trace.end = command.do
    if (command.do === 'offer') {
      const item: Item = { n: offeredItems(), size: command.size, at: clock.monotonic() }
      const fits = item.size <= settings.room
      ;(fits ? trace.taken : trace.tooLarge).push(item)
      source.next(right(payloadOf(item)))
    } else if (command.do === 'left') {
      const value = `left ${String(trace.lefts.length)}`
      trace.lefts.push({ kind: 'left', value, ...now() })
      source.next(left(value))
    } else if (command.do === 'advance') clock.tick(command.ms)
    else if (command.do === 'wall') clock.wall(command.ms)
    else if (command.do === 'flush') flush.next()
    else if (command.do === 'within') within = command.commands
    else if (command.do === 'complete') source.complete()
    else if (command.do === 'error') source.error(new Error('planted'))
    else subscription.unsubscribe()
  }

  const emit = (kind: Emitted['kind'], value?: unknown): void => {
    log(`  ${String(clock.monotonic())} ms: ${kind} ${value === undefined ? '' : JSON.stringify(value)}`)
    trace.isNested ||= depth > 0
    trace.emitted.push({ kind, value, ...now() })
    const inner = within
    within = []
    depth++
    for (const command of inner) run(command)
    depth--
  }

  const emitBatch = (payload: BatchPayload<Item>): void => {
    const { id, items, byteLength, closedBy } = payload
    const bodyBytes = Buffer.byteLength(bodyOf(payload, 0))
    trace.batches.push({ id, items, byteLength, bodyBytes, closedBy, offered: offeredItems(), ...now() })
    gone += items.length
    emit('batch', [closedBy, ...items.map(({ n }) => n)])
  }

  const options: BatchOptions = {
    maxCount: settings.maxCount ?? Infinity,
    maxBytes: maxBytesOf(settings),
    maxDelay: settings.maxDelay ?? Infinity,
    delayFrom: settings.delayFrom,
    frame: settings.frame,
    flush,
    clock,
    newId: () => `b${String(ids++)}`,
    // Only items go in here.
    abandoned: (payloads) => void trace.handedBack.push(payloads.flatMap(({ items }) => items as Item[])),
  }
  const subscription = source.pipe(make(options)).subscribe({
    next: (value) => {
      if (value._tag === 'Right') emitBatch(value.right)
      else if (typeof value.left === 'string') emit('left', value.left)
      else emit('refused', [value.left.id, value.left.size, value.left.limit])
    },
    error: () => emit('error'),
    complete: () => emit('complete'),
  })
  for (const command of commands) {
    log(JSON.stringify(command))
    run(command)
    trace.rests.push({
      ...{ at: clock.monotonic(), timers: clock.pending() },
      ...{ open: trace.taken.slice(gone), hasEnded: trace.end !== '' },
    })
    during++
  }
  return trace
}
