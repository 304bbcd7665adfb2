/**
 * An outbox in PostgreSQL, which several processes share. A queue is in the rows of one name; what this
 * process has leased is in memory.
 *
 * @module
 */
import { left, right, type Either } from 'fp-ts/lib/Either.js'
import { constVoid } from 'fp-ts/lib/function.js'
import { createHash } from 'node:crypto'
import type { Awaitable } from '../../core/awaitable.ts'
import { backgroundClock, inTime, systemClock, type Cancel } from '../../core/clock.ts'
import { checkOptions } from '../../core/options.ts'
import { ownContext } from '../../core/ownContext.ts'
import { fullIn, type Full } from '../../core/refusal.ts'
import { batched } from '../batched.ts'
import type { ItemCodec, OutboxFactoryOptions } from '../factory.ts'
import { newEntry, type Entry, type TransactionalOutbox } from '../outbox.ts'
import { aboutDead, offerOf, type Offer } from '../stored.ts'
import { bellOf } from './bell.ts'
import { postgresOptions, type CheckedPostgres, type PostgresOptions } from './contract.ts'
import { deadLettersOf, entryIn } from './deadLetters.ts'
import { leasingOf } from './leasing.ts'
import { resultsOf } from './results.ts'
import { openQueue } from './schema.ts'
import { runIn, statementsOf, type LeasedRow } from './statements.ts'
import { workerOf } from './worker.ts'

export type { PostgresOptions } from './contract.ts'
export { migrate } from './schema.ts'
export type { PostgresPool } from './statements.ts'

/** Between two looks while items wait that are not leased here, or while LISTEN is cut. */
const LOOK_EVERY = 1_000
/** Between two looks of an idle worker, for a bell that was not heard; and at least between two counts. */
const COUNT_EVERY = 5_000
/** Milliseconds for the last statement of a close. */
const LEAVE_TIMEOUT = 5_000
const MAX_KEY = 200

/** An index holds keys of a bounded length, and PostgreSQL no character 0. */
const storedKey = (key: string | undefined): string | null => {
  if (key === undefined) return null
  const fits = key.length <= MAX_KEY && !key.includes('\0')
  return fits ? key : `sha256:${createHash('sha256').update(key).digest('base64')}`
}

const textOf = <A>(codec: ItemCodec<A>, item: A): Offer<A> => {
  const offer = offerOf(codec, item)
  if (offer.text.includes('\0'))
    throw new RangeError("the codec's toText answered a character 0, which PostgreSQL does not store")
  return offer
}
const sum = (sizes: ReadonlyArray<number>): number => sizes.reduce((all, size) => all + size, 0)
const bytesOf = (offers: ReadonlyArray<{ readonly size: number }>): number =>
  sum(offers.map(({ size }) => size))

/**
 * An outbox in PostgreSQL: the option `outbox` of a destination, a client or a collector, or with a codec one
 * for `deliver`. Processes with the same queue share its items: each one leases some, and those of a process
 * that crashed go to the others after `leaseTime`. An item is accepted after its commit, and is delivered at
 * least once.
 *
 * Make the schema first, with `migrate(pool)`. Needs the package pg: `npm install pg`.
 *
 * @throws ConfigError when an option is wrong.
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
  <A>(of: OutboxFactoryOptions<A>): TransactionalOutbox<A> =>
    postgresOutbox(checkOptions('postgres outbox', postgresOptions, options), of)

const postgresOutbox = <A>(
  options: CheckedPostgres,
  { codec, keyOf, clock = systemClock, owner, onCorrupt = constVoid }: OutboxFactoryOptions<A>,
): TransactionalOutbox<A> => {
  const { pool, queue, schema, leaseTime, keepDead, maxCount, maxBytes, linger } = options
  const own = ownContext()
  const { ask, enqueueText, ringText } = statementsOf(pool, schema, options.prepare)
  const me = workerOf(ask, queue, clock, leaseTime)
  let counts = { waiting: 0, bytes: 0, dead: 0 }
  let evictedDeadLetters = 0
  /** Counts own changes: a count that others of them overtook is not exact. */
  let ownChanges = 0
  let countedAt = -Infinity
  let countEvery = COUNT_EVERY
  let opening: Promise<void> | undefined
  let isOpen = false
  let closing: Promise<void> | undefined
  let lookAgain = constVoid
  let cancelTick: Cancel = constVoid
  let tickIsIdle: boolean | undefined

  const count = (items: number, bytes: number, dead = 0): void => {
    ownChanges++
    const waiting = Math.max(0, counts.waiting + items)
    // Sizes may have fractions, so an empty queue has 0 bytes by definition.
    counts = {
      waiting,
      bytes: waiting === 0 ? 0 : Math.max(0, counts.bytes + bytes),
      dead: Math.max(0, counts.dead + dead),
    }
  }
  const waiting = (): number => Math.max(counts.waiting, leases.leased.size)
  const recount = async (): Promise<void> => {
    const [before, startedAt] = [ownChanges, clock.monotonic()]
    const [row] = await ask('count', [queue])
    const took = clock.monotonic() - startedAt
    countEvery = Math.max(COUNT_EVERY, 100 * took)
    // Under load own changes are always under way. Then the count is off by those.
    const isLate = startedAt - countedAt > 3 * countEvery
    if (row === undefined || (before !== ownChanges && !isLate)) return
    countedAt = startedAt
    counts = { waiting: Number(row.waiting), bytes: row.bytes, dead: Number(row.dead) }
  }

  const read = (row: LeasedRow): Entry<A> | undefined => {
    const entry = entryIn(codec, me, row.id, row.item, row.about)
    // If it cannot be ended now, the next process finds it again.
    if (entry === undefined) endCorrupt(row).catch(constVoid)
    return entry
  }
  const endCorrupt = async ({ id, item }: LeasedRow): Promise<void> => {
    await remove([id], [''])
    onCorrupt({ id, raw: item })
  }
  const leases = leasingOf<A>(ask, queue, me, read)

  /** Opens the queue, or joins the opening that is under way. */
  const opened = (): Promise<void> => {
    const open = async (): Promise<void> => {
      await openQueue(ask, schema, queue, codec.kind ?? 'items', owner)
      await me.register()
      await recount()
      isOpen = true
      if (closing !== undefined) return
      if (options.listen && pool.options?.max !== 1) bell.listen()
      arm()
    }
    opening ??= open().catch((error: unknown) => {
      opening = undefined
      throw error
    })
    return opening
  }
  const whenOpen = async <T>(work: () => Awaitable<T>): Promise<T> => {
    if (!isOpen) await opened()
    return work()
  }

  const look = (): void => {
    leases.look()
    lookAgain()
  }
  const bell = bellOf(
    pool,
    schema,
    queue,
    clock,
    () => ask('ring', [queue]),
    () => {
      leases.mayHaveMore()
      arm()
      lookAgain()
    },
  )

  /** Renews, counts and looks when it is time. */
  const tick = async (): Promise<void> => {
    if (leases.leased.size > 0 ? me.isDue() : waiting() > 0 && me.isDue()) {
      const { alive, gone } = await me.renew()
      if (!alive) {
        leases.forget()
        await me.register()
      }
      if (!alive || gone > 0) bell.ring()
    }
    if (clock.monotonic() - countedAt >= countEvery) await recount()
  }
  const isIdle = (): boolean => waiting() === 0
  const arm = (): void => {
    if (closing !== undefined || !isOpen || tickIsIdle === isIdle()) return
    cancelTick()
    const idle = (tickIsIdle = isIdle())
    // An idle worker looks in real time: only a server that others use can have something for it.
    const time = idle ? backgroundClock : clock
    const every = idle && bell.isListening() ? COUNT_EVERY : LOOK_EVERY
    cancelTick = time.schedule(every, () => {
      tickIsIdle = undefined
      const looked = (): void => {
        if (closing !== undefined) return
        // Nothing is to find if all that waits is leased here.
        if (isIdle() || counts.waiting > leases.leased.size) look()
        arm()
      }
      // A failure shows in what the relay asks.
      tick().then(looked, looked)
    })
  }

  const insert = (offers: ReadonlyArray<Offer<A>>, worker: string | null): unknown[] => [
    queue,
    worker,
    offers.map((each) => each.text),
    offers.map(({ size }) => size),
    keyOf === undefined ? null : offers.map(({ item }) => storedKey(keyOf(item))),
  ]
  const store = async (offers: ReadonlyArray<Offer<A>>): Promise<ReadonlyArray<Either<Full, Entry<A>>>> => {
    const fits = room()
    const answers = offers.map(({ item, size }) => fits(size, item))
    const taken = offers.filter((_, at) => answers[at] === undefined)
    if (taken.length === 0) return answers.flatMap((each) => (each === undefined ? [] : left(each)))
    const rows = await leases.leasing(() =>
      ask('enqueue', insert(taken, leases.hasRoomFor(taken.length) ? (me.id() ?? null) : null)),
    )
    if (rows.length !== taken.length) throw new Error('PostgreSQL did not answer for each item')
    count(taken.length, bytesOf(taken))
    let isFree = false
    let next = 0
    const stored = answers.map((refusal, at): Either<Full, Entry<A>> => {
      if (refusal !== undefined) return left(refusal)
      // There is a row for each item that was taken, and an offer at each place.
      const [row, offer] = [rows[next++] as (typeof rows)[number], offers[at] as Offer<A>]
      const entry = newEntry(row.id, offer.item)
      if (!leases.stored(entry, row.worker, keyOf?.(offer.item) !== undefined)) isFree = true
      return right(entry)
    })
    if (isFree) {
      leases.mayHaveMore()
      bell.ring()
    }
    arm()
    return stored
  }
  /** Asks for items one after the other whether there is room beside those before them. */
  const room = () => {
    let { waiting, bytes } = counts
    return (size: number, item?: A): Full | undefined => {
      const refusal = fullIn(item, waiting, bytes + size, { maxCount, maxBytes })
      if (refusal !== undefined) return refusal
      waiting++
      bytes += size
      return undefined
    }
  }
  const stores = batched<ReadonlyArray<Offer<A>>, ReadonlyArray<Either<Full, Entry<A>>>>(async (take) => {
    const lists = await whenOpen(take)
    const answers = await store(lists.flat())
    let from = 0
    return lists.map(({ length }) => answers.slice(from, (from += length)))
  })

  const evict = async (): Promise<void> => {
    if (counts.dead <= keepDead) return
    const gone = await ask('evict', [queue, keepDead])
    evictedDeadLetters += gone.length
    count(0, 0, -gone.length)
  }
  const { ack, nack, remove, idle } = resultsOf(
    ask,
    queue,
    me,
    leases,
    { clock, linger },
    async (sizes, dead) => {
      count(-sizes.length, -sum(sizes), dead)
      if (dead > 0) await evict()
    },
  )

  const dead = deadLettersOf(
    ask,
    queue,
    codec,
    me,
    () => {
      const fits = room()
      return (size) => fits(size) === undefined
    },
    (gone, isMoved) => {
      count(isMoved ? gone.length : 0, isMoved ? bytesOf(gone) : 0, -gone.length)
      if (!isMoved) return
      leases.mayHaveMore()
      bell.ring()
      arm()
    },
  )

  const end = async (): Promise<void> => {
    cancelTick()
    await Promise.all([stores.idle(), leases.idle(), idle()])
    bell.close()
    if (opening === undefined) return
    await opening.catch(constVoid)
    const leave = (): Promise<void> => me.end(leases.isUnsure() ? undefined : [...leases.leased.keys()])
    // If it fails, the leases end with their time.
    await inTime(backgroundClock, LEAVE_TIMEOUT, leave)
    if (leases.leased.size > 0) await ask('ring', [queue])
  }

  return {
    opened,
    keeps: () => true,
    ...(keyOf && { orders: true }),
    enqueue: async (items) => {
      const offers = items.map((item) => textOf(codec, item))
      return own(stores.ask, offers, offers.length)
    },
    enqueueIn: async (client, items) => {
      const offers = items.map((item) => textOf(codec, item))
      await whenOpen(constVoid)
      const fits = room()
      const refusal = offers.map(({ item, size }) => fits(size, item)).find((each) => each !== undefined)
      if (refusal !== undefined) return left(refusal)
      const run = runIn(client)
      await run(enqueueText, insert(offers, null))
      if (options.notify) await run(ringText, [queue])
      own(bell.lookSoon)
      return right(undefined)
    },
    lease: (_, limits) => (isOpen ? leases.lease(limits) : whenOpen(() => leases.lease(limits))),
    nack: (list) => own(nack, list),
    ack: (list) => own(ack, list),
    addDeadLetter: (item, outcome) =>
      whenOpen(async () => {
        const { text, size } = textOf(codec, item)
        if (keepDead === 0) return
        const about = aboutDead(newEntry('0', item), outcome, me.now())
        await ask('addDead', [queue, me.now(), storedKey(keyOf?.(item)), size, about, text])
        count(0, 0, 1)
        await evict()
      }),
    takeRemaining: () => [],
    nextDue: leases.nextDue,
    watch: (call) => {
      lookAgain = call
      return () => {
        lookAgain = constVoid
      }
    },
    dead: {
      list: (page) => whenOpen(() => dead.list(page)),
      redrive: (matches) => whenOpen(() => dead.redrive(matches)),
      purge: (matches) => whenOpen(() => dead.purge(matches)),
    },
    stats: () => ({ ...counts, waiting: waiting(), evictedDeadLetters, maxCount, maxBytes }),
    close: () => (closing ??= end()),
  }
}
