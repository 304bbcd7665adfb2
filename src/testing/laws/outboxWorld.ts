/**
 * The inputs of the laws of an outbox: items, bounds and commands, as plain data.
 *
 * @module
 */
import * as fc from 'fast-check'
import { isPromiseLike, type Awaitable } from '../../core/awaitable.ts'
import { inTime, systemClock } from '../../core/clock.ts'
import type { Bounds } from '../../core/refusal.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { ScriptedDisk } from '../disk.ts'
import type { VirtualClock } from '../virtualClock.ts'
import { commands } from './texts.ts'
import type { Drawn } from './law.ts'

/** The items in the laws of an outbox. `byteLength` is the size; it says nothing about `text`. */
export interface OutboxItem {
  /** Counts the items of a run from 0. */
  readonly n: number
  readonly byteLength: number
  readonly text: string
}

/** The bounds that the outbox of a run must keep: as the options of `memoryOutbox`. */
export interface OutboxBounds extends Bounds {
  readonly keepDead: number
}

/** Where an outbox is opened. */
export interface OutboxWorld {
  readonly clock: VirtualClock
  readonly bounds: OutboxBounds
  /** For an outbox on files: a new one in each run, which a crash stops in the middle of a write. */
  readonly disk: ScriptedDisk
  /** Names its storage: new in each run, the same on reopening; a durable outbox then has its items. */
  readonly place: string
}

/** Makes the outbox of a world. It is called again with the same world after a close or a crash. */
export type MakeOutbox = (world: OutboxWorld) => Awaitable<Outbox<OutboxItem>>

/** The hooks of an outbox on real storage. Each receives the place. */
export interface OutboxLawOptions {
  /** Simulates a kill of the process. Default: nothing happens, and it is opened again without a `close`. */
  readonly crash?: (place: string) => Awaitable<void>
  /** The run has ended, and its outboxes are closed: delete the storage. */
  readonly leave?: (place: string) => Awaitable<void>
  /**
   * For a server that pushes: called after each command, with the milliseconds that it took in the world.
   * Resolve when the server has had as much, at your scale. Default: no wait.
   */
  readonly settle?: (ms: number) => Promise<void>
  /**
   * `order: 'none'`: leases come in any order and in parts, `nextDue` may not know the next, and `order` and
   * `wakes` are no laws. `exactBytes: false`: bytes are not looked at. Default: `due`, exact.
   */
  readonly capabilities?: { readonly order?: 'due' | 'none'; readonly exactBytes?: boolean }
}

const item = fc.record({
  byteLength: fc.constantFrom(0, 1, 7, 20),
  text: fc.constantFrom('', 'a', '{"a" : 1}', ' é\u2028😀\n', '\u0000', 'long '.repeat(900)),
})
const items = fc.array(item, { maxLength: 4 })
/** Places among the leased entries. */
const which = fc.array(fc.nat(7), { minLength: 1, maxLength: 4 })
/** The items whose number it divides. */
const divisor = fc.constantFrom(1, 2, 3)

const retriesOnly = fc.constantFrom(false, false, false, true)
const twice = fc.boolean()
const how = fc.constantFrom('Delivered', 'Rejected', 'Expired', 'Dropped')
const keep = fc.constantFrom(null, 0, 1, 10, 100, 100_000)

export const outboxRun = fc.record({
  bounds: fc.record({
    maxCount: fc.constantFrom(5, 1_000),
    maxBytes: fc.constantFrom(50, 1_000_000),
    keepDead: fc.constantFrom(1, 2, 1_000, 0),
  }),
  commands: commands({
    // `atOnce`: a call for each item, before the first is answered.
    enqueue: { weight: 20, arbitrary: fc.record({ items, atOnce: fc.boolean() }) },
    lease: { weight: 24, arbitrary: fc.record({ count: fc.nat(6), retries: fc.nat(4), retriesOnly }) },
    // Without a delay they are put back as they were leased, else with one more attempt.
    nack: { weight: 14, arbitrary: fc.record({ which, delay: fc.constantFrom(1, 10, 0), twice }) },
    ack: { weight: 14, arbitrary: fc.record({ which, how, twice }) },
    // They fail once more, and then for good.
    bury: { weight: 6, arbitrary: fc.record({ which }) },
    pass: { weight: 12, arbitrary: fc.record({ ms: fc.constantFrom(1, 9, 40) }) },
    // The next page of dead letters.
    list: { weight: 8, arbitrary: fc.record({ limit: fc.integer({ min: 1, max: 3 }) }) },
    redrive: { weight: 6, arbitrary: fc.record({ divisor }) },
    purge: { weight: 4, arbitrary: fc.record({ divisor }) },
    addDeadLetter: { weight: 6, arbitrary: fc.record({ item }) },
    takeRemaining: fc.constant({}),
    // It crashes while the items are enqueued, after this time. `keep`: as that of the scripted disk.
    crash: { weight: 2, arbitrary: fc.record({ items, after: fc.nat(4), keep }) },
    reopen: fc.constant({}),
  }),
})
export type OutboxRun = Drawn<typeof outboxRun>
export type OutboxCommand = OutboxRun['commands'][number]

/** The answer of a store. Time moves while timers wait; without one, real input or output has 10 s. */
export const settled = async <T>(clock: VirtualClock, asked: Awaitable<T>): Promise<T> => {
  if (!isPromiseLike(asked)) return asked
  const answer = Promise.resolve(asked)
  return clock.run(answer).catch(() => inTime(systemClock, 10_000, () => answer))
}
