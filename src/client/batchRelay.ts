/**
 * Sends the messages of a store in batches, the oldest first, and retries them.
 *
 *     store.lease ─▶ batch ─▶ sink ─▶ step, for each message ─┬─▶ store.ack
 *                                                             └─▶ store.nack, and leased again when it is due
 *
 * A batch is only a way of sending: each message is stored, retried and reported by itself. With a concurrency of 1 nothing is sent while
 * a retry waits, so the order is kept.
 *
 * @module
 */
import { left } from 'fp-ts/lib/Either.js'
import { scheduleSafely, steady } from '../core/clock.ts'
import type { Cancel } from '../core/clock.ts'
import { drainLoop } from '../core/drainLoop.ts'
import { earliestRetry, messageOf, retryable } from '../core/failure.ts'
import type { Verdict } from '../core/failure.ts'
import { inMicrotask } from '../core/ownContext.ts'
import type { OwnContext } from '../core/ownContext.ts'
import { newId } from '../event/payload.ts'
import type { ClosedBy } from '../event/payload.ts'
import { trackingFrame } from '../event/trackingMessage.ts'
import type { Listener } from '../log/logEvent.ts'
import { closedReporter, decide, lateEnd } from '../outbox/decide.ts'
import type { Ack, Entry } from '../outbox/outbox.ts'
import { deadlineOf } from '../policy/retryPolicy.ts'
import type { Wait } from '../policy/step.ts'
import { nothingToCancel, subscribeTo } from '../sink/layer.ts'
import { MAX_HOLD } from '../sink/retryAfterGate.ts'
import type { Sink } from '../sink/sink.ts'
import type { CallType, Message, SentBatch } from './message.ts'
import type { Entries, MessageStore } from './messageStore.ts'
import { FRAME_BYTES } from './options.ts'
import type { ClientSettings } from './options.ts'

/** A batch in flight. */
interface Delivery {
  readonly entries: Entries
  hasVerdict: boolean
  cancel: Cancel
}

/** The pause after a lease that failed, in milliseconds. */
const LEASE_RETRY_DELAY = 1_000
const COMMA = 1

/**
 * @param isFull whether there may be no room for one more message
 * @param sent the counters of batches
 * @param ended the store knows that these ended
 * @param changed a batch is over, or nothing was found
 */
export const batchRelay = (
  { size, maxBatch, flushAfter, concurrency, retry, clock, random }: ClientSettings,
  own: OwnContext,
  isFull: () => boolean,
  store: MessageStore,
  sink: Sink<SentBatch>,
  sent: { batches: number; attempts: number },
  onEvent: Listener,
  ended: (list: ReadonlyArray<Ack<Message>>) => void,
  changed: () => void,
) => {
  const { fresh } = store
  const now = steady(clock)
  const reportClosed = closedReporter(onEvent, now)
  const window = deadlineOf(retry)
  const subscribe = subscribeTo(sink)
  const deliveries = new Set<Delivery>()
  /** What waits is sent without waiting for full batches. */
  let flushedBy: 'flush' | 'end' | undefined
  let wasChangedByOthers = false
  let lastSent = now()
  let isLeasing = false
  let nacks = 0
  /** Nothing is sent before: a lease failed, or the endpoint asked for a pause. */
  let heldUntil = -Infinity
  let isStopped = false
  let timerAt = Infinity
  let cancelTimer = nothingToCancel

  const failedIn =
    (where: string) =>
    (error: unknown): void =>
      onEvent({ _tag: 'Defect', at: now(), where, error })

  /** A random source that throws counts as one that answers 1: the full delay. */
  const drawSafely = (): number => {
    try {
      return random()
    } catch (error) {
      failedIn('random')(error)
      return 1
    }
  }

  /** Whether what waits for its first batch fills one, or a queue that is smaller than a batch. */
  const fullBy = (): 'count' | 'bytes' | 'flush' | undefined => {
    const { count, bytes } = fresh
    if (count >= size) return 'count'
    if (FRAME_BYTES + bytes + COMMA * (count - 1) >= maxBatch) return 'bytes'
    return isFull() ? 'flush' : undefined
  }

  /** When the next batch is to be sent if nothing else happens, and why. */
  const nextBatch = (): { readonly due: number; readonly closedBy: ClosedBy } => {
    if (fresh.count === 0 && !store.isStoring()) flushedBy = undefined
    const isBusy = isLeasing || nacks > 0 || deliveries.size >= concurrency
    if (isStopped || isBusy || store.isBehind()) return { due: Infinity, closedBy: 'delay' }
    const retryDue = store.nextRetry()
    const retriesFirst = retryDue <= now() || (retryDue < Infinity && concurrency === 1)
    const closedBy = fullBy() ?? flushedBy ?? (wasChangedByOthers ? 'flush' : 'delay')
    let newDue = closedBy === 'delay' ? lastSent + flushAfter : -Infinity
    if (retriesFirst || (fresh.count === 0 && !wasChangedByOthers)) newDue = Infinity
    return newDue < retryDue
      ? { due: Math.max(newDue, heldUntil), closedBy }
      : { due: Math.max(retryDue, heldUntil), closedBy: 'retry' }
  }

  const passes = drainLoop(() => {
    let next = nextBatch()
    while (next.due <= now()) {
      lease(next.closedBy)
      next = nextBatch()
    }
    if (next.due === timerAt) return
    cancelTimer()
    timerAt = next.due
    cancelTimer =
      timerAt === Infinity
        ? nothingToCancel
        : scheduleSafely(clock, timerAt - now(), onTimer, failedIn('clock'))
  })
  const poll = (): void => own(passes.run)
  const pollSoon = inMicrotask(own, passes.run)
  const onTimer = (): void => {
    timerAt = Infinity
    poll()
  }

  const lease = (closedBy: ClosedBy): void => {
    const isRetry = closedBy === 'retry'
    const forOthers = wasChangedByOthers
    wasChangedByOthers = false
    lastSent = now()
    isLeasing = true
    store.lease(lastSent, size, isRetry, (leased) => {
      isLeasing = false
      if (leased === undefined) heldUntil = Math.max(heldUntil, now() + LEASE_RETRY_DELAY)
      else {
        // More may be there if all that was asked for was found.
        wasChangedByOthers ||= forOthers && (isRetry || leased.length === size)
        const entries = endLate(leased)
        if (entries.length > 0) trySend(entries, closedBy)
        else changed()
      }
      poll()
    })
  }

  /** Ends what is past its deadline, after a pause or a restart. Answers the rest. */
  const endLate = (entries: Entries): Entries => {
    const at = now()
    const late: Array<Ack<Message>> = []
    const inTime: Array<Entry<Message>> = []
    for (const entry of entries) {
      const end = lateEnd(entry, at, window, clock)
      if (end === undefined) inTime.push(entry)
      else late.push(end)
    }
    if (late.length > 0) store.ack(late, ended)
    return inTime
  }

  /** What stops a batch from being put together costs it a second. */
  const trySend = (leased: Entries, closedBy: ClosedBy): void => {
    try {
      send(leased, closedBy)
    } catch (error) {
      failedIn('batch')(error)
      store.giveBack(leased, closedBy === 'retry')
      heldUntil = Math.max(heldUntil, now() + LEASE_RETRY_DELAY)
    }
  }

  /** Sends as many of the entries as fit into one request, at least one, and gives back the rest. */
  const send = (leased: Entries, closedBy: ClosedBy): void => {
    const startedAt = now()
    const members: Message[] = []
    const items: CallType[] = []
    let byteLength = FRAME_BYTES - COMMA
    let number = 1
    let until = window + startedAt
    for (const { item, progress, firstAttemptAt = startedAt } of leased) {
      if (members.length > 0 && byteLength + COMMA + item.byteLength > maxBatch) break
      members.push(item)
      items.push(item.items[0])
      byteLength += COMMA + item.byteLength
      number = Math.max(number, 1 + (progress?.attempts ?? 0))
      until = Math.min(until, window + firstAttemptAt)
    }
    const entries = leased.slice(0, members.length)
    const batch: SentBatch = { id: newId(), items, members, byteLength, frame: trackingFrame, closedBy }
    if (entries.length < leased.length) store.giveBack(leased.slice(entries.length), closedBy === 'retry')
    const delivery: Delivery = { entries, hasVerdict: false, cancel: nothingToCancel }

    const settle = (result: Verdict): void => {
      delivery.hasVerdict = true
      sent.attempts++
      const at = now()
      const duration = at - startedAt
      const late = at > until ? { late: at - until } : undefined
      onEvent({ _tag: 'Attempted', at, item: batch, sink: sink.name, number, duration, result, ...late })
      reportClosed(result)
      const failure = result._tag === 'Left' ? result.left : undefined
      const notBefore = failure && earliestRetry(failure)
      if (notBefore !== undefined) heldUntil = Math.max(heldUntil, Math.min(notBefore, at + MAX_HOLD))
      const isPartly = failure?._tag === 'PartlyFailed' && failure.members.length === entries.length
      const verdicts = isPartly ? failure.members : []
      // One random number for the batch, so that messages that failed together are retried together.
      let drawn: number | undefined
      const draw = (): number => (drawn ??= drawSafely())
      const over: Array<Ack<Message>> = []
      const again: Array<Entry<Message>> = []
      let attempts = 0
      let wait: Wait | undefined
      for (const [index, entry] of entries.entries()) {
        const next = decide(retry, entry, startedAt, verdicts[index] ?? result, at, draw)
        if ('outcome' in next) over.push(next)
        else {
          again.push(next.entry)
          attempts = Math.max(attempts, next.attempts)
          if (wait === undefined || next.wait.due > wait.due) wait = next.wait
        }
      }
      if (over.length > 0) store.ack(over, ended)
      if (wait === undefined) return
      const { due, delay, because, progress } = wait
      onEvent({ _tag: 'Waiting', at, item: batch, attempts, failure: progress.lastFailure, delay, because })
      nacks++
      store.nack(again, due, () => {
        nacks--
        poll()
      })
    }

    const finish = (): void => {
      deliveries.delete(delivery)
      poll()
      changed()
    }

    const fail = (error: unknown): void => {
      failedIn(sink.name)(error)
      if (!delivery.hasVerdict) settle(left(retryable('defect', { detail: messageOf(error) })))
      finish()
    }

    deliveries.add(delivery)
    sent.batches++
    const cancel = subscribe(
      batch,
      { number, until, lastFailure: undefined, clock },
      {
        next: (result) => own(settle, result),
        complete: () => own(finish),
        error: (error) => own(fail, error),
      },
    )
    if (deliveries.has(delivery)) delivery.cancel = cancel
  }

  return {
    /** Sends what is due. */
    poll,
    /** Polls after one message was added, without work if nothing is due. */
    pollNew: (): void => {
      // Until the timer, which is set, only a full batch or a flush is a reason to send.
      const isSet = deliveries.size >= concurrency || timerAt === lastSent + flushAfter
      if (!isSet || (deliveries.size < concurrency && (flushedBy ?? fullBy()) !== undefined)) pollSoon()
    },
    /** Sends what waits without waiting for full batches. */
    flush: (closedBy: 'flush' | 'end'): void => {
      flushedBy = closedBy
      pollSoon()
    },
    /** Other processes changed the store. */
    lookAgain: (): void => {
      wasChangedByOthers = true
      pollSoon()
    },
    /** Takes out the oldest message that is not in flight. The store must answer at once. */
    takeOldest: (): Entry<Message> | undefined => {
      let oldest: Entry<Message> | undefined
      const take = (leased?: Entries): void => void (oldest = leased?.[0])
      store.lease(Number.MAX_SAFE_INTEGER, 1, true, take)
      if (oldest === undefined) store.lease(Number.MAX_SAFE_INTEGER, 1, false, take)
      return oldest
    },
    /** Whether a batch is in flight, or may be sent before `instant`. To be called after `flush`. */
    hasWorkBefore: (instant: number): boolean =>
      deliveries.size > 0 || isLeasing || nacks > 0 || nextBatch().due < instant,
    inFlight: (): number => deliveries.size,
    stopStarting: (): void => {
      isStopped = true
      cancelTimer()
    },
    /** Cancels the batches in flight. Answers what has no verdict. */
    cut: (): Entries => {
      const open = [...deliveries]
      deliveries.clear()
      for (const { cancel } of open) cancel()
      return open.flatMap(({ hasVerdict, entries }) => (hasVerdict ? [] : entries))
    },
  }
}
