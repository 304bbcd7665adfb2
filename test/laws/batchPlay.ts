/** Plays the commands of a world against an implementation of batch, and writes down what came of it. */
import { left, right } from 'fp-ts/lib/Either.js'
import type { Either } from 'fp-ts/lib/Either.js'
import { Subject } from 'rxjs'
import { bodyOf } from '../../src/event/payload.ts'
import type { BatchPayload, ClosedBy, EventPayload, Payload } from '../../src/event/payload.ts'
import type { Refusal, TooLarge } from '../../src/core/refusal.ts'
import type { BatchOptions, batch } from '../../src/operators/batch.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { fits, frameOf } from './batchWorld.ts'
import type { Command, Settings, World } from './batchWorld.ts'

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

/** Every other one has letters of two bytes. */
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
    error: () => {
      onEvent({ kind: 'error', ...told() })
    },
    complete: () => {
      onEvent({ kind: 'complete', ...told() })
    },
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
