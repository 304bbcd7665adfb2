import type { Totals } from '../outcome/Totals.ts'
import type { Relay } from '../outbox/relay/RelayContract.ts'

/**
 * Resolves with the totals when nothing waits any more, or when nothing more will end: a durable outbox keeps things beyond the
 * close, and what it cannot read. All who ask meanwhile share one promise.
 */
export const idleness = (
  relay: Pick<Relay<never>, 'totals' | 'onChange' | 'isOver'>,
  unreadable: () => number,
): (() => Promise<Totals>) => {
  let shared: Promise<Totals> | undefined

  const settle = (resolve: (totals: Totals) => void): void => {
    const check = (): void => {
      const totals = relay.totals()
      if (totals.waiting > unreadable() && !relay.isOver()) return
      unwatch()
      shared = undefined
      resolve(totals)
    }
    const unwatch = relay.onChange(check)
    check()
  }

  return () => (shared ??= new Promise(settle))
}
