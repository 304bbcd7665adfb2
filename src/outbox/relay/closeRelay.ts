import { nothingToCancel } from '../../sink/Run.ts'
import type { Clock } from '../../clock/Clock.ts'
import type { Totals } from '../../outcome/Totals.ts'
import type { Relay } from './RelayContract.ts'

/** What a close resolves with. */
export interface Closing<A> {
  readonly totals: Totals
  /** What had not ended: handed back, to be kept or offered elsewhere. Empty with a durable outbox, which keeps it. */
  readonly abandoned: ReadonlyArray<A>
}

/** How long a close goes on. */
export interface CloseRelayOptions {
  readonly clock: Clock
  /** Milliseconds in which rounds may still start. */
  readonly within: number
  /** Milliseconds that what is in flight may take after that, and that siblings may take after the last verdict. */
  readonly lastAttempt: number
}

/**
 * Closes a relay (DE15): refuses new items, starts no round at or after `within` and none for items that are due later, lets what
 * is in flight end, and hands back the rest. It shortens no delay, and it ends early when nothing more can happen in time.
 */
export const closeRelay = <A>(
  relay: Relay<A>,
  { clock, within, lastAttempt }: CloseRelayOptions,
): Promise<Closing<A>> =>
  new Promise((resolve) => {
    const closeAt = relay.now() + within
    let lastCall = nothingToCancel
    let ended = false
    const end = (): void => {
      if (ended) return
      ended = true
      timeIsUp()
      lastCall()
      unwatch()
      const close = (abandoned: ReadonlyArray<A>): void => {
        enough()
        resolve({ totals: relay.totals(), abandoned })
      }
      // A store that never answers must not keep a process from its end.
      const enough = clock.schedule(lastAttempt, () => {
        close([])
      })
      relay.brake(close)
    }
    const giveLastCall = (): void => {
      if (!ended && lastCall === nothingToCancel) lastCall = clock.schedule(lastAttempt, end)
    }
    const check = (): void => {
      if (ended || relay.active(closeAt)) return
      if (relay.running() === 0) end()
      else giveLastCall()
    }
    const timeIsUp = clock.schedule(within, () => {
      relay.rest()
      giveLastCall()
      check()
    })
    relay.refuse()
    const unwatch = relay.onChange(check)
    check()
  })
