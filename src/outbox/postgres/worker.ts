import { steadyTime, type Clock } from '../../core/clock.ts'
import type { AskServer, Rows } from './statements.ts'

/** A lease ends 1.5 lease times after a renewal; a worker is renewed each half of one. */
const HOLDS = 1.5
const MAX_IDS = 8

export type Worker = ReturnType<typeof workerOf>

/**
 * This process in a queue: the id that its leases have, and the server's time. All stored times are the
 * server's, so that the clocks of hosts do not matter.
 */
export const workerOf = (ask: AskServer, queue: string, clock: Clock, leaseTime: number) => {
  const own = steadyTime(clock)
  /** Milliseconds that the server is ahead of the own time, while that has the offset that it had then. */
  let ahead = 0
  let offset = own.offset()
  /** The ids that its leases may have, the present one first: an ack may be on its way under an older one. */
  let ids: ReadonlyArray<string> = []
  let renewedAt = -Infinity
  /** The present id has no leases yet: a retirement of the others failed. */
  let isRetiring = false

  const now = (): number => Math.floor(clock.monotonic() + offset) + ahead
  /** Whether the machine slept, or its clock was set ahead, since the server was asked for its time. */
  const hasJumped = (): boolean => own.offset() !== offset
  const renew = async (isAgain = false): Promise<Rows['renew']> => {
    const startedAt = clock.monotonic()
    // Before the first answer the server's time is not known: then nothing of others ends.
    const [me, at] = ids[0] === undefined ? [null, 0] : [ids[0], now()]
    // While it takes another id, the older one has its leases and is not renewed: then nothing ends.
    const ends = isRetiring ? 0 : at
    const asked = own.offset()
    const [found] = await ask('renew', [queue, me, ends, at - ends + Math.ceil(leaseTime * HOLDS)])
    if (found === undefined) throw new Error('PostgreSQL did not answer the renewal of a worker')
    offset = asked
    ahead = Number(found.now) - Math.floor(clock.monotonic() + asked)
    // After a sleep it gave a time that was over.
    const isOver = !isAgain && me !== null && Number(found.now) - at > leaseTime / 2
    if (found.alive) renewedAt = isOver ? -Infinity : startedAt
    return isOver ? renew(true) : found
  }
  const register = async (): Promise<void> => {
    if (ids[0] === undefined) await renew()
    const startedAt = clock.monotonic()
    const rows = await ask('register', [queue, now() + Math.ceil(leaseTime * HOLDS)])
    ids = [...rows.map(({ id }) => id), ...ids].slice(0, MAX_IDS)
    renewedAt = startedAt
  }

  return {
    now,
    /** For times that are stored. After a jump the worker must be renewed first. */
    ahead: (): number => ahead,
    hasJumped,
    id: (): string | null => ids[0] ?? null,
    ids: () => ids,
    register,
    isDue: (): boolean => hasJumped() || clock.monotonic() - renewedAt >= leaseTime / 2,
    /** Whether all that it leased is still its own. */
    isSure: (): boolean => !hasJumped() && clock.monotonic() - renewedAt < leaseTime,
    /** Renews it, and ends the leases of others whose time is over. `alive`: it was not ended by another. */
    renew,
    /**
     * Takes another id, and `kept` with it. For a statement whose answer was lost: what it leased is known to
     * nothing else, and becomes free. An answer under the old id that comes later counts as lost too.
     */
    replace: async (kept: () => ReadonlyArray<string>): Promise<void> => {
      if (!isRetiring) await register()
      isRetiring = true
      const [mine, ...old] = ids
      await ask('retire', [queue, old, mine, kept()])
      isRetiring = false
      ids = ids.slice(0, 2)
    },
    end: async () => ids.length > 0 && ask('retire', [queue, ids, null, []]),
  }
}
