import { nextTurn } from '../clock/nextTurn.ts'
import type { OutboxStats } from '../sink/Outbox.ts'
import { turnstile } from './Turnstile.ts'
import type { Turnstile } from './Turnstile.ts'

/** A turnstile before an outbox. */
export interface Doorway extends Turnstile {
  /** To be called when somebody was turned away, because the outbox was full. */
  readonly turnedAway: () => void
  /** To be called when there may be room, though nothing has left. */
  readonly look: () => void
}

/** Lets through as many as an outbox has room for, by its own bounds. */
export const doorway = (stats: () => OutboxStats): Doorway => {
  let tooMany = false
  /** Somebody was turned away in this turn of the event loop. */
  let turning = false
  const gate = turnstile(() => {
    const { waiting, bytes, maxCount, maxBytes } = stats()
    // Whoever was turned away for the size of it would be so again, at once and for ever, until something has left.
    if (bytes >= maxBytes || turning || (tooMany && waiting > 0)) return 0
    return maxCount - waiting
  })
  return {
    ...gate,
    turnedAway: () => {
      tooMany = true
      if (turning) return
      turning = true
      // Where nothing waits, nothing will leave. Whoever comes again and again must leave the event loop its turns all the same.
      nextTurn(() => {
        turning = false
        gate.freed()
      })
    },
    look: gate.freed,
    freed: () => {
      tooMany = false
      gate.freed()
    },
  }
}
