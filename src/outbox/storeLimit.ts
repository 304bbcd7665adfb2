import { NEVER, Observable, filter, firstValueFrom, map, takeUntil } from 'rxjs'
import { constVoid } from '../core/either.ts'
import type { Awaitable } from '../core/awaitable.ts'
import { CATCH_UP, STANDSTILL, scheduleSafely, systemClock, type Cancel, type Clock } from '../core/clock.ts'
import { linkedList, type Link } from '../core/linkedList.ts'
import { nothingToCancel } from '../sink/layer.ts'
import type { Outbox } from './outbox.ts'

/** The pause after an error of the store, in milliseconds. */
export const STORE_RETRY_DELAY = 1_000

interface OpenCall extends Link<OpenCall> {
  readonly until: number
  readonly slow: (error: Error) => void
  readonly reject: (error: unknown) => void
}

export type StoreLimit = ReturnType<typeof storeLimit>

/** Limits the time of a store's calls, in ms of the machine's clock. A call that hangs is given up then. */
export const storeLimit = (limit = 30_000) => {
  // A linked list: a Set keeps answered calls, and their items, until a full garbage collection.
  const open = linkedList<OpenCall>()
  let given: Error | undefined
  /** One timer, for the oldest call: with a timer for each an event over lmdb took 1 µs more. */
  let cancel: Cancel | undefined
  let isCatchingUp = false

  const end = (call: OpenCall): boolean => {
    const wasOpen = open.remove(call)
    if (open.size() === 0) {
      cancel?.()
      cancel = undefined
      isCatchingUp = false
    }
    return wasOpen
  }
  const fail = (call: OpenCall, error: unknown): void => {
    if (end(call)) call.reject(error)
  }
  const failSlow = (): void => {
    cancel = undefined
    const now = systemClock.monotonic()
    isCatchingUp = !isCatchingUp && now - (open.oldest()?.until ?? now) >= STANDSTILL
    if (isCatchingUp) return startTimer(CATCH_UP)
    for (let call = open.oldest(); call !== undefined; call = open.oldest()) {
      if (call.until > now) return startTimer(call.until - now)
      const error = new Error(`the store did not answer within ${String(limit)} ms`)
      call.slow(error)
      fail(call, error)
    }
  }
  const startTimer = (delay: number): void => void (cancel ??= systemClock.schedule(delay, failSlow))

  return {
    /**
     * Settles as the answer does, or rejects when the time is over, after `slow`. `late` gets an answer
     * that comes afterwards.
     */
    inTime: <T>(
      answer: PromiseLike<T>,
      late: (value: T) => void = constVoid,
      slow: (error: Error) => void = constVoid,
    ): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        const until = systemClock.monotonic() + limit
        const call: OpenCall = { until, slow, reject, older: undefined, newer: undefined }
        open.push(call)
        startTimer(limit)
        if (given !== undefined) fail(call, given)
        Promise.resolve(answer).then(
          (value) => (end(call) ? resolve(value) : late(value)),
          (error: unknown) => fail(call, error),
        )
      }),
    /** Fails every open call, and each later one that is not answered at once. */
    giveUp: (error: Error): void => {
      given = error
      for (let call = open.oldest(); call !== undefined; call = open.oldest()) fail(call, error)
    },
  }
}

/** Waits for a change after which `isReached`, at most `limit` milliseconds. Answers whether it was. */
export const until = (clock: Clock, changes$: Observable<void>, limit: number, isReached: () => boolean) => {
  if (isReached()) return Promise.resolve(true)
  const over$ = new Observable<void>((over) => scheduleSafely(clock, limit, () => over.next(), constVoid))
  const reached$ = changes$.pipe(filter(isReached), takeUntil(limit === Infinity ? NEVER : over$))
  return firstValueFrom(reached$.pipe(map(() => true)), { defaultValue: false })
}

/**
 * Opens an outbox that opens later: asks it, and again a second after each failure. `opened` is called once;
 * not at all if it is open from the start.
 */
export const opening = (
  outbox: Pick<Outbox<unknown>, 'opened'>,
  clock: Clock,
  opened: () => void,
  failed: (error: unknown) => void,
) => {
  let state: 'opens' | 'open' | 'closed' = outbox.opened === undefined ? 'open' : 'opens'
  const tries = storeLimit()
  const calls = storeLimit()
  let cancel = nothingToCancel
  let resolve = constVoid
  const isOpen = new Promise<void>((done) => (resolve = done))

  const succeeded = (): void => {
    if (state !== 'opens') return
    state = 'open'
    cancel()
    resolve()
    opened()
  }
  const ask = (): void => {
    const answer = Promise.resolve().then(() => outbox.opened?.())
    // An answer that comes too late counts all the same.
    tries
      .inTime(answer, succeeded)
      .then(succeeded)
      .catch((error: unknown) => {
        if (state !== 'closed') failed(error)
        if (state === 'opens') cancel = scheduleSafely(clock, STORE_RETRY_DELAY, ask, failed)
      })
  }
  if (state === 'opens') ask()

  return {
    isOpen: (): boolean => state === 'open',
    /** Makes a call when it is open. Rejects if that takes too long, or it is closed, and does not call. */
    whenOpen: <T>(call: () => Awaitable<T>): Awaitable<T> =>
      state === 'open' ? call() : calls.inTime(isOpen, constVoid, failed).then(call),
    /** Fails the calls that wait. It opens no more. */
    stop: (): void => {
      if (state !== 'opens') return
      state = 'closed'
      cancel()
      const error = new Error('it was closed before the store was open')
      failed(error)
      tries.giveUp(error)
      calls.giveUp(error)
    },
  }
}
