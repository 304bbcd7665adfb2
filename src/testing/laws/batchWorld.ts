import * as fc from 'fast-check'
import { Subject } from 'rxjs'
import { left, right, type Either } from '../../core/either.ts'
import type { ObservableEither } from '../../core/outcome.ts'
import type { Refusal, Threw } from '../../core/refusal.ts'
import { frameBytes, type BatchPayload, type Frame, type Payload } from '../../event/payload.ts'
import type { KeyedBatchOptions } from '../../operators/batch.ts'
import { virtualClock } from '../virtualClock.ts'
import type { Run } from './law.ts'

/** An operator that gathers payloads into batches: `batch`, or one of your own with the same options. */
export type Batcher = <A>(
  options: KeyedBatchOptions<Frame, A>,
) => <L>(source: ObservableEither<L, Payload<A>>) => ObservableEither<L | Refusal | Threw, BatchPayload<A>>

type Act =
  /** An item whose text has `size` bytes; null for a left. Its key is taken modulo the keys of the world. */
  | { readonly do: 'offer'; readonly size: number | null; readonly key: number }
  | { readonly do: 'advance'; readonly ms: number }
  | { readonly do: 'flush' | 'complete' | 'error' | 'unsubscribe' }
  /** Runs these from within the next emission of a batch. */
  | { readonly do: 'within'; readonly commands: ReadonlyArray<Act> }

const frame = { prefix: '{"é":[', suffix: ']}' }
const size = fc.oneof({ weight: 9, arbitrary: fc.nat(2) }, fc.nat(14), fc.constant(null))
const offer = fc.tuple(size, fc.nat(5)).map((each): Act => ({ do: 'offer', size: each[0], key: each[1] }))
const advance = fc.nat(21).map((ms): Act => ({ do: 'advance', ms }))
const flush = fc.constant<Act>({ do: 'flush' })
const end = fc.constantFrom<Act>({ do: 'complete' }, { do: 'error' }, { do: 'unsubscribe' })
const nested = fc.array(fc.oneof({ weight: 6, arbitrary: offer }, flush, end), { minLength: 1, maxLength: 4 })
const nestedCommand = nested.map((commands): Act => ({ do: 'within', commands }))
const offers = { weight: 20, arbitrary: offer }
const command = fc.oneof(offers, { weight: 5, arbitrary: advance }, flush, nestedCommand)

/** Options of a batcher, and commands. `null` stands for Infinity, which JSON does not have. */
export const worlds = fc.record({
  maxCount: fc.option(fc.integer({ min: 1, max: 5 })),
  maxBytes: fc.integer({ min: 1, max: 12 }).map((room) => frameBytes(frame) + room),
  maxDelay: fc.option(fc.integer({ min: 2, max: 20 })),
  delayFrom: fc.constantFrom<'firstItem' | 'lastFlush'>('firstItem', 'lastFlush'),
  // With one key, there is no `by`.
  keys: fc.constantFrom(1, 1, 3, 6),
  maxKeys: fc.integer({ min: 1, max: 4 }),
  // Commands after the end must change nothing.
  commands: fc
    .tuple(fc.array(command, { maxLength: 60, size: 'max' }), end, fc.array(command, { maxLength: 4 }))
    .map(([before, last, after]) => [...before, last, ...after]),
})

export type BatchWorld = typeof worlds extends fc.Arbitrary<infer World> ? World : never

/** An item. `at` is the time of the monotonic clock when it was offered. */
export type Item = Readonly<Record<'n' | 'size' | 'at' | 'key', number>>

type In = 'taken' | 'passing' | 'flush' | 'complete' | 'error' | 'unsubscribe'

/**
 * An event of a run. An offer is `taken` if it fits into a batch. Else it is `passing`, and should come out
 * as `passed` with the same text. `rest` comes after each command with all its effects.
 */
export interface Seen {
  readonly what: In | 'batch' | 'passed' | 'ended' | 'handed back' | 'rest'
  readonly text: string
  readonly at: number
  /** Whether it happened within the emission of a batch. */
  readonly isNested: boolean
  /** All items that were taken and have not come out. */
  readonly open: ReadonlyArray<Item>
  readonly timers: number
  /** The items that were taken, came out or were handed back. */
  readonly items: ReadonlyArray<Item>
  readonly batch?: BatchPayload<Item>
}

export type Trace = ReadonlyArray<Seen>

/** Bytes of a body with members of these sizes, by the rules alone. */
export const bytesIn = (members: ReadonlyArray<Pick<Item, 'size'>>): number =>
  frameBytes(frame) + members.reduce((sum, { size }) => sum + size + 1, -1)

/** Plays a world, in which the wall clock steps before each `advance`, and answers all that happened. */
export const play = (make: Batcher, world: BatchWorld, wallStep: number, log?: Run['log']): Trace => {
  const { maxCount, maxBytes, maxDelay, delayFrom, keys, maxKeys, commands } = world
  const clock = virtualClock()
  const source = new Subject<Either<string, Payload<Item>>>()
  const flushes = new Subject<void>()
  const seen: Seen[] = []
  let open: ReadonlyArray<Item> = []
  let within: ReadonlyArray<Act> = []
  let isNested = false
  let hasEnded = false
  let ids = 0

  const note = (what: Seen['what'], text = '', items: Seen['items'] = [], batch?: Seen['batch']): void => {
    const at = clock.monotonic()
    open = what === 'taken' ? [...open, ...items] : open.filter((item) => !items.includes(item))
    log?.(`${String(at)} ms: ${what} ${text} ${items.map(({ n }) => `m${String(n)}`).join(' ')}`)
    seen.push({ what, text, at, isNested, open, timers: clock.pending(), items, ...(batch && { batch }) })
  }

  const offer = (n: number, size: number | null, key: number): void => {
    if (size === null) {
      note('passing', 'left')
      return source.next(left('left'))
    }
    const item: Item = { n, size, at: clock.monotonic(), key: key % keys }
    const bytes = bytesIn([item])
    if (bytes <= maxBytes) note('taken', '', [item])
    else note('passing', `refused m${[n, bytes, maxBytes].join(' ')}`)
    // Every other text has characters of two bytes.
    const text = n % 2 === 0 ? 'x'.repeat(size) : 'é'.repeat(size >> 1) + 'x'.repeat(size & 1)
    source.next(right({ id: `m${String(n)}`, items: [item], text, byteLength: size }))
  }

  const act = {
    flush: () => flushes.next(),
    complete: () => source.complete(),
    error: () => source.error(new Error('planted')),
    unsubscribe: () => subscription.unsubscribe(),
  }

  const run = (command: Act): void => {
    if (command.do === 'within') within = command.commands
    else if (command.do === 'advance') {
      clock.wall(wallStep)
      clock.tick(command.ms)
    } else if (!hasEnded || command.do === 'flush') {
      if (command.do === 'offer') return offer(ids++, command.size, command.key)
      hasEnded ||= command.do !== 'flush'
      note(command.do)
      act[command.do]()
    }
  }

  const emitBatch = (batch: BatchPayload<Item>): void => {
    note('batch', `by ${batch.closedBy}:`, batch.items, batch)
    const inner = within
    within = []
    isNested = true
    inner.forEach(run)
    isNested = false
  }

  const options: KeyedBatchOptions<Frame, Item> = {
    maxCount: maxCount ?? Infinity,
    maxBytes,
    maxDelay: maxDelay ?? Infinity,
    delayFrom,
    frame,
    flush: flushes,
    clock,
    newId: () => `b${String(ids++)}`,
    maxKeys,
    ...(keys > 1 && { by: (item: Item) => `key ${String(item.key)}` }),
    abandoned: (all) => {
      // Only items go in here.
      const back = all.flatMap(({ items }) => items as Item[])
      note('handed back', '', back)
    },
  }
  const subscription = source.pipe(make(options)).subscribe({
    next: (value) => {
      if (value._tag === 'Right') emitBatch(value.right)
      else if (typeof value.left === 'string') note('passed', value.left)
      else if (value.left._tag !== 'TooLarge') note('passed', value.left._tag)
      else note('passed', `refused ${[value.left.id, value.left.size, value.left.limit].join(' ')}`)
    },
    error: () => note('ended', 'error'),
    complete: () => note('ended', 'complete'),
  })
  for (const command of commands) {
    run(command)
    note('rest')
  }
  return seen
}
