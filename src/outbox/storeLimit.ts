import { NEVER, Observable, filter, firstValueFrom, map, takeUntil } from 'rxjs'
import { constVoid } from '../core/either.ts'
import type { Awaitable } from '../core/awaitable.ts'
import { scheduleSafely, systemClock, timeLimit, type Clock, type Timed } from '../core/clock.ts'
import { ShownError } from '../core/refusal.ts'
import { nothingToCancel } from '../sink/layer.ts'
import type { Outbox } from './outbox.ts'

/** The pause after an error of the store, in milliseconds. */
export const STORE_RETRY_DELAY = 1_000

interface OpenCall extends Timed<OpenCall> {
  readonly slow: (error: Error) => void
  readonly reject: (error: unknown) => void
}

export type StoreLimit = ReturnType<typeof storeLimit>

/** Limits the time of a store's calls, in ms of the machine's clock. A call that hangs is given up then. */
export const storeLimit = (limit = 30_000) => {
  let given: Error | undefined
  const open = timeLimit<OpenCall>(systemClock, limit, (call) => {
    const error = new ShownError(`the store did not answer within ${String(limit)} ms`)
    call.slow(error)
    fail(call, error)
  })
  const fail = (call: OpenCall, error: unknown): void => {
    if (open.remove(call)) call.reject(error)
  }

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
        const call: OpenCall = { start: systemClock.monotonic(), clock: systemClock, slow, reject }
        open.add(call)
        if (given !== undefined) fail(call, given)
        Promise.resolve(answer).then(
          (value) => (open.remove(call) ? resolve(value) : late(value)),
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
 * A check whether all that waited in a shared outbox has ended. The first call for which `mayAsk` says yes
 * asks the outbox; `changed` is called after the answer.
 */
export const endOfAll = (
  outbox: Pick<Outbox<unknown>, 'allEnded'>,
  mayAsk: () => boolean,
  changed: () => void,
  failed: (error: unknown) => void,
) => {
  let asked: Promise<void> | undefined
  let isOver = false
  const ended = (): void => {
    isOver = true
    changed()
  }
  return (): boolean => {
    if (outbox.allEnded && mayAsk())
      asked ??= Promise.resolve().then(outbox.allEnded.bind(outbox)).then(ended, failed)
    return isOver
  }
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
      const error = new ShownError('it was closed before the store was open')
      failed(error)
      tries.giveUp(error)
      calls.giveUp(error)
    },
  }
}
