import { nextTurn } from '../core/clock.ts'

/**
 * Callers that wait until a bounded store has room. They continue one after the other, in the order of their
 * calls; each looks anew, because the caller before it may have used the room or left it. `held` wraps each
 * promise that a caller waits for.
 */
export const waitForRoom = (hasRoom: () => boolean, held = (wait: Promise<void>) => wait) => {
  let last: Promise<void> = Promise.resolve()
  let wake: (() => void) | undefined
  /** An item that was too large for the room that is left is so until another one leaves. */
  let wasRefused = false
  let isOpen = false

  const wait = async (): Promise<void> => {
    while (!isOpen && (wasRefused || !hasRoom())) await held(new Promise((resolve) => (wake = resolve)))
  }

  const freed = (): void => {
    wasRefused = false
    wake?.()
  }

  return {
    /** Resolves when there is room for one more item. The room is not reserved. */
    ready: (): Promise<void> => (last = last.then(wait)),
    /** An item was `Full` while others waited. If none does it can never fit, and nothing will leave. */
    refused: (waiting: number): void => {
      wasRefused = true
      if (waiting === 0) nextTurn(freed)
    },
    /** There may be room: an item left. */
    freed,
    /** Lets every caller continue, now and later: the store is closing. */
    open: (): void => {
      isOpen = true
      wake?.()
    },
  }
}
