import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { Subject } from 'rxjs'
import type { ObservableEither } from '../../core/outcome.ts'
import type { TooLarge } from '../../core/refusal.ts'
import { frameBytes } from '../../event/payload.ts'
import type { BatchPayload, EventPayload, FixedFrame, Payload } from '../../event/payload.ts'
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
  /** `wall` steps the wall clock, which must change nothing. */
  | { readonly do: 'advance' | 'wall'; readonly ms: number }
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

const commandsOf = (
  { room, maxDelay }: Settings,
  hasNested: boolean,
): fc.Arbitrary<ReadonlyArray<Command>> => {
  const delay = maxDelay ?? 100
  const offer = sizes(room).map((size): Command => ({ do: 'offer', size }))
  const advance = fc
    .constantFrom(0, Math.round(delay * 0.3), delay >> 1, delay - 1, delay, delay + 1)
    .map((ms): Command => ({ do: 'advance', ms }))
  const wall = fc.constantFrom(-18_000_000, 18_000_000).map((ms): Command => ({ do: 'wall', ms }))
  const flush = fc.constant<Command>({ do: 'flush' })
  const end = fc.constantFrom<Command>({ do: 'complete' }, { do: 'error' }, { do: 'unsubscribe' })
  const within = fc
    .array(fc.oneof({ weight: 6, arbitrary: offer }, flush, end), { minLength: 1, maxLength: 4 })
    .map((commands): Command => ({ do: 'within', commands }))
  const command = fc.oneof(
    { weight: 20, arbitrary: offer },
    { weight: 6, arbitrary: advance },
    fc.constant<Command>({ do: 'left' }),
    flush,
    wall,
    { weight: hasNested ? 3 : 0, arbitrary: within },
  )
  // What comes after the end must change nothing.
  return fc
    .tuple(fc.array(command, { maxLength: 60, size: 'max' }), end, fc.array(command, { maxLength: 4 }))
    .map(([before, last, after]) => [...before, last, ...after])
}

/** Worlds in which commands come one after another, or also from within emissions. */
export const worlds = (hasNested: boolean): fc.Arbitrary<BatchWorld> =>
  settings.chain((each) => commandsOf(each, hasNested).map((commands) => ({ settings: each, commands })))

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

export type Batched = BatchPayload<Item> & Pick<Emitted, 'at' | 'during'>

export interface Trace {
  readonly emitted: Emitted[]
  readonly batches: Batched[]
  /** The command that ended it; at first empty. */
  end: string
  /** Whether something came out while something else was coming out. */
  isNested: boolean
  /** Offered items that fit into a batch. */
  readonly taken: Item[]
  /** What should come out at once: lefts, and items that fit into no batch. */
  readonly passing: Emitted[]
  readonly handedBack: Array<ReadonlyArray<Item>>
  /** After each command: the time, the timers that wait, and the items that were taken in and have not come out. */
  readonly rests: Array<{
    readonly at: number
    readonly timers: number
    readonly open: ReadonlyArray<Item>
    readonly hasEnded: boolean
  }>
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
    ...{ emitted: [], batches: [], end: '', isNested: false },
    ...{ taken: [], passing: [], handedBack: [], rests: [] },
  }
  let within: ReadonlyArray<Command> = []
  let during = 0
  let depth = 0
  let gone = 0
  let offered = 0
  let ids = 0

  const now = () => ({ at: clock.monotonic(), during })

  const offer = (size: number): void => {
    const item: Item = { n: offered++, size, at: clock.monotonic() }
    const value = [`m${String(item.n)}`, bytesOf([item], settings), maxBytesOf(settings)]
    if (size <= settings.room) trace.taken.push(item)
    else trace.passing.push({ kind: 'refused', value, ...now() })
    source.next(right(payloadOf(item)))
  }

  const run = (command: Command): void => {
    if (trace.end !== '' && (isEnd(command) || command.do === 'offer' || command.do === 'left')) return
    if (isEnd(command)) trace.end = command.do
    switch (command.do) {
      case 'offer':
        return offer(command.size)
      case 'left':
        trace.passing.push({ kind: 'left', value: 'ended', ...now() })
        return source.next(left('ended'))
      case 'advance':
        return clock.tick(command.ms)
      case 'wall':
        return clock.wall(command.ms)
      case 'within':
        within = command.commands
        return
      case 'flush':
        return flush.next()
      case 'complete':
        return source.complete()
      case 'error':
        return source.error(new Error('planted'))
      case 'unsubscribe':
        return subscription.unsubscribe()
    }
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
    trace.batches.push({ ...payload, ...now() })
    gone += payload.items.length
    emit('batch', [payload.closedBy, ...payload.items.map(({ n }) => n)])
  }

  const { maxCount, maxDelay, delayFrom, frame } = settings
  const options: BatchOptions = {
    ...{ maxCount: maxCount ?? Infinity, maxBytes: maxBytesOf(settings), maxDelay: maxDelay ?? Infinity },
    ...{ delayFrom, frame, flush, clock, newId: () => `b${String(ids++)}` },
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
    const open = trace.taken.slice(gone)
    trace.rests.push({ at: clock.monotonic(), timers: clock.pending(), open, hasEnded: trace.end !== '' })
    during++
  }
  return trace
}
