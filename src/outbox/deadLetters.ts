import type { Awaitable } from '../core/awaitable.ts'
import type { DeadLetter, DeadPage, EndedDeadLetter, Outbox } from './outbox.ts'
import type { Relay } from './relay.ts'

/**
 * The dead letters of a destination or client, oldest first. Each call waits until the outbox is open. Once
 * closed there are none. A call rejects if the store fails, `redrive` also if it is not open in 30 s. @inline
 */
export interface OwnDeadLetters<A> {
  /** One page. A page shorter than its limit is the last. */
  readonly list: (page?: DeadPage) => Promise<ReadonlyArray<DeadLetter<A>>>
  /** Moves matching items back to wait, with a new deadline, while there is room. Answers how many. */
  readonly redrive: (matches?: (deadLetter: EndedDeadLetter<A>) => boolean) => Promise<number>
  /** Deletes matching ones for good. Answers how many. */
  readonly purge: (matches?: (deadLetter: DeadLetter<A>) => boolean) => Promise<number>
}

export const deadLetters = <A, D>(
  work: Relay<A, D>,
  outbox: Outbox<A>,
  isClosing: () => boolean,
): OwnDeadLetters<A> => {
  const whenOpen = async <T>(none: T, ask: () => Awaitable<T>): Promise<T> => {
    await work.until(() => work.isOpen() || isClosing())
    return isClosing() ? none : ask()
  }
  return {
    list: (page) => whenOpen([], () => outbox.dead.list(page)),
    redrive: (matches = () => true) => work.redrive(matches),
    purge: (matches = () => true) => whenOpen(0, () => outbox.dead.purge(matches)),
  }
}
