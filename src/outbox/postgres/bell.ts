import { constVoid } from '../../core/either.ts'
import { backgroundClock, type Cancel, type Clock } from '../../core/clock.ts'
import type { PostgresPool } from './statements.ts'

/** Between two rings. A commit that notifies holds a lock of the whole server. */
const RING_PAUSE = 5
/** The pause before LISTEN is tried again. */
const LISTEN_RETRY = 1_000
/** When this process looks for items of a transaction of its host: after 5 ms, then 20, 80 and 320 ms. */
const FIRST_LOOK = 5
const LAST_LOOK = 320

type Connection = Awaited<ReturnType<PostgresPool['connect']>>
/** Receives the queue of a notification; undefined when the connection is made or cut. */
type Hear = (queue: string | undefined) => void

/** LISTEN on one connection, while there is a hearer. */
const listening = (pool: PostgresPool, channel: string) => {
  const hearers = new Set<Hear>()
  let connection: Connection | undefined
  let isListening = false
  let isConnecting = false
  let cancelRetry: Cancel = constVoid

  const tell: Hear = (queue) => hearers.forEach((hear) => hear(queue))
  const listenLater = (): void => {
    cancelRetry()
    if (hearers.size > 0) cancelRetry = backgroundClock.schedule(LISTEN_RETRY, () => void listen())
  }
  /** A connection tells its end more than once. */
  const cut = (ended: Connection | undefined): void => {
    if (ended === undefined || connection !== ended) return
    ended.release(true)
    connection = undefined
    isListening = false
    listenLater()
    tell(undefined)
  }
  const listen = async (): Promise<void> => {
    if (connection !== undefined || isConnecting) return
    isConnecting = true
    try {
      const made = await pool.connect()
      connection = made
      made.unref?.()
      made.on('error', () => cut(made))
      made.on('end', () => cut(made))
      made.on('notification', ({ payload }) => tell(payload ?? ''))
      await made.query(`listen ${channel}`)
      if (hearers.size === 0) cut(made)
      isListening = connection === made
      // Earlier notifications were missed.
      if (isListening) tell(undefined)
    } catch {
      if (connection === undefined) listenLater()
      else cut(connection)
    } finally {
      isConnecting = false
    }
  }
  return {
    isListening: (): boolean => isListening,
    /** Adds a hearer. The last one that leaves ends the connection. */
    add: (hear: Hear): Cancel => {
      hearers.add(hear)
      void listen()
      return () => {
        hearers.delete(hear)
        if (hearers.size > 0) return
        cancelRetry()
        cut(connection)
      }
    },
  }
}

/** By pool and channel: each LISTEN takes a client of the pool, and ten would take all. */
const poolListeners = new WeakMap<PostgresPool, Map<string, ReturnType<typeof listening>>>()
const listenerOf = (pool: PostgresPool, channel: string) => {
  const ofPool = poolListeners.get(pool) ?? new Map<string, ReturnType<typeof listening>>()
  const found = ofPool.get(channel) ?? listening(pool, channel)
  poolListeners.set(pool, ofPool.set(channel, found))
  return found
}

/**
 * Tells the workers of a queue that there are new items, by LISTEN and NOTIFY. `heard` is also called when
 * the connection is made or cut. A worker that does not hear it looks by itself from time to time.
 */
export const bellOf = (
  pool: PostgresPool,
  channel: string,
  queue: string,
  clock: Clock,
  ring: () => Promise<unknown>,
  heard: () => void,
) => {
  const listener = listenerOf(pool, channel)
  let leave: Cancel = constVoid
  let cancelRing: Cancel | undefined
  let cancelLook: Cancel = constVoid
  /** The delay of the look to come, and whether there was reason for a new one meanwhile. */
  let lookDelay: number | undefined
  let isAskedAgain = false

  const lookIn = (delay: number): void => {
    cancelLook()
    isAskedAgain = false
    lookDelay = delay
    cancelLook = clock.schedule(delay, () => {
      lookDelay = undefined
      heard()
      if (isAskedAgain) lookIn(FIRST_LOOK)
      else if (delay < LAST_LOOK) lookIn(delay * 4)
    })
  }

  return {
    listen: (): void => {
      leave = listener.add((told) => {
        if (told === undefined || told === queue) heard()
      })
    },
    isListening: listener.isListening,
    /** Rings a little later, once for all calls until then. */
    ring: (): void => {
      cancelRing ??= clock.schedule(RING_PAUSE, () => {
        cancelRing = undefined
        // A worker that does not hear it looks by itself.
        ring().catch(constVoid)
      })
    },
    /** Looks soon, and again later: the host's transaction commits at a time of its own. */
    lookSoon: (): void => {
      if (lookDelay === FIRST_LOOK) isAskedAgain = true
      else lookIn(FIRST_LOOK)
    },
    close: (): void => {
      leave()
      cancelRing?.()
      cancelLook()
    },
  }
}
