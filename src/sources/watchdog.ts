import type { Cancel, Clock } from '../core/clock.ts'

/** Milliseconds. */
const WARN_AFTER = 10_000

/** Calls `tell` once, if `isStuck` is true and the last `moved` was 10 s ago. */
export const watchdog = (clock: Clock, isStuck: () => boolean, tell: () => void) => {
  let since = 0
  let cancel: Cancel | undefined
  let isTold = false
  /** One timer, and not one for each item that waits. */
  const watch = (): void => {
    cancel = undefined
    if (isTold || !isStuck()) return
    const rest = since + WARN_AFTER - clock.monotonic()
    isTold = rest <= 0
    if (isTold) tell()
    else cancel = clock.schedule(rest, watch)
  }
  const moved = (): void => {
    since = clock.monotonic()
    if (cancel === undefined) watch()
  }
  return { moved, stop: (): void => cancel?.() }
}
