import type { Cancel, Clock } from '../core/clock.ts'
import { nothingToCancel } from '../sink/layer.ts'
import type { Outbox, OutboxChange } from './outbox.ts'
import type { Reporting } from './reporting.ts'

/** What hearsay works with. */
export interface ExternalChangesOptions {
  readonly outbox: Pick<Outbox<never>, 'watch'>
  readonly clock: Clock
  readonly say: Pick<Reporting<never>, 'acceptedUnseen' | 'passedOn' | 'waiting' | 'defect'>
  /** Entries that were handed out, and neither parked nor ended. */
  readonly inHand: () => number
  /** Looks again, a turn after there was news. */
  readonly look: () => void
}

/** What an outbox says of its own accord. */
export interface ExternalChanges {
  /** Entries were handed out, and are in hand: if those are more than anybody spoke of, they have arrived. */
  readonly handedOut: () => void
  /** Whether something waits of which only the outbox can say when it is due. */
  readonly isWaiting: () => boolean
  /** Listens no longer. */
  readonly stop: () => void
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0

/** Of an outbox that says nothing of its own accord. */
const silence: ExternalChanges = { handedOut: () => undefined, isWaiting: () => false, stop: () => undefined }

/** Listens to an outbox, and brings what it says into the books at once. Whatever was said in a turn causes one look, in the next. */
export const externalChanges = ({
  outbox,
  clock,
  say,
  inHand,
  look,
}: ExternalChangesOptions): ExternalChanges => {
  if (outbox.watch === undefined) return silence
  /** Counted when they were handed out, and not announced yet. */
  let early = 0
  /** Gone, and still in hand: a store may say so before it has answered the park that found it out. */
  let leaving = 0
  let turn: Cancel | undefined
  let over = false

  const fault = (what: string): void => {
    say.defect('outbox', new RangeError(`the news of an outbox: ${what}`))
  }

  const counted = (name: keyof OutboxChange, count: number): number => {
    if (isCount(count)) return count
    fault(`${name} must be a whole number from 0`)
    return 0
  }

  const arrive = (count: number): void => {
    const known = Math.min(early, count)
    early -= known
    say.acceptedUnseen(count - known)
  }

  const go = (): void => {
    const count = Math.min(leaving, Math.max(0, say.waiting() - inHand()))
    leaving -= count
    say.passedOn(count)
  }

  const lookAtLast = (): void => {
    turn = undefined
    go()
    if (leaving > 0) fault('more are gone than wait here')
    leaving = 0
    look()
  }

  const hear = ({ arrived = 0, gone = 0 }: OutboxChange = {}): void => {
    if (over) return
    arrive(counted('arrived', arrived))
    leaving += counted('gone', gone)
    go()
    turn ??= clock.schedule(0, lookAtLast)
  }

  const quietly = (ask: () => Cancel): Cancel => {
    try {
      return ask()
    } catch (error) {
      say.defect('outbox', error)
      return nothingToCancel
    }
  }

  const cancel = quietly(() => outbox.watch?.(hear) ?? nothingToCancel)

  return {
    handedOut: () => {
      const more = inHand() - say.waiting()
      if (more <= 0) return
      early += more
      say.acceptedUnseen(more)
    },
    isWaiting: () => say.waiting() > 0,
    stop: () => {
      if (over) return
      over = true
      turn?.()
      quietly(() => {
        cancel()
        return nothingToCancel
      })
    },
  }
}
