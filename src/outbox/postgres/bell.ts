import { backgroundClock, type Cancel, type Clock } from '../../core/clock.ts'
import type { PostgresPool } from './statements.ts'

/** Between two rings. A commit that notifies holds a lock of the whole server. */
const RING_PAUSE = 5
/** The pause before LISTEN is tried again. */
const LISTEN_RETRY = 1_000
/** When this process looks for what a transaction of its host added: 5, 20, 80 and 320 ms later. */
const FIRST_LOOK = 5
const LAST_LOOK = 320

type Connection = Awaited<ReturnType<PostgresPool['connect']>>

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
  let connection: Connection | undefined
  let isListening = false
  let isClosed = false
  let cancelRetry: Cancel = () => undefined
  let cancelRing: Cancel | undefined
  let cancelLook: Cancel = () => undefined
  /** The delay of the look to come, and whether there was reason for a new one meanwhile. */
  let lookDelay: number | undefined
  let isAskedAgain = false

  const listenLater = (): void => {
    cancelRetry()
    if (!isClosed) cancelRetry = backgroundClock.schedule(LISTEN_RETRY, () => void listen())
  }
  /** A connection tells its end more than once. */
  const cut = (ended: Connection | undefined): void => {
    if (ended === undefined || connection !== ended) return
    ended.release(true)
    connection = undefined
    isListening = false
    if (isClosed) return
    listenLater()
    heard()
  }
  const listen = async (): Promise<void> => {
    try {
      const made = await pool.connect()
      connection = made
      made.on('error', () => cut(made))
      made.on('end', () => cut(made))
      made.on('notification', ({ payload }) => {
        if (payload === queue) heard()
      })
      await made.query(`listen ${channel}`)
      if (isClosed) cut(made)
      if (connection !== made) return
      isListening = true
      // What came before it was not heard.
      heard()
    } catch {
      if (connection === undefined) listenLater()
      else cut(connection)
    }
  }

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
    listen: (): void => void listen(),
    isListening: (): boolean => isListening,
    /** Rings a little later, once for all calls until then. */
    ring: (): void => {
      cancelRing ??= clock.schedule(RING_PAUSE, () => {
        cancelRing = undefined
        // A worker that does not hear it looks by itself.
        ring().catch(() => undefined)
      })
    },
    /** Looks soon, and again later: the host's transaction commits at a time of its own. */
    lookSoon: (): void => {
      if (lookDelay === FIRST_LOOK) isAskedAgain = true
      else lookIn(FIRST_LOOK)
    },
    close: (): void => {
      isClosed = true
      cancelRetry()
      cancelRing?.()
      cancelLook()
      cut(connection)
    },
  }
}
