import { constVoid } from '../../core/either.ts'
import { queue as queueOf } from '../../core/queue.ts'
import type { Entry, LeaseLimits } from '../outbox.ts'
import type { AskServer, LeasedRow } from './statements.ts'
import type { Holder, Worker } from './worker.ts'

/** The most entries that are leased ahead of the relay. */
const MAX_LEASED_AHEAD = 1_000

/** Runs tasks one after the other. */
const lane = () => {
  let last: Promise<unknown> = Promise.resolve()
  let open = 0
  return {
    run: <T>(task: () => Promise<T>): Promise<T> => {
      open++
      const mine = last.then(task).finally(() => open--)
      last = mine.catch(constVoid)
      return mine
    },
    isBusy: (): boolean => open > 0,
    idle: (): Promise<void> => last.then(constVoid),
  }
}

export type Leasing<A> = ReturnType<typeof leasingOf<A>>

type ReadRow<A> = (row: LeasedRow) => Entry<A> | undefined

/** The entries that this process has leased, and those of them that the relay has not asked for yet. */
export const leasingOf = <A>(ask: AskServer, queue: string, me: Worker, read: ReadRow<A>) => {
  /** All that is leased here, by id. A lease anew is another object. */
  const leased = new Map<string, { readonly isKeyed: boolean }>()
  /** New entries that the relay has not asked for. */
  const ready = queueOf<Entry<A>>()
  /** The most that the relay asked for at once; no more is leased ahead, because others need work too. */
  let wanted = 0
  let mayHaveNew = true
  /** When the next retry is due, by the server's time. */
  let nextRetry = 0
  /** Free rows before these places were leased: their index entries stay until a vacuum. */
  let idFrom = '0'
  let dueFrom = 0
  /** Counts what makes the answer of a lease under way stale. */
  let changes = 0
  /** The answer of a statement that leases was lost, so rows may be leased that are not known here. */
  let isUnsure = false
  /** One lease at a time. */
  const fetches = lane()
  /** One change of the holder at a time. */
  const holders = lane()
  let isEnded = false

  const look = (): void => {
    changes++
    mayHaveNew = true
    nextRetry = dueFrom = 0
    idFrom = '0'
  }
  /** Renews the worker. If another has ended it, its leases are gone. */
  const renew = async () => {
    const found = await me.renew()
    if (!found.alive) {
      leased.clear()
      ready.drain()
      look()
      await me.register()
    }
    return found
  }
  /** Makes the worker ready for a statement that leases. */
  const prepare = async (): Promise<void> => {
    if (!holders.isBusy() && !isUnsure && me.isSure()) return
    await holders.run(async () => {
      if (isUnsure || !me.isSure()) await renew()
      if (!isUnsure) return
      // An answer that is lost from now on needs a new generation once more.
      isUnsure = false
      try {
        await me.free([...leased.keys()])
        look()
      } catch (error) {
        isUnsure = true
        throw error
      }
    })
  }
  /** Runs a statement that leases or puts back. If the holder has changed since, what it leased is free. */
  const leasing = async <T>(statement: (holder: Holder) => Promise<T>) => {
    await prepare()
    const holder = me.holder()
    try {
      return [await statement(holder), holder] as const
    } catch (error) {
      isUnsure = true
      throw error
    }
  }

  /** Leases retries, which it answers, and new entries, which are then ready. */
  const fetchNext = async (retries: number): Promise<ReadonlyArray<Entry<A>>> => {
    for (;;) {
      await prepare()
      const news = Math.max(0, wanted - ready.size())
      if (isEnded || (retries === 0 && news === 0)) return []
      const start = idFrom
      const before = changes
      const [rows, by] = await leasing(({ id, generation }) =>
        ask('lease', [queue, id, generation, me.now(), retries, news, dueFrom, start]),
      )
      if (by !== me.holder()) continue
      if (rows.length === 0) {
        // The worker was ended, or a failover lost the last commits.
        isUnsure = true
        continue
      }
      const { due: next } = rows.at(-1) ?? {}
      const due = next ? Number(next) : Infinity
      const found = rows.slice(0, -1)
      const old = found.filter((row) => row.due !== '0')
      const fresh = found.slice(old.length)
      nextRetry = changes === before ? due : Math.min(due, nextRetry)
      if (changes === before) {
        dueFrom = old.length === retries && retries > 0 ? Number(old.at(-1)?.due) : 0
        // After the last one it looks from the start: a transaction may have committed late.
        idFrom = fresh.length === news ? (fresh.at(-1)?.id ?? start) : '0'
        if (fresh.length < news && start === '0') mayHaveNew = false
      }
      const entries: Array<Entry<A>> = []
      for (const row of old) hold(row, entries)
      for (const row of fresh) hold(row, ready)
      if (entries.length > 0 || ready.size() > 0 || news === 0 || !mayHaveNew) return entries
    }
  }
  const hold = (row: LeasedRow, held: { readonly push: (entry: Entry<A>) => unknown }): void => {
    leased.set(row.id, { isKeyed: row.keyed })
    const entry = read(row)
    if (entry !== undefined) held.push(entry)
  }
  const fetch = (retries: number): Promise<ReadonlyArray<Entry<A>>> => fetches.run(() => fetchNext(retries))
  const handOut = (count: number): ReadonlyArray<Entry<A>> => {
    const entries = ready.drain(count)
    // An error shows when the relay waits for entries.
    if (mayHaveNew && !fetches.isBusy() && ready.size() < wanted / 2) fetch(0).catch(constVoid)
    return entries
  }

  return {
    leased,
    leasing,
    lease: (limits: LeaseLimits) => {
      const { count, retriesOnly = false } = limits
      if (isEnded || count <= 0) return []
      if (!retriesOnly) wanted = Math.min(MAX_LEASED_AHEAD, Math.max(wanted, count))
      const retries = Math.min(count, limits.retries)
      if (!me.isSure() || (retries > 0 && nextRetry <= me.now()))
        return fetch(retries).then((old) => (retriesOnly ? old : [...old, ...handOut(count - old.length)]))
      if (retriesOnly) return []
      if (ready.size() >= count || !mayHaveNew) return handOut(count)
      return fetch(0).then(() => handOut(count))
    },
    nextDue: (retriesOnly = false): number | undefined => {
      if (isEnded) return undefined
      if (!retriesOnly && (ready.size() > 0 || mayHaveNew)) return 0
      return nextRetry === Infinity ? undefined : nextRetry - me.ahead()
    },
    /** Whether new items may be leased as they are stored: nothing older waits, and they are wanted now. */
    hasRoomFor: (count: number): boolean => !mayHaveNew && !isEnded && ready.size() + count <= wanted,
    /** An item was stored. If it is leased, it is ready. */
    stored: (entry: Entry<A>, by: Holder, isKeyed: boolean): boolean => {
      const isMine = by === me.holder()
      if (isMine) {
        leased.set(entry.id, { isKeyed })
        ready.push(entry)
      }
      return isMine
    },
    /** There may be new entries. */
    mayHaveMore: (): void => {
      changes++
      mayHaveNew = true
    },
    putBack: (due: number): void => {
      changes++
      nextRetry = Math.min(nextRetry, due)
      dueFrom = Math.min(dueFrom, due)
    },
    /** It is the turn of an item that may be older than those that were leased. */
    turned: (): void => {
      changes++
      mayHaveNew = true
      idFrom = '0'
    },
    look,
    /** Runs a task beside no lease. */
    alone: fetches.run,
    /** Does not wait for `free`, whose connection may be dead: the worker's time would be over. */
    renew: async () => {
      const found = await me.renew()
      if (!found.alive) await holders.run(renew)
      if (isUnsure) prepare().catch(constVoid)
      return found
    },
    /** The relay asks for no more: entries that it has not asked for become free, for all processes. */
    freeReady: (): Promise<never[]> =>
      fetches.run(async () => {
        wanted = 0
        const unasked = ready.drain()
        for (const { id } of unasked) leased.delete(id)
        isUnsure ||= unasked.length > 0
        if (isEnded || !isUnsure) return []
        await prepare()
        return []
      }),
    end: (): Promise<void> => {
      isEnded = true
      return fetches.idle()
    },
  }
}
