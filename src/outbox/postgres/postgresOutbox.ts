/**
 * An outbox in PostgreSQL, which several processes share. A queue is in the rows of one name; what this
 * process has leased is in memory.
 *
 * @module
 */
import { constVoid, left, right, type Either } from '../../core/either.ts'
import { backgroundClock, inTime, systemClock, type Cancel, type Clock } from '../../core/clock.ts'
import { messageOf } from '../../core/failure.ts'
import * as option from '../../core/options.ts'
import { ownContext } from '../../core/ownContext.ts'
import { fullIn, type Full } from '../../core/refusal.ts'
import { batched } from '../batched.ts'
import { newEntry, type Bookmark, type BookmarkedOutbox, type Entry } from '../outbox.ts'
import type { OutboxFactoryOptions, TransactionalOutbox } from '../outbox.ts'
import { aboutDead, offerOf, type Offer } from '../stored.ts'
import { bellOf } from './bell.ts'
import { deadLettersOf, entryOf } from './deadLetters.ts'
import { leasingOf } from './leasing.ts'
import { resultsOf } from './results.ts'
import { openQueue, schemaName } from './schema.ts'
import { runIn, statementsOf, storedKey, type PostgresPool } from './statements.ts'
import { NO_HOLDER, workerOf, type Holder } from './worker.ts'

export { migrate } from './schema.ts'
export type { PostgresPool } from './statements.ts'

/** An outbox in PostgreSQL. */
export interface PostgresOptions {
  /** A `Pool` of pg, which you close, after the outbox. One of its clients is for LISTEN, of all queues. */
  readonly pool: PostgresPool
  /** The name of the queue, of at most 200 characters. Processes with the same name share its items. */
  readonly queue: string
  /** The schema that `migrate` made. Default `headrace`. */
  readonly schema?: string
  /**
   * Milliseconds. A process that crashes keeps its items from others for 1 to 1.5 times as long. Default
   * 30,000; from 2,000 to 3,600,000.
   */
  readonly leaseTime?: number
  /** How many items may wait; off by those that others added in the last 5 s. Default 2,000,000. */
  readonly maxCount?: number
  /** How many bytes may wait, as the codec counts them; off likewise. Default 8,589,934,592 (8 GiB). */
  readonly maxBytes?: number
  /** Dead letters that are kept, up to 1 % more between counts; the oldest make room. Default 100,000. */
  readonly keepDead?: number
  /** Milliseconds that results wait for others, so that one statement stores them. 0 to 500, default 5. */
  readonly linger?: number
  /** Hear of new items at once, by LISTEN. Default true; false behind a pooler of transactions. */
  readonly listen?: boolean
  /** Prepare statements, once for each connection. Default true; false behind a pooler of transactions. */
  readonly prepare?: boolean
  /**
   * `enqueueIn` notifies other processes in the host's transaction. Default false: its commit would wait for
   * a lock that all such commits share. This process looks 5, 25, 105 and 425 ms later in any case.
   */
  readonly notify?: boolean
}

/** @inline */
type PostgresOutbox<A> = TransactionalOutbox<A> & BookmarkedOutbox<A>

const { wholeNumber, withDefault } = option
const isName = (value: unknown): value is string =>
  typeof value === 'string' && value.length > 0 && value.length <= 200 && !value.includes('\0')
const postgresOptions = option.strict({
  pool: option.methods<PostgresPool>('a Pool of pg', 'query', 'connect'),
  queue: option.guarded('a name of 1 to 200 characters', isName),
  schema: withDefault(schemaName, 'headrace'),
  leaseTime: withDefault(wholeNumber('milliseconds', 2_000, 3_600_000), 30_000),
  maxCount: withDefault(wholeNumber('items', 1), 2_000_000),
  maxBytes: withDefault(wholeNumber('bytes', 1), 8_589_934_592),
  keepDead: withDefault(wholeNumber('items', 0), 100_000),
  linger: withDefault(wholeNumber('milliseconds', 0, 500), 5),
  listen: withDefault(option.flag, true),
  prepare: withDefault(option.flag, true),
  notify: withDefault(option.flag, false),
})
type CheckedPostgres = typeof postgresOptions extends option.Option<infer O> ? O : never
type Enqueued<A> = ReadonlyArray<Either<Full, Entry<A>>>

const LOOK_EVERY = 1_000 // Between two looks while items wait that are not leased here, or LISTEN is cut.
/** Between two looks of an idle worker, in case a notification was lost; the minimum between two counts. */
const COUNT_EVERY = 5_000
const LEAVE_TIMEOUT = 5_000 // For the last statement of a close.
const OPEN_TIMEOUT = 10_000 // For an opening in the host's transaction.
const COUNT_TIMEOUT = 1_000 // For the first count.
const ANSWER_TIMEOUT = 30_000
const MAX_COUNT_PAUSE = 300_000 // At most, before a count that follows one that failed.

interface KeyedOffer<A> extends Offer<A> {
  readonly key: string | null
  readonly bookmark: Bookmark | undefined
}

const totalSize = (all: ReadonlyArray<{ size: number }>) => all.reduce((bytes, { size }) => bytes + size, 0)

/**
 * An outbox in PostgreSQL: the option `outbox` of a destination, a client or a collector, or with a codec one
 * for `deliver`. Processes with the same queue share its items: each one leases some, and those of a process
 * that crashed go to the others: see `leaseTime`. An item is accepted after its commit, and is delivered at
 * least once.
 *
 * Make the schema first, with `migrate(pool)`. Needs the package pg: `npm install pg`.
 *
 * @throws ConfigError when an option is wrong: from the part that opens it, and not from `postgres(options)`.
 *
 * @example
 * import { webhookDestination } from 'headrace/destination'
 * import { postgres } from 'headrace/outbox/postgres'
 *
 * const over = (pool: import('pg').Pool) =>
 *   webhookDestination(
 *     { webhooks: [{ url: 'http://127.0.0.1:9/hook' }] },
 *     { outbox: postgres({ pool, queue: 'hooks' }) },
 *   )
 * console.log(typeof over) // => function
 */
export const postgres =
  (options: PostgresOptions) =>
  <A>(of: OutboxFactoryOptions<A>): PostgresOutbox<A> =>
    postgresOutbox(option.checkOptions('postgres outbox', postgresOptions, options), of)

const postgresOutbox = <A>(
  options: CheckedPostgres,
  { codec, keyOf, clock = systemClock, owner, onCorrupt = constVoid }: OutboxFactoryOptions<A>,
): PostgresOutbox<A> => {
  const { pool, queue, schema, leaseTime, keepDead, maxCount, maxBytes } = options
  const own = ownContext()
  const { ask, enqueueText, enqueueOneText, ringText } = statementsOf(pool, schema, options.prepare)
  const me = workerOf(ask, queue, clock, leaseTime)
  let counts = { waiting: 0, bytes: 0, dead: 0 }
  let evictedDeadLetters = 0
  /** Counts own changes, each of which makes a count under way inexact. */
  let changes = 0
  let wasExact = false
  let countedAt = -Infinity
  let countEvery = COUNT_EVERY
  let counting: Promise<void> | undefined
  let opening: Promise<void> | undefined
  let closing: Promise<void> | undefined
  let lookAgain = constVoid
  let cancelTick: Cancel = constVoid
  let next: { readonly every: number; readonly on: Clock } | undefined

  const add = (waiting: number, bytes: number, dead = 0): void => {
    changes++
    const left = Math.max(0, counts.waiting + waiting)
    // Sizes may have fractions, so an empty queue has 0 bytes by definition.
    const held = left === 0 ? 0 : Math.max(0, counts.bytes + bytes)
    counts = { waiting: left, bytes: held, dead: Math.max(0, counts.dead + dead) }
  }
  const waiting = (): number => Math.max(counts.waiting, leases.leased.size)
  /** Counts what others changed. Of two counts in a row that own changes overtook, the second is used. */
  const recount = (): Promise<void> => (counting ??= count().finally(() => (counting = undefined)))
  const count = async (): Promise<void> => {
    const before = changes
    countedAt = clock.monotonic()
    const [row] = await ask('count', [queue, me.now()]).catch((error: unknown) => {
      // The server may go on with it.
      countedAt += Math.min(MAX_COUNT_PAUSE, 10 * (clock.monotonic() - countedAt))
      throw error
    })
    if (row === undefined || closing !== undefined) return
    countEvery = Math.max(COUNT_EVERY, 100 * row.took)
    const known = counts.waiting
    if (before === changes || !wasExact)
      counts = { waiting: Number(row.waiting), bytes: row.bytes, dead: Number(row.dead) }
    wasExact = before === changes
    if (counts.waiting < known) lookAgain()
    if (row.late) await renew()
    await evict(0)
  }
  /** Asks for items one after the other whether there is room beside those before them. */
  const room = (): ((item: unknown, size: number) => Full | undefined) => {
    let { waiting, bytes } = counts
    return (item, size) => {
      const refusal = fullIn(item, waiting, bytes + size, { maxCount, maxBytes })
      if (refusal === undefined) [waiting, bytes] = [waiting + 1, bytes + size]
      return refusal
    }
  }

  const leases = leasingOf<A>(ask, queue, me, (row) => {
    arm() // It may have been idle: others stored the item.
    const entry = entryOf(codec, me, row)
    if (entry === undefined) results.endCorrupt(row.id, () => onCorrupt({ id: row.id, raw: row.item }))
    return entry
  })
  /** To find the oldest, PostgreSQL passes over all that are kept: lists of results do so once for many. */
  const evict = async (slack = Math.floor(keepDead / 100)): Promise<void> => {
    if (counts.dead <= keepDead + slack) return
    const gone = await ask('evict', [queue, keepDead]).catch(() => []) // The next count does.
    evictedDeadLetters += gone.length
    add(0, 0, -gone.length)
  }
  const results = resultsOf(ask, queue, me, leases, clock, options.linger, async (count, bytes, dead) => {
    add(-count, -bytes, dead)
    if (dead > 0) await evict()
  })

  const look = (): void => {
    leases.look()
    lookAgain()
  }
  const heard = (): void => {
    leases.mayHaveMore()
    lookAgain()
    // An idle worker looks on when it knows of items that wait.
    if (waiting() === 0 && clock.monotonic() - countedAt >= LOOK_EVERY) recount().then(arm, arm)
    else arm()
  }
  const bell = bellOf(pool, schema, queue, clock, () => ask('ring', [queue]), heard)
  /** New items are free for all workers. */
  const freed = (): void => {
    leases.mayHaveMore()
    bell.ring()
    arm()
  }

  /** Renews the worker, and ends the leases of others whose time is over. */
  const renew = async (): Promise<void> => {
    const { gone } = await leases.renew()
    if (gone === 0) return
    look()
    bell.ring()
  }
  const tick = async (): Promise<void> => {
    if (waiting() > 0 && me.isDue()) await renew()
    // A long count must not delay the next renewal.
    if (clock.monotonic() - countedAt >= countEvery) recount().then(looked, looked)
  }
  const looked = (): void => {
    if (closing !== undefined) return
    // There is nothing to find if all that waits is leased here, and LISTEN tells of the items of others.
    if (waiting() === 0 || counts.waiting > leases.leased.size || !bell.isListening()) look()
    arm()
  }
  const arm = (): void => {
    const isIdle = waiting() === 0
    const every = isIdle && bell.isListening() ? COUNT_EVERY : LOOK_EVERY
    // An idle worker looks in real time: only a server that others use can have something for it.
    const on = isIdle ? backgroundClock : clock
    if (closing !== undefined || (next?.every === every && next.on === on)) return
    cancelTick()
    next = { every, on }
    cancelTick = on.schedule(every, () => {
      next = undefined
      // The relay's own statements report a failure.
      tick().then(looked, looked)
    })
  }

  const opened = (): Promise<void> => {
    const open = async (): Promise<void> => {
      await openQueue(ask, schema, queue, codec.kind ?? 'items', owner)
      await me.register()
      // Bounds and figures may come later.
      await inTime(backgroundClock, COUNT_TIMEOUT, recount).catch(constVoid)
      if (closing !== undefined) return
      if (options.listen && pool.options?.max !== 1) bell.listen()
      arm()
    }
    return (opening ??= own(open).catch((error: unknown) => {
      opening = undefined
      throw error
    }))
  }

  const offersOf = (items: ReadonlyArray<A>, bookmark?: Bookmark): ReadonlyArray<KeyedOffer<A>> =>
    items.map((item) => {
      const { size, text } = offerOf(codec, item)
      if (!text.includes('\0')) return { item, size, text, key: storedKey(keyOf?.(item)), bookmark }
      throw new RangeError("the codec's toText answered a character 0: not stored")
    })
  /** A list failed: a later bookmark would skip its items. */
  let hasGap = false
  const valuesOf = (offers: ReadonlyArray<KeyedOffer<A>>, by?: Holder): unknown[] => {
    const bookmarks = hasGap ? [] : offers.flatMap(({ bookmark }) => bookmark ?? [])
    const marks = new Map(bookmarks.map(({ name, value }) => [storedKey(name), value]))
    const [texts, sizes] = [offers.map(({ text }) => text), offers.map(({ size }) => size)]
    const keys = keyOf === undefined ? null : offers.map(({ key }) => key)
    const holder = [by?.id ?? null, by?.generation ?? null]
    return [queue, ...holder, texts, sizes, keys, marks.size === 0 ? null : [...marks].flat()]
  }
  const store = async (offers: ReadonlyArray<KeyedOffer<A>>): Promise<Enqueued<A>> => {
    const fits = room()
    const refusals = offers.map(({ item, size }) => fits(item, size))
    const taken = offers.filter((_, at) => refusals[at] === undefined)
    const insert = async (holder: Holder) => {
      const by = leases.hasRoomFor(taken.length) ? holder : NO_HOLDER
      const rows = await ask('enqueue', valuesOf(taken, by))
      if (rows.length !== taken.length) throw new Error('PostgreSQL did not answer for each item')
      return rows
    }
    const [rows, by] = taken.length === 0 ? [[], NO_HOLDER] : await leases.leasing(insert)
    const entries = rows.map(({ id, worker }, at) => {
      // A row for each of them, by place.
      const { item, key } = taken[at] as KeyedOffer<A>
      const entry = newEntry(id, item)
      return { entry, isMine: leases.stored(entry, worker === null ? NO_HOLDER : by, key !== null) }
    })
    add(taken.length, totalSize(taken))
    if (entries.some(({ isMine }) => !isMine)) freed()
    arm()
    let at = 0
    // An entry for each item without a refusal.
    return refusals.map((refusal) =>
      refusal === undefined ? right((entries[at++] as (typeof entries)[number]).entry) : left(refusal),
    )
  }
  const adds = batched<{ offers: ReadonlyArray<KeyedOffer<A>>; until: number }, Enqueued<A>>(async (take) => {
    // Nothing waits for the answer to an older one.
    const lists = take().map(({ offers, until }) => (until > systemClock.monotonic() ? offers : []))
    hasGap ||= lists.some(({ length }) => length === 0)
    const answers = await store(lists.flat())
    let from = 0
    return lists.map(({ length }) => answers.slice(from, (from += length)))
  })

  const dead = deadLettersOf(ask, queue, codec, me, room, (rows, isMoved) => {
    add(isMoved ? rows.length : 0, isMoved ? totalSize(rows) : 0, -rows.length)
    if (isMoved) freed()
  })

  const end = async (): Promise<void> => {
    cancelTick()
    await Promise.all([adds.idle(), leases.end(), results.idle()])
    bell.close()
    if (opening === undefined) return
    await opening.catch(constVoid)
    // If it fails, the leases end with their time.
    await inTime(backgroundClock, LEAVE_TIMEOUT, () => me.end())
    if (waiting() > 0) await ask('ring', [queue])
  }

  return {
    opened,
    keeps: () => true,
    ...(keyOf && { orders: true }),
    enqueue: async (items: ReadonlyArray<A>, { bookmark }: { readonly bookmark?: Bookmark } = {}) => {
      try {
        const offers = offersOf(items, bookmark)
        if (offers.length === 0) return []
        const length = offers.reduce((all, { text }) => all + text.length, 0)
        const until = systemClock.monotonic() + ANSWER_TIMEOUT
        const answers = await own(() => adds.ask({ offers, until }, offers.length, length))
        if (answers.length > 0) return answers
        throw new Error(`the server was not asked within ${String(ANSWER_TIMEOUT)} ms: not stored`)
      } catch (error) {
        // In the turn of the failure: the next list begins after it.
        hasGap = true
        throw error
      }
    },
    bookmark: async (name) => (await ask('bookmark', [queue, storedKey(name)]))[0]?.value,
    remember: ({ name, value }) => ask('remember', [queue, storedKey(name), value]).then(constVoid),
    enqueueIn: async (client, items) => {
      const offers = offersOf(items)
      // The host's transactions may hold all connections.
      if (me.holder() === NO_HOLDER)
        await inTime(backgroundClock, OPEN_TIMEOUT, opened).catch((error: unknown) => {
          throw new Error(`the outbox is not open; do transactions hold its connections? ${messageOf(error)}`)
        })
      const fits = room()
      const [refusal] = offers.flatMap(({ item, size }) => fits(item, size) ?? [])
      if (refusal !== undefined) return left(refusal)
      const run = runIn(client)
      const [one, ...others] = offers
      if (one?.key === null && others.length === 0) await run(enqueueOneText, [queue, one.size, one.text])
      else await run(enqueueText, valuesOf(offers))
      if (options.notify) await run(ringText, [queue])
      // If the host rolls back, the next count corrects it.
      add(offers.length, totalSize(offers))
      own(bell.lookSoon)
      return right(undefined)
    },
    lease: (_, limits) => leases.lease(limits),
    nack: (list) => own(results.nack, list),
    ack: (list) => own(results.ack, list),
    addDeadLetter: async (item, outcome) => {
      const [{ text, size, key }] = offersOf([item]) as readonly [KeyedOffer<A>] // One for each item.
      if (keepDead === 0) return
      const about = aboutDead(newEntry('0', item), outcome, me.now(), me.ahead())
      await ask('addDead', [queue, me.now(), key, size, about, text])
      add(0, 0, 1)
      await evict()
    },
    takeRemaining: () => leases.freeReady().finally(() => waiting() > 0 && bell.ring()),
    nextDue: leases.nextDue,
    watch: (call) => {
      lookAgain = call
      return () => (lookAgain = lookAgain === call ? constVoid : lookAgain)
    },
    allEnded: results.allEnded,
    dead,
    stats: () => ({ ...counts, waiting: waiting(), evictedDeadLetters, maxCount, maxBytes }),
    close: () => (closing ??= end()),
  }
}
