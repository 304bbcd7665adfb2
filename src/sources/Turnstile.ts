import { nextTurn } from '../clock/nextTurn.ts'
import { ring } from '../internal/Ring.ts'

/** Who waits for room, let through in the order in which they came. */
export interface Turnstile {
  /** Resolves when there is room for one more. Then it may be used, and may also be left to the next. */
  readonly pass: () => Promise<void>
  /** To be called when room was made. */
  readonly freed: () => void
  /** To be called when room was used. */
  readonly used: () => void
  /** Lets everybody through, now and for ever. */
  readonly open: () => void
}

/**
 * A turnstile before something that has `room()` for so many more. It lets through no more than there is room for, and as
 * nobody has to use what was offered, it offers what was left over to the next ones, a turn of the event loop later.
 */
export const turnstile = (room: () => number): Turnstile => {
  const waiting = ring<() => void>()
  /** Let through in this turn of the event loop, and not seen to use it yet. */
  let promised = 0
  let turning = false
  let opened = false

  const letThrough = (): void => {
    while (waiting.size() > 0 && (opened || promised < room())) {
      promised++
      waiting.shift()?.()
    }
    if (promised > 0) forgetNextTurn()
  }

  const forgetNextTurn = (): void => {
    if (turning || opened) return
    turning = true
    nextTurn(() => {
      turning = false
      promised = 0
      letThrough()
    })
  }

  return {
    pass: () =>
      new Promise((resolve) => {
        waiting.push(resolve)
        letThrough()
      }),
    freed: letThrough,
    used: () => {
      if (promised > 0) promised--
    },
    open: () => {
      opened = true
      letThrough()
    },
  }
}
