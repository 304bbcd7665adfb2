import type { Cancel, Clock } from '../../core/clock.ts'
import type { Relay } from '../../outbox/relay.ts'

/** What a drain works with. */
export interface DrainingOptions {
  readonly relay: Pick<Relay<never>, 'hasWorkBefore' | 'onChange' | 'now'>
  readonly clock: Clock
  /** Milliseconds. */
  readonly within: number
  /** Sends off what is there. */
  readonly begin: () => void
  readonly waiting: () => number
  /** Whether everything is in the outbox. */
  readonly isHandedOver: () => boolean
  readonly hold: () => Cancel
  /** What still waits will not end in time. */
  readonly giveUp: () => void
}

/**
 * The drain at the end of a program (CL7): sends off what waits, and holds the process until all of it has ended, or until nothing more can
 * happen in time. Then it lets the process go at once. One at a time.
 */
export const draining = (options: DrainingOptions): (() => void) => {
  const { relay, clock, within, begin, waiting, isHandedOver, hold, giveUp } = options
  let busy = false

  return () => {
    if (busy) return
    busy = true
    const until = relay.now() + within
    const release = hold()
    const finish = (): void => {
      if (!busy) return
      busy = false
      timeIsUp()
      unwatch()
      release()
      if (waiting() > 0) giveUp()
    }
    const check = (): void => {
      if (waiting() === 0 || (isHandedOver() && !relay.hasWorkBefore(until))) finish()
    }
    const timeIsUp = clock.schedule(within, finish)
    const unwatch = relay.onChange(check)
    begin()
    check()
  }
}
