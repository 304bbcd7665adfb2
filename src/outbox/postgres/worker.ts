import { steadyTime, type Clock } from '../../core/clock.ts'
import type { AskServer, Rows } from './statements.ts'

/** A lease ends 1.5 lease times after a renewal; a worker is renewed each half of one. */
const HOLDS = 1.5

/** What a lease belongs to. After each change of the generation only leases that were named still hold. */
export type Holder = Readonly<{ id: string; generation: number }>
/** No worker has the id 0. */
export const NO_HOLDER: Holder = { id: '0', generation: 0 }

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
  let holder = NO_HOLDER
  let renewedAt = -Infinity

  const now = (): number => Math.floor(clock.monotonic() + offset) + ahead
  /** Whether the machine slept, or its clock was set ahead, since the server was asked for its time. */
  const hasJumped = (): boolean => own.offset() !== offset
  const renew = async (isAgain = false): Promise<Rows['renew']> => {
    const startedAt = clock.monotonic()
    // Before the first answer the server's time is not known: then nothing of others ends.
    const at = holder === NO_HOLDER ? 0 : now()
    const asked = own.offset()
    const [found] = await ask('renew', [queue, holder.id, at, Math.ceil(leaseTime * HOLDS)])
    if (found === undefined) throw new Error('PostgreSQL did not answer the renewal of a worker')
    offset = asked
    ahead = Number(found.now) - Math.floor(clock.monotonic() + asked)
    // After a sleep it gave a time that was over.
    const isOver = !isAgain && at !== 0 && Number(found.now) - at > leaseTime / 2
    if (found.alive) renewedAt = isOver ? -Infinity : startedAt
    return isOver ? renew(true) : found
  }
  const register = async (): Promise<void> => {
    if (holder === NO_HOLDER) await renew()
    const startedAt = clock.monotonic()
    const [{ id } = NO_HOLDER] = await ask('register', [queue, now() + Math.ceil(leaseTime * HOLDS)])
    holder = { id, generation: 0 }
    renewedAt = startedAt
  }

  return {
    now,
    /** For times that are stored. After a jump the worker must be renewed first. */
    ahead: (): number => ahead,
    hasJumped,
    holder: () => holder,
    register,
    isDue: (): boolean => hasJumped() || clock.monotonic() - renewedAt >= leaseTime / 2,
    /** Whether all that it leased is still its own. */
    isSure: (): boolean => !hasJumped() && clock.monotonic() - renewedAt < leaseTime,
    /** Renews it, and ends the leases of others whose time is over. `alive`: it was not ended by another. */
    renew,
    /**
     * Frees all that it leased but for `kept`: what a statement leased whose answer was lost is not known
     * here. An answer to a statement of an older generation that comes later counts as lost too.
     */
    free: async (kept: ReadonlyArray<string>): Promise<void> => {
      holder = { ...holder, generation: holder.generation + 1 }
      await ask('free', [queue, holder.id, holder.generation, kept])
    },
    end: () => ask('free', [queue, holder.id, null, []]),
  }
}
