import { steady, type Clock } from '../../core/clock.ts'
import type { Ask } from './statements.ts'

/** An entry holds for 1.5 times this after a renewal, and a worker is renewed each half of it. */
const HOLDS = 1.5

export type Worker = ReturnType<typeof workerOf>

/**
 * This process in a queue: the id that its leases have, and the server's time. All stored times are the
 * server's, so that the clocks of hosts do not matter.
 */
export const workerOf = (ask: Ask, queue: string, clock: Clock, leaseTime: number) => {
  const ownNow = steady(clock)
  /** Milliseconds that the server is ahead. */
  let offset = 0
  let id: string | undefined
  /** The id before, under which an ack may be on its way. */
  let before: string | undefined
  let renewedAt = -Infinity

  /** The ids that its leases may have. */
  const ids = (): ReadonlyArray<string> => [id, before].flatMap((each) => each ?? [])
  const now = (): number => Math.floor(ownNow() + offset)
  const renewAs = async (me: string | undefined) => {
    const startedAt = clock.monotonic()
    const [found] = await ask('renew', [queue, me ?? null, now(), Math.ceil(leaseTime * HOLDS)])
    if (found === undefined) throw new Error('PostgreSQL did not answer the renewal of a worker')
    offset = Number(found.now) - ownNow()
    if (found.alive) renewedAt = startedAt
    return found
  }
  const register = async (): Promise<void> => {
    // The first answer has the server's time.
    await renewAs(undefined)
    const startedAt = clock.monotonic()
    const [row] = await ask('register', [queue, now() + Math.ceil(leaseTime * HOLDS)])
    before = id
    id = row?.id
    renewedAt = startedAt
  }

  return {
    /** The server's time. */
    now,
    toServer: (instant: number): number => Math.floor(instant + offset),
    fromServer: (instant: number): number => instant - offset,
    id: (): string | undefined => id,
    ids,
    register,
    /** Whether it is time to renew. */
    isDue: (): boolean => clock.monotonic() - renewedAt >= leaseTime / 2,
    /** Whether all that it leased is still its own. */
    isSure: (): boolean => clock.monotonic() - renewedAt < leaseTime,
    /** Renews it, and ends the leases of others whose time is over. `alive`: it was not ended by another. */
    renew: () => renewAs(id),
    /**
     * Takes another id, and `kept` with it. For a statement whose answer was lost: what it leased is known to
     * nothing else, and becomes free.
     */
    replace: async (kept: ReadonlyArray<string>): Promise<void> => {
      const old = id
      await register()
      if (old !== undefined) await ask('retire', [queue, old, id, kept])
    },
    /** Ends it, and its leases. `leased`: all of them; left out if an answer was lost. */
    end: async (leased: ReadonlyArray<string> | undefined): Promise<void> => {
      if (id === undefined) return
      if (leased === undefined) await ask('retire', [queue, id, null, []])
      else await ask('leave', [id, ids(), leased])
    },
  }
}
