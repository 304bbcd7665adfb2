import type { Clock } from '../core/clock.ts'
import { inTime } from '../core/clock.ts'
import { closeRelay } from '../outbox/close.ts'
import type { Relay } from '../outbox/relay.ts'
import type { Outbox } from '../outbox/oldOutbox.ts'
import type { Sink } from '../sink/sink.ts'
import type { MessageBatch } from './Message.ts'
import type { Keeping } from './keeping/keeping.ts'
import type { Endings } from './queue/endings.ts'
import type { Handover } from './queue/handover.ts'

/** What a close works with. */
export interface ClosingOptions {
  readonly relay: Relay<MessageBatch>
  readonly clock: Clock
  readonly onTheWay: Handover
  readonly keeping: Pick<Keeping, 'whenKept' | 'giveUp'> | undefined
  readonly ends: Endings
  readonly outbox: Pick<Outbox<MessageBatch>, 'durable' | 'close'>
  /** What is the client's own to close. */
  readonly sink: Pick<Sink<MessageBatch>, 'close'> | undefined
  /** Milliseconds that a store may take for its own close. */
  readonly timeout: number
  /** Is told what failed to close, which keeps nothing else from closing. */
  readonly defect: (where: string, error: unknown) => void
}

const allKept = (keeping: Pick<Keeping, 'whenKept'>) => async (): Promise<void> => {
  await keeping.whenKept()
}

/** A store on disk may take its time, and fail. */
const handedOver = (onTheWay: Handover, clock: Clock, within: number): Promise<void> =>
  new Promise((resolve) => {
    const timeIsUp = clock.schedule(within, () => {
      unwatch()
      resolve()
    })
    const unwatch = onTheWay.whenEmpty(() => {
      timeIsUp()
      resolve()
    })
  })

/**
 * Brings everything to its end within so many milliseconds, and what then is in flight within `lastAttempt` more; the rest is handed back
 * (DE15). A batch that never came into the outbox, or onto the disk, is handed back too. Then the sink and the outbox are closed; one that does not
 * answer in time is told of and left.
 */
export const closing = ({
  relay,
  clock,
  onTheWay,
  keeping,
  ends,
  outbox,
  sink,
  timeout,
  defect,
}: ClosingOptions): ((within: number, lastAttempt: number) => Promise<void>) => {
  const quietly = async (where: string, close: () => Promise<void>): Promise<void> => {
    try {
      await close()
    } catch (error) {
      defect(where, error)
    }
  }

  const closeOutbox = (): Promise<void> =>
    quietly('the close of the outbox', () => inTime(clock, timeout, () => outbox.close()))

  return async (within, lastAttempt) => {
    const until = relay.now() + within
    if (!onTheWay.isEmpty()) await handedOver(onTheWay, clock, within)
    await closeRelay(relay, clock, Math.max(0, until - relay.now()), lastAttempt)
    if (keeping !== undefined) {
      await quietly('the folder', () => inTime(clock, timeout, allKept(keeping)))
      // What is under way then comes to the disk or does not, and is handed back only if it did not.
      await closeOutbox()
    }
    const left = [...onTheWay.giveUp(), ...(keeping?.giveUp() ?? [])]
    // What a store keeps beyond the close stays with it; of a store that never answered nobody knows, and it is handed back.
    ends.abandon(outbox.durable ? left : ends.live())
    if (sink !== undefined) await quietly('the close of the sink', () => sink.close(lastAttempt)())
    if (keeping === undefined) await closeOutbox()
  }
}
