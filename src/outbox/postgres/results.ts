import { constVoid } from '../../core/either.ts'
import type { Clock } from '../../core/clock.ts'
import { isDead } from '../../core/outcome.ts'
import { batched } from '../batched.ts'
import type { Ack, Nack } from '../outbox.ts'
import { aboutDead, aboutRetry } from '../stored.ts'
import { STORE_RETRY_DELAY } from '../storeLimit.ts'
import type { Leasing } from './leasing.ts'
import type { AskServer } from './statements.ts'
import type { Worker } from './worker.ts'

/** As many results do not wait for others. */
const ENOUGH = 25
/** Milliseconds between two looks for the end of what waits. */
const END_EVERY = 1_000
/** The most, after a look that took long. */
const MAX_END_PAUSE = 10_000

/** Joins results into lists: each waits for others, at most `linger` ms. `hurry`: waits no more. */
const lingering = <T>(clock: Clock, linger: number, write: (list: ReadonlyArray<T>) => Promise<void>) => {
  let count = 0
  let isHurried = linger === 0
  let enough = constVoid
  const gathered = (): Promise<void> =>
    new Promise((resolve) => {
      if (isHurried || count >= ENOUGH) return resolve()
      const cancel = clock.schedule(linger, resolve)
      enough = () => {
        cancel()
        resolve()
      }
    })
  const lists = batched<ReadonlyArray<T>, undefined>(async (take) => {
    await gathered()
    count = 0
    const all = take()
    await write(all.flat())
    return all.map(() => undefined)
  })
  return {
    write: async (list: ReadonlyArray<T>): Promise<void> => {
      if (list.length === 0) return
      count += list.length
      if (count >= ENOUGH) enough()
      await lists.ask(list, list.length)
    },
    hurry: (): Promise<void> => {
      isHurried = true
      enough()
      return lists.idle()
    },
  }
}

/** Stores the results of leased entries. `ended` receives how many items ended, their bytes, and the dead. */
export const resultsOf = <A>(
  ask: AskServer,
  queue: string,
  me: Worker,
  { leased, leasing, alone, putBack, turned }: Leasing<A>,
  clock: Clock,
  linger: number,
  ended: (count: number, bytes: number, dead: number) => Promise<void>,
) => {
  /** Removes leased items that ended. Those with an `about` are dead letters; '' is that of an unreadable. */
  const remove = async (ids: ReadonlyArray<string>, abouts: ReadonlyArray<string | null>): Promise<void> => {
    const leases = ids.map((id) => leased.get(id))
    const isKeyed = leases.some((lease) => lease?.isKeyed)
    const dead = abouts.some((about) => about !== null) ? abouts : null
    const answers = await ask('ack', [queue, [me.holder().id], me.now(), ids, isKeyed, dead])
    if (isKeyed) turned()
    for (const answer of answers) await ended(answer.gone, answer.size, answer.dead)
    // A lease anew is another one.
    for (const [at, id] of ids.entries()) if (leased.get(id) === leases[at]) leased.delete(id)
  }
  const acks = lingering<Ack<A>>(clock, linger, async (list) => {
    // Late results, of entries that are leased no more, are left out.
    const mine = list.filter(({ entry }) => leased.has(entry.id))
    if (mine.length === 0) return
    const ahead = me.ahead()
    await remove(
      mine.map(({ entry }) => entry.id),
      mine.map(({ entry, outcome }) => (isDead(outcome) ? aboutDead(entry, outcome, me.now(), ahead) : null)),
    )
  })
  /** The lease of each nack: one that is repeated, because its answer was lost, may find a newer lease. */
  const leaseOf = new WeakMap<Nack<A>, unknown>()
  const isSameLease = (nack: Nack<A>): boolean => {
    const lease = leased.get(nack.entry.id)
    if (!leaseOf.has(nack)) leaseOf.set(nack, lease)
    return lease !== undefined && leaseOf.get(nack) === lease
  }
  const putBackList = async (list: ReadonlyArray<Nack<A>>): Promise<void> => {
    const held = list.filter(isSameLease)
    if (held.length === 0) return
    await leasing(async ({ id, generation }) => {
      const mine = held.filter(isSameLease)
      const dues = mine.map(({ due }) => Math.max(1, Math.floor(due + me.ahead())))
      const abouts = mine.map(({ entry }) => aboutRetry(entry, me.ahead()) || null)
      const [done] = await ask('nack', [id, generation, mine.map(({ entry }) => entry.id), dues, abouts])
      if (!done?.alive) throw new Error('the leases of this worker were freed meanwhile')
      for (const due of dues) putBack(due)
    })
  }
  const nacks = lingering<Nack<A>>(clock, linger, async (list) => {
    // A running lease may take an entry that an earlier statement put back.
    const isRepeat = list.some((nack) => leaseOf.has(nack))
    await (isRepeat ? alone(() => putBackList(list)) : putBackList(list))
    // What is due already may have been leased anew before this answer.
    for (const nack of list) if (isSameLease(nack)) leased.delete(nack.entry.id)
  })
  let isClosing = false
  /** Callers that wait for an end, and the last item that there was when they were first looked for. */
  const waits = new Set<{ last?: number; readonly resolve: () => void }>()
  let isLooking = false
  const lookForEnds = async (): Promise<void> => {
    isLooking = true
    for (let took = 0; waits.size > 0;) {
      const rest = Math.min(Math.max(END_EVERY, 20 * took), MAX_END_PAUSE)
      await new Promise<void>((resolve) => clock.schedule(rest, resolve, { holds: false }))
      // What waits has not ended.
      if (isClosing) break
      const askedAt = clock.monotonic()
      const [found] = await ask('ends', [queue]).catch(() => [])
      took = clock.monotonic() - askedAt
      if (found === undefined) continue
      // An end that is stored may not be answered yet.
      const mine = [...leased.keys()].map(Number)
      const oldest = mine.reduce((least, id) => Math.min(least, id), Number(found.oldest ?? Infinity))
      const newest = mine.reduce((most, id) => Math.max(most, id), Number(found.newest ?? 0))
      for (const wait of waits) {
        wait.last ??= newest
        if (oldest > wait.last && waits.delete(wait)) wait.resolve()
      }
    }
    isLooking = false
  }
  /** Ends an item that cannot be read, and tells it. Asks until it is stored: nothing else would end it. */
  const endCorrupt = (id: string, tell: () => void): void => {
    const again = (): void => {
      if (!isClosing && leased.has(id)) endCorrupt(id, tell)
    }
    const failed = (): unknown => clock.schedule(STORE_RETRY_DELAY, again, { holds: false })
    remove([id], ['']).then(tell, failed).catch(constVoid)
  }
  return {
    ack: acks.write,
    nack: nacks.write,
    endCorrupt,
    /** Looks a second later for the first time, because most flushes are over by then. */
    allEnded: (): Promise<void> =>
      new Promise((resolve) => {
        waits.add({ resolve })
        if (!isLooking) void lookForEnds()
      }),
    /** Writes all that waits, at a close. */
    idle: async () => {
      isClosing = true
      await Promise.all([acks.hurry(), nacks.hurry()])
    },
  }
}
