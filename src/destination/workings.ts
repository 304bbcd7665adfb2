import type { Either } from 'fp-ts/lib/Either.js'
import { steady, systemClock } from '../clock/Clock.ts'
import { inTime } from '../clock/inTime.ts'
import { systemRandom } from '../clock/Random.ts'
import type { Event } from '../event/Event.ts'
import type { Payload } from '../event/Payload.ts'
import type { Awaitable } from '../internal/Awaitable.ts'
import type { Attempted, Tell } from '../observe/Happening.ts'
import { hearing } from '../observe/hearing.ts'
import { listeners } from '../observe/listeners.ts'
import { hot } from '../observe/streams/hot.ts'
import { iterate } from '../observe/streams/iterate.ts'
import { timeoutOf } from '../observe/timeoutOf.ts'
import { refused } from '../outcome/Failure.ts'
import type { Outcome } from '../outcome/Outcome.ts'
import type { Closed, Full } from '../outcome/Refusal.ts'
import { closeRelay } from '../outbox/relay/closeRelay.ts'
import type { Closing } from '../outbox/relay/closeRelay.ts'
import { relay } from '../outbox/relay/relay.ts'
import { standard } from '../policy/RetryPolicy.ts'
import type { OutboxStats } from '../sink/Outbox.ts'
import type { Sink } from '../sink/Sink.ts'
import type { Destination, DestinationOptions, DestinationStats } from './Destination.ts'
import { idleness } from './idleness.ts'
import type { Numbers } from './numbersOf.ts'
import { arrivals } from './keeping/arrivals.ts'
import { outboxOf } from './keeping/outboxOf.ts'
import type { Surroundings } from './sinkOf.ts'
import { tally } from './tally.ts'

/** A close may take so long unless it is told otherwise (DE15). */
const CLOSE_WITHIN = 30_000

/** What a destination is without its door: from the moment when an encoded event is taken into keeping until its outcome. */
export interface Workings extends Pick<
  Destination,
  'outcomes$' | 'outcomes' | 'attempts$' | 'idle' | 'redrive' | 'close'
> {
  /** Takes a payload into keeping. Throws, or rejects, when the outbox fails to say whether it has it. */
  readonly offer: (payload: Payload<Event>) => Awaitable<Either<Full | Closed, unknown>>
  /** Takes one into keeping for which there is no room: it is a dead letter at once, and its outcome says so (CO1). */
  readonly bury: (payload: Payload<Event>) => Awaitable<Either<Closed, void>>
  readonly tell: Tell
  /** The time by which happenings are dated. */
  readonly now: () => number
  /** A listener that tells defects of somebody else's code, by where it was. */
  readonly reportFrom: (where: string) => (error: unknown) => void
  /** What takes up room in the outbox: what waits there, and what is on its way. */
  readonly waiting: () => OutboxStats
  readonly stats: () => Omit<DestinationStats, 'enabled'>
}

/** What stands around the workings. */
export interface WorkingsParts {
  /** Makes what it delivers to. */
  readonly sinkIn: (surroundings: Surroundings) => Sink<Payload<Event>>
  readonly numbers: Numbers
  /** Is told each outcome, before its subscribers are. */
  readonly ended?: (outcome: Outcome<Payload<Event>>) => void
  /** Is told when the outbox said something of its own accord: others may have made room. */
  readonly news?: () => void
  /** Is told when the outbox has answered an offer that it had not answered at once. */
  readonly answered?: () => void
  /** Is told when the close begins. */
  readonly closing?: () => void
}

const nothing = (): void => undefined

/** The workings of a destination, over whatever it posts to. */
export const workings = (
  {
    sinkIn,
    numbers,
    ended = nothing,
    news = nothing,
    answered = nothing,
    closing: whenClosing = nothing,
  }: WorkingsParts,
  options: DestinationOptions,
): Workings => {
  const { clock = systemClock, random = systemRandom, retry = standard } = options
  const now = steady(clock)
  let closing: Promise<Closing<Payload<Event>>> | undefined

  const reportFrom =
    (where: string) =>
    (error: unknown): void => {
      tell({ _tag: 'Defect', at: now(), where, error })
    }
  const outcomes = hot<Outcome<Payload<Event>>>(reportFrom('a subscriber of outcomes$'))
  const attempts = hot<Attempted>(reportFrom('a subscriber of attempts$'))
  const counts = tally()
  const tell = listeners(options, counts.tell, (happening) => {
    if (happening._tag === 'Attempted') attempts.next(happening)
  })

  const outbox = outboxOf(options, { numbers, clock, defect: reportFrom('orderBy') })
  const coming = arrivals(answered)
  const sink = sinkIn({ ...numbers, clock, tell })
  const work = relay<Payload<Event>>({
    sink,
    outbox,
    retry,
    clock,
    random,
    inRound: numbers.inRound,
    tell,
    hears: hearing(options),
    ended: (outcome) => {
      ended(outcome)
      outcomes.next(outcome)
    },
    news,
  })

  /** What fails to close is told, and keeps nothing else from closing. */
  const quietly = async (where: string, close: () => Promise<void>): Promise<void> => {
    try {
      await close()
    } catch (error) {
      reportFrom(where)(error)
    }
  }

  const shutDown = async (within: number): Promise<Closing<Payload<Event>>> => {
    const closed = await closeRelay(work, { clock, within, lastAttempt: numbers.timeout })
    await quietly('the close of the sink', () => sink.close(numbers.timeout)())
    await quietly('the close of the outbox', () => inTime(clock, numbers.timeout, () => outbox.close()))
    outcomes.complete()
    attempts.complete()
    return closed
  }

  return {
    offer: (payload) => coming.counted(payload.byteLength, work.offer(payload)),
    bury: (payload) => work.bury(payload, refused('full')),
    tell,
    now,
    reportFrom,
    waiting: () => coming.within(outbox.stats()),
    outcomes$: outcomes.values$,
    outcomes: () => iterate(outcomes.values$),
    attempts$: attempts.values$,
    stats: () => ({
      ...work.totals(),
      refused: counts.refused(),
      bytes: outbox.stats().bytes,
      forgotten: outbox.stats().forgotten ?? 0,
      urls: counts.urls(),
    }),
    idle: idleness(work, () => outbox.stats().unreadable ?? 0),
    redrive: (matches = () => true) => work.redrive(matches),
    close: (options) => {
      const within = timeoutOf(options, CLOSE_WITHIN, reportFrom('the timeout of close'))
      work.refuse()
      whenClosing()
      // A turn later, so that whoever closes inside a callback of the close finds the same promise.
      closing ??= Promise.resolve().then(() => shutDown(within))
      return closing
    },
  }
}
