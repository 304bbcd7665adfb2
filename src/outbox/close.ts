import { whenAnswered } from '../core/awaitable.ts'
import type { Clock } from '../core/clock.ts'
import type { Totals } from '../core/totals.ts'
import { nothingToCancel } from '../sink/layer.ts'
import type { Entry, Outbox } from './outbox.ts'
import { abandonedOf } from './relay.ts'
import type { Relay } from './relay.ts'
import type { Reporting } from './reporting.ts'
import type { StoreWrites } from './storeCalls.ts'

/** What handing back works with. */
export interface HandBackOptions<A> {
  readonly outbox: Outbox<A>
  readonly store: StoreWrites
  readonly say: Pick<Reporting<A>, 'defect' | 'ended' | 'afterwards'>
}

const ignore = (): void => undefined

/**
 * Ends as abandoned what was cut off, and what still waits in the outbox; `then` gets their items when all have been told. A
 * durable outbox keeps everything, so nothing ends and nothing is handed back (DE15).
 */
export const handBack = <A>(
  { outbox, store, say }: HandBackOptions<A>,
  cut: ReadonlyArray<Entry<A>>,
  then: (items: ReadonlyArray<A>) => void,
): void => {
  const give = (entries: ReadonlyArray<Entry<A>>): void => {
    for (const entry of entries) say.ended(abandonedOf(entry))
    say.afterwards(() => {
      then(entries.map(({ item }) => item))
    })
  }
  if (outbox.durable) {
    give([])
    return
  }
  for (const entry of cut) {
    store.commit({ make: () => outbox.end(entry, abandonedOf(entry)), then: ignore, otherwise: ignore })
  }
  whenAnswered(
    () => outbox.abandon(),
    (waiting) => {
      give([...cut, ...waiting])
    },
    (error) => {
      say.defect('outbox', error)
      give(cut)
    },
  )
}

/** What a close resolves with. */
export interface CloseResult<A> {
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
): Promise<CloseResult<A>> =>
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
