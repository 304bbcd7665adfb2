import type { Either } from 'fp-ts/lib/Either.js'
import { pipe } from 'fp-ts/lib/function.js'
import type { Awaitable } from '../core/awaitable.ts'
import { steady, systemClock, inTime, systemRandom } from '../core/clock.ts'
import type { Clock } from '../core/clock.ts'
import { refused } from '../core/failure.ts'
import type { Outcome } from '../core/outcome.ts'
import type { Closed, Full } from '../core/refusal.ts'
import type { Event } from '../event/event.ts'
import type { Payload, Signer } from '../event/payload.ts'
import { listeners } from '../log/listeners.ts'
import { isListening } from '../log/listeners.ts'
import type { Listener, Attempted } from '../log/logEvent.ts'
import { timeoutOf } from '../log/logger.ts'
import { hot } from '../log/streams.ts'
import { closeRelay } from '../outbox/close.ts'
import type { CloseResult } from '../outbox/close.ts'
import type { OutboxStats } from '../outbox/outbox.ts'
import { relay } from '../outbox/relay.ts'
import { standard } from '../policy/retryPolicy.ts'
import { withConcurrency } from '../sink/concurrency.ts'
import { contramap } from '../sink/contramap.ts'
import { firstSuccess } from '../sink/firstSuccess.ts'
import { withObserver } from '../sink/observe.ts'
import type { Sink } from '../sink/sink.ts'
import { withTimeout } from '../sink/timeout.ts'
import { tally } from './counters.ts'
import { idleness } from './createDestination.ts'
import type { Destination, DestinationOptions, DestinationStats } from './destination.ts'
import type { Numbers } from './options.ts'
import { arrivals, outboxOf } from './record.ts'

/** What stands around the URLs of a destination. */
export interface Surroundings extends Pick<Numbers, 'timeout' | 'concurrency' | 'maxInFlight'> {
  readonly clock: Clock
  readonly onEvent: Listener
}

/**
 * Every URL in a lane of its own (DE8), each attempt within its time (DE3), and the first success of all of them (DE1). A lane
 * can hold all that is in a round, so it is full only with what ended elsewhere.
 */
export const sinkOf = (
  urls: ReadonlyArray<Sink<Payload<Event>>>,
  { clock, onEvent, timeout, concurrency, maxInFlight }: Surroundings,
): Sink<Payload<Event>> => {
  const inTime = withTimeout(timeout, { clock })
  const attempts = withObserver(onEvent, { clock, only: 'Attempted' })
  const lane = withConcurrency<Payload<unknown>>({ concurrency, queue: maxInFlight, clock })
  const passedOver = withObserver(onEvent, { clock, only: 'UrlSkipped' })
  return firstSuccess(
    urls.map((url) => pipe(url, inTime, attempts, lane, passedOver)),
    { clock },
  )
}

/**
 * A host's own sink in place of URLs: each attempt within its time, and told. It has no lane: as many deliveries overlap as there are
 * items in a round, and a sink that cannot bear that is wrapped in `withConcurrency`. It is given the signer with each payload: what waits has
 * none, whoever stores it.
 */
export const ownSinkOf = (
  own: Sink<Payload<Event>>,
  signer: Signer | undefined,
  { clock, onEvent, timeout }: Surroundings,
): Sink<Payload<Event>> =>
  pipe(
    signer === undefined ? own : contramap((payload: Payload<Event>) => ({ ...payload, signer }))(own),
    withTimeout(timeout, { clock }),
    withObserver(onEvent, { clock, only: 'Attempted' }),
  )

/** A close may take so long unless it is told otherwise (DE15). */
const CLOSE_WITHIN = 30_000

/** What a destination is without its door: from the moment when an encoded event is taken into keeping until its outcome. */
export interface Workings extends Pick<
  Destination,
  'outcomes$' | 'attempts$' | 'idle' | 'redrive' | 'close'
> {
  /** Takes a payload into keeping. Throws, or rejects, when the outbox fails to say whether it has it. */
  readonly offer: (payload: Payload<Event>) => Awaitable<Either<Full | Closed, unknown>>
  /** Takes one into keeping for which there is no room: it is a dead letter at once, and its outcome says so (CO1). */
  readonly bury: (payload: Payload<Event>) => Awaitable<Either<Closed, void>>
  readonly onEvent: Listener
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
  let closing: Promise<CloseResult<Payload<Event>>> | undefined

  const reportFrom =
    (where: string) =>
    (error: unknown): void => {
      onEvent({ _tag: 'Defect', at: now(), where, error })
    }
  const outcomes = hot<Outcome<Payload<Event>>>(reportFrom('a subscriber of outcomes$'))
  const attempts = hot<Attempted>(reportFrom('a subscriber of attempts$'))
  const counts = tally()
  const onEvent = listeners(options, counts.onEvent, (happening) => {
    if (happening._tag === 'Attempted') attempts.next(happening)
  })

  const outbox = outboxOf(options, { numbers, clock, defect: reportFrom('orderBy') })
  const coming = arrivals(answered)
  const sink = sinkIn({ ...numbers, clock, onEvent })
  const work = relay<Payload<Event>>({
    sink,
    outbox,
    retry,
    clock,
    random,
    maxInFlight: numbers.maxInFlight,
    onEvent,
    hears: isListening(options),
    ended: (outcome) => {
      ended(outcome)
      outcomes.next(outcome)
    },
    storeChanged: news,
  })

  /** What fails to close is told, and keeps nothing else from closing. */
  const quietly = async (where: string, close: () => Promise<void>): Promise<void> => {
    try {
      await close()
    } catch (error) {
      reportFrom(where)(error)
    }
  }

  const shutDown = async (within: number): Promise<CloseResult<Payload<Event>>> => {
    const closed = await closeRelay(work, clock, within, numbers.timeout)
    await quietly('the close of the sink', () => sink.close(numbers.timeout)())
    await quietly('the close of the outbox', () => inTime(clock, numbers.timeout, () => outbox.close()))
    outcomes.complete()
    attempts.complete()
    return closed
  }

  return {
    offer: (payload) => coming.counted(payload.byteLength, work.offer(payload)),
    bury: (payload) => work.offerDead(payload, refused('full')),
    onEvent,
    now,
    reportFrom,
    waiting: () => coming.within(outbox.stats()),
    outcomes$: outcomes.values$,
    attempts$: attempts.values$,
    stats: () => ({
      ...work.totals(),
      refused: counts.refused(),
      bytes: outbox.stats().bytes,
      evictedDeadLetters: outbox.stats().evictedDeadLetters ?? 0,
      urls: counts.urls(),
    }),
    idle: idleness(work),
    redrive: (matches = () => true) => work.redrive(matches),
    close: (options) => {
      const within = timeoutOf(options, CLOSE_WITHIN, reportFrom('the timeout of close'))
      work.stopAccepting()
      whenClosing()
      // A turn later, so that whoever closes inside a callback of the close finds the same promise.
      closing ??= Promise.resolve().then(() => shutDown(within))
      return closing
    },
  }
}
