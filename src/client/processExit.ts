/** Promises of a client: of its calls, and for the process while it holds messages. @module */
import { fromEvent, share, type Subscription } from 'rxjs'
import { nextTurn, systemClock } from '../core/clock.ts'
import { constVoid } from '../core/either.ts'
import { callSafely } from '../log/listeners.ts'

/** Keeps the process alive until the promise is settled: the timers and sockets of a client do not. */
export const held = <T>(promise: Promise<T>) => promise.finally(systemClock.schedule(Infinity, constVoid))

/** When the program has nothing left to do. All clients share one listener: Node warns of more than ten. */
const beforeExit$ = fromEvent(process, 'beforeExit').pipe(share())

/**
 * Binds a client to its process while it is busy.
 *
 * @param drain is called when the program has nothing left to do and messages wait; undefined to let it go
 * @param failed receives errors of `waitUntil`
 */
export const lifetime = (
  waitUntil: ((ended: Promise<unknown>) => void) | undefined,
  drain: (() => void) | undefined,
  failed: (error: unknown) => void,
) => {
  let exit: Subscription | undefined
  let isBusy = false
  let end = constVoid
  const untilIdle = () => new Promise<void>((resolve) => (end = resolve))
  // Made before a call needs it: in the call it would keep the async store of that caller until then.
  let ended = untilIdle()

  return {
    /** A message was accepted. Each call gets the promise: a host may wait for each of its requests. */
    busy: (): void => {
      if (!isBusy) {
        exit ??= drain && beforeExit$.subscribe({ next: drain, error: failed })
        // One more turn has one more end: the listener of a host may send at this one.
        if (drain !== undefined) nextTurn(constVoid)
        // Last, because the lines above may throw at the end of the stack.
        isBusy = true
      }
      if (waitUntil !== undefined) callSafely(waitUntil, ended, failed)
    },
    /** No message waits that will end. */
    idle: (): void => {
      if (!isBusy) return
      isBusy = false
      exit?.unsubscribe()
      exit = undefined
      end()
      ended = untilIdle()
    },
  }
}
