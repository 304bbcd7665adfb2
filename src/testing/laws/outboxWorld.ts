/**
 * What the laws of an outbox do with it: items, bounds and commands, as plain data.
 *
 * @module
 */
import * as fc from 'fast-check'
import { inspect, isDeepStrictEqual } from 'node:util'
import { isPromiseLike } from '../../core/awaitable.ts'
import type { Awaitable } from '../../core/awaitable.ts'
import { systemClock } from '../../core/clock.ts'
import { allFailed, expired, refused, retryable } from '../../core/failure.ts'
import { delivered, dropped, expired as expiredOutcome, rejected } from '../../core/outcome.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { EndedDeadLetter, Entry, Outbox } from '../../outbox/outbox.ts'
import type { ScriptedDisk } from '../disk.ts'
import type { VirtualClock } from '../virtualClock.ts'

/** What the laws of an outbox enqueue. `byteLength` is its size; it says nothing about `text`. */
export interface OutboxItem {
  /** Counts the items of a run from 0. */
  readonly n: number
  readonly byteLength: number
  readonly text: string
}

/** The bounds that the outbox of a run must keep: as the options of `memoryOutbox`. */
export interface OutboxBounds {
  readonly maxCount: number
  readonly maxBytes: number
  readonly keepDead: number
}

/** Where an outbox is opened. */
export interface OutboxWorld {
  readonly clock: VirtualClock
  readonly bounds: OutboxBounds
  /** For an outbox on files: a new one in each run, which a crash stops in the middle of a write. */
  readonly disk: ScriptedDisk
  /** Names its storage: new in each run, the same when it is opened again. A durable outbox then holds what it held. */
  readonly place: string
}

/** Makes the outbox of a world. It is called again with the same world after a close or a crash. */
export type MakeOutbox = (world: OutboxWorld) => Awaitable<Outbox<OutboxItem>>

/** What an outbox on real storage needs. Each is told the place. */
export interface OutboxLawOptions {
  /** What a kill of the process leaves. Default: nothing happens, and it is opened again without a `close`. */
  readonly crash?: (place: string) => Awaitable<void>
  /** The run has ended, and its outboxes are closed: delete the storage. */
  readonly leave?: (place: string) => Awaitable<void>
}

const item = fc.record({
  byteLength: fc.constantFrom(0, 1, 7, 20),
  text: fc.constantFrom('', 'a', '{"a" : 1}', ' é\u2028😀\n', '\u0000', 'long '.repeat(900)),
})
const which = fc.array(fc.nat(7), { minLength: 1, maxLength: 4 })
/** The items whose number leaves `rest` when divided by `by`. */
const share = fc.constantFrom({ rest: 0, by: 1 }, { rest: 0, by: 2 }, { rest: 1, by: 3 }, { rest: 5, by: 5 })
/** A command with its weight. */
const say = <D extends string, F>(
  weight: number,
  name: D,
  fields: { [K in keyof F]: fc.Arbitrary<F[K]> },
) => ({
  weight,
  arbitrary: fc.record<F>(fields).map((given) => ({ ...given, do: name })),
})
const command = fc.oneof(
  say(24, 'enqueue', { items: fc.array(item, { maxLength: 4 }) }),
  say(24, 'lease', {
    count: fc.integer({ min: 0, max: 6 }),
    retries: fc.nat(4),
    retriesOnly: fc.constantFrom(false, false, false, true),
  }),
  say(16, 'nack', {
    which,
    delay: fc.constantFrom(0, 1, 1, 10, 50),
    isTried: fc.constantFrom(true, true, true, false),
  }),
  say(16, 'ack', { which, how: fc.constantFrom('Delivered', 'Rejected', 'Expired', 'Dropped') }),
  say(3, 'addDeadLetter', { item }),
  say(8, 'pass', { ms: fc.constantFrom(0, 1, 9, 40) }),
  say(3, 'redrive', { share }),
  say(2, 'purge', { share }),
  say(2, 'list', { limit: fc.integer({ min: 1, max: 3 }) }),
  say(1, 'takeRemaining', {}),
  // It crashes while the items are enqueued, after that number of timers. `keep`: as that of the scripted disk.
  say(3, 'crash', {
    items: fc.array(item, { maxLength: 3 }),
    timers: fc.nat(4),
    keep: fc.constantFrom(null, 0, 1, 10, 100, 100_000),
  }),
  say(1, 'reopen', {}),
)
export type OutboxCommand = typeof command extends fc.Arbitrary<infer C> ? C : never
type How = Extract<OutboxCommand, { do: 'ack' }>['how']

/** A run: bounds, and what is done. */
export const outboxRun = fc.record({
  bounds: fc.record({
    maxCount: fc.constantFrom(3, 10, 1_000),
    maxBytes: fc.constantFrom(30, 100, 1_000_000),
    keepDead: fc.constantFrom(0, 2, 1_000),
  }),
  commands: fc.array(command, { minLength: 1, maxLength: 60, size: 'max' }),
})
export type OutboxRun = typeof outboxRun extends fc.Arbitrary<infer I> ? I : never

/** How an entry ends. */
export const outcomeOf = (
  { item: given, firstAttemptAt = 0, progress }: Entry<OutboxItem>,
  how: How,
): Outcome<OutboxItem> => {
  const attempts = (progress?.attempts ?? 0) + 1
  const gone = { sink: 'a', failure: refused('status', { status: 410 }) }
  return {
    Delivered: delivered(given, attempts, { sink: 'a', status: 200 }),
    Rejected: rejected(given, attempts, allFailed([gone])),
    Expired: expiredOutcome(given, expired(attempts, firstAttemptAt, retryable('timeout'))),
    Dropped: dropped(given, attempts, 'dropOldest'),
  }[how]
}

/** An entry in the model. A redriven one has no id until it is leased. */
export interface Waiting {
  id: string | undefined
  readonly item: OutboxItem
  entry: Pick<Entry<OutboxItem>, 'firstAttemptAt' | 'progress'>
  /** Undefined: never put back. */
  due: number | undefined
  isLeased: boolean
}
/** A dead letter in the model: it came between two moments. */
export interface Dead extends Omit<EndedDeadLetter<OutboxItem>, 'id' | 'at'> {
  readonly from: number
  readonly to: number
}
/** Of an entry that was never put back. */
export const NEW = { firstAttemptAt: undefined, progress: undefined }
/** Whether it waits as a new one. */
export const isNew = ({ due, isLeased }: Waiting): boolean => due === undefined && !isLeased
/** Whether it waits as a retry. */
export const isRetry = ({ due, isLeased }: Waiting): boolean => due !== undefined && !isLeased

/** The laws by name, and what some run of each must reach. */
export const statements = {
  answers: { statement: 'Each call is answered, and none throws or rejects.' },
  once: { statement: 'A leased entry is not leased again, and no id is given twice.' },
  order: {
    statement:
      'Retries come when they are due, by due time and within the limit; then new entries in their order, but not with retriesOnly.',
    situations: ['leases a retry'],
  },
  remembers: {
    statement: 'An entry comes back as it was put back, its item as it was given, and nothing else comes.',
    situations: ['leases a retry'],
  },
  bounds: {
    statement: 'An item is refused if it would break a bound, and only then, and the answer names the bound.',
    situations: ['refuses by count', 'refuses by bytes'],
  },
  stats: { statement: 'The stats agree with what is there.' },
  wakes: {
    statement:
      'nextDue is the due time of the first entry that is not leased, with retriesOnly of the first retry.',
  },
  dead: {
    statement:
      'Rejected and expired items are dead letters; the newest are kept, pages list them in order, and purge deletes the matching ones.',
    situations: ['evicts a dead letter'],
  },
  redrives: {
    statement: 'A redriven item waits as a new one if there is room, and is no dead letter any more.',
    situations: ['redrives an item'],
  },
  survives: {
    statement: 'A durable outbox keeps everything through a crash and a close; another one loses it.',
    situations: ['opens again after entries'],
  },
  remaining: {
    statement: 'takeRemaining answers what is not leased; a durable outbox keeps it and answers nothing.',
  },
} satisfies Readonly<
  Record<string, { readonly statement: string; readonly situations?: ReadonlyArray<string> }>
>
export type OutboxLaw = keyof typeof statements

/** The failure of one law in a run: the run ends there. */
export class OutboxFailure extends Error {
  readonly law: OutboxLaw
  constructor(law: OutboxLaw, detail: string) {
    super(detail)
    this.law = law
  }
}

/** Throws the failure of a law unless the fact is true. */
export const holds = (law: OutboxLaw, fact: boolean, detail: string): void => {
  if (!fact) throw new OutboxFailure(law, detail)
}
/** The time of the next timer comes, if there is one. */
export const nextTimer = async (clock: VirtualClock): Promise<void> => {
  await clock.settle()
  const [next] = clock.timers()
  if (next !== undefined) await clock.advance(Math.max(0, next.due - clock.monotonic()))
}

/** Real milliseconds for one answer. */
const PATIENCE = 10_000

/** The answer of a store. Time moves on while timers wait; without one the answer needs real input or output. */
export const settled = async <T>(clock: VirtualClock, asked: Awaitable<T>): Promise<T> => {
  if (!isPromiseLike(asked)) return asked
  let isOver = false
  const over = (): void => {
    isOver = true
  }
  const given = Promise.resolve(asked)
  given.then(over, over)
  await clock.settle()
  // `over` runs in between.
  while (!(isOver as boolean) && clock.pending() > 0) await nextTimer(clock)
  return new Promise((resolve, reject) => {
    const late = new Error('a call was not answered within 10 s')
    const cancel = systemClock.schedule(PATIENCE, () => reject(late))
    resolve(given.finally(cancel))
  })
}

/** A value in one line. */
export const text = (value: unknown): string =>
  inspect(value, { depth: 6, breakLength: Infinity, maxStringLength: 40 })
/** Throws the failure of a law unless both are deeply equal. */
export const same = (law: OutboxLaw, found: unknown, expected: unknown): void => {
  if (!isDeepStrictEqual(found, expected))
    throw new OutboxFailure(law, `found ${text(found)}, expected ${text(expected)}`)
}
