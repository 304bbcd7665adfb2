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
import { isPromiseLike, messageOf, whenAnswered } from '../core/awaitable.ts'
import { steady } from '../core/clock.ts'
import type { Cancel } from '../core/clock.ts'
import { refused, retryable } from '../core/failure.ts'
import type { Verdict } from '../core/failure.ts'
import { rejected } from '../core/outcome.ts'
import type { ClosedBy } from '../event/payload.ts'
import type { Listener } from '../log/logEvent.ts'
import type { Entry } from '../outbox/outbox.ts'
import { deadlineOf } from '../policy/retryPolicy.ts'
import { nothingToCancel, subscribeTo } from '../sink/layer.ts'
import type { Sink } from '../sink/sink.ts'
import { batchOf, bodyBytes, bytesIn, countThatFits, lateOutcome, settled } from './batch.ts'
import { isMessage } from './message.ts'
import type { Message, SentBatch } from './message.ts'
import type { Ended, MessageStore } from './messageStore.ts'
import type { ClientSettings } from './options.ts'

export interface BatchRelay {
  /** Messages came into the store. `poll` sends them. */
  readonly added: (count: number, bytes: number) => void
  /** Sends what is due. */
  readonly poll: () => void
  /** The same after one message was added, without work if nothing is due. */
  readonly pollNew: () => void
  /** Sends what waits, and the `unstored` messages that come next, without waiting for full batches. */
  readonly flush: (closedBy: 'flush' | 'end', unstored: number) => void
  /** Other processes changed the store. */
  readonly lookAgain: () => void
  /** Takes out the oldest message that is not in flight. The store must answer at once. */
  readonly takeOldest: () => Entry<Message> | undefined
  /** Whether a batch is in flight, or may be sent before `instant`. */
  readonly hasWorkBefore: (instant: number) => boolean
  /** Whether nothing is in flight and no retry waits. */
  readonly isIdle: () => boolean
  readonly inFlight: () => number
  readonly stopStarting: () => void
  /** Cancels the batches in flight. Answers what is leased and has not ended. */
  readonly cut: () => ReadonlyArray<Entry<Message>>
}

/** What a batch relay reports. */
export interface RelayEvents {
  readonly onEvent: Listener
  /** A batch is sent. */
  readonly sent: () => void
  /** The store knows that these ended. */
  readonly ended: (list: ReadonlyArray<Ended>) => void
  /** An entry was not a message. It ended as a dead letter. */
  readonly corrupt: (id: string) => void
  /** A batch is over, or nothing was found. */
  readonly changed: () => void
}

interface Delivery {
  readonly batch: SentBatch
  readonly entries: ReadonlyArray<Entry<Message>>
  readonly startedAt: number
  readonly number: number
  hasVerdict: boolean
  cancel: Cancel
}

/** The pause after a lease that failed or found nothing, in milliseconds. */
const LEASE_RETRY_DELAY = 1_000
const NONE: ReadonlyArray<never> = []

const UNREADABLE = refused('unreadable', { detail: 'the outbox handed out something that is not a message' })

const isReadable = ({ item }: Entry<Message>): boolean => isMessage(item)

export const batchRelay = (
  settings: ClientSettings,
  store: MessageStore,
  sink: Sink<SentBatch>,
  stored: { readonly waiting: number; readonly bytes: number },
  { onEvent, sent, ended, corrupt, changed }: RelayEvents,
): BatchRelay => {
  const { size, maxBatch, flushAfter, concurrency, retry, clock, random } = settings
  const now = steady(clock)
  const window = deadlineOf(retry)
  const subscribe = subscribeTo(sink)
  const deliveries = new Set<Delivery>()
  /** Entry ids of retries that are not in flight. */
  const retries = new Set<string>()
  /** Leased, but left out of the last batch. */
  let unsent: ReadonlyArray<Entry<Message>> = []
  /** Messages in the store that wait for their first batch, and their bytes. */
  let fresh = stored.waiting
  let freshBytes = stored.bytes
  /** This many of the messages that wait are sent without waiting for a full batch. */
  let flushing = 0
  let flushedBy: 'flush' | 'end' = 'flush'
  let wasChangedByOthers = false
  let lastSent = now()
  let isLeasing = false
  let nacks = 0
  let pausedUntil = -Infinity
  let isStopped = false
  let isPolling = false
  let mustPoll = false
  let timerAt = Infinity
  let cancelTimer = nothingToCancel

  const isBlocked = (): boolean => isStopped || isLeasing || nacks > 0 || deliveries.size >= concurrency

  /** Whether the messages that wait fill a batch. */
  const fullBy = (): 'count' | 'bytes' | undefined => {
    const count = fresh + unsent.length
    if (count >= size) return 'count'
    const bytes = bodyBytes(count, freshBytes + bytesIn(unsent))
    return bytes >= maxBatch && count > 0 ? 'bytes' : undefined
  }

  /** Why a batch is to be sent now, or undefined. */
  const reason = (): ClosedBy | undefined => {
    if (isBlocked()) return undefined
    const retryDue = store.nextDue(true)
    const hasNew = fresh + unsent.length > 0 || wasChangedByOthers
    if (retryDue === undefined && !hasNew) return undefined
    const at = now()
    if (at < pausedUntil) return undefined
    if (retryDue !== undefined) {
      if (retryDue <= at) return 'retry'
      if (concurrency === 1) return undefined
    }
    if (!hasNew || (unsent.length === 0 && (store.nextDue() ?? Infinity) > at)) return undefined
    const full = fullBy()
    if (full !== undefined) return full
    if (flushing > 0 || wasChangedByOthers) return flushedBy
    return at >= lastSent + flushAfter ? 'delay' : undefined
  }

  /** When there will be a reason if nothing else happens. */
  const nextSend = (): number => {
    const retryDue = store.nextDue(true) ?? Infinity
    const mustWait = retryDue < Infinity && concurrency === 1
    if (fresh + unsent.length === 0 || mustWait) return Math.max(pausedUntil, retryDue)
    // What is being stored cannot be leased yet.
    const newDue = unsent.length > 0 ? 0 : (store.nextDue() ?? Infinity)
    return Math.max(pausedUntil, Math.min(retryDue, Math.max(newDue, lastSent + flushAfter)))
  }

  const setTimer = (): void => {
    const wakeAt = isBlocked() ? Infinity : nextSend()
    if (wakeAt === timerAt) return
    cancelTimer()
    timerAt = wakeAt
    cancelTimer = wakeAt === Infinity ? nothingToCancel : clock.schedule(wakeAt - now(), onTimer)
  }
  const onTimer = (): void => {
    timerAt = Infinity
    poll()
  }

  /** A loop, not a recursion: a sink may answer at once, for thousands of batches in a row. */
  const poll = (): void => {
    mustPoll = true
    if (isPolling) return
    isPolling = true
    while (mustPoll) {
      mustPoll = false
      for (let closedBy = reason(); closedBy !== undefined; closedBy = reason()) lease(closedBy)
    }
    isPolling = false
    setTimer()
  }

  const lease = (closedBy: ClosedBy): void => {
    // Retries go first: they are older than what the last batch left out.
    const retriesOnly = unsent.length > 0 && closedBy === 'retry'
    const count = retriesOnly ? size : Math.max(0, size - unsent.length)
    lastSent = now()
    wasChangedByOthers = false
    isLeasing = true
    let isHere = true
    const poke = (): void => {
      if (!isHere) poll()
    }
    whenAnswered(
      () => store.lease(lastSent, { count, retries: count, retriesOnly }),
      (leased) => {
        isLeasing = false
        onLeased(leased, retriesOnly, closedBy)
        poke()
      },
      (error) => {
        isLeasing = false
        pausedUntil = now() + LEASE_RETRY_DELAY
        onEvent({ _tag: 'Defect', at: now(), where: 'outbox', error })
        poke()
      },
    )
    isHere = false
  }

  const onLeased = (
    leased: ReadonlyArray<Entry<Message>>,
    retriesOnly: boolean,
    closedBy: ClosedBy,
  ): void => {
    const readable = leased.every(isReadable) ? leased : endUnreadable(leased)
    for (const { id, item } of readable) if (retries.size === 0 || !retries.has(id)) removeNew(item)
    // What cannot be read was counted when it was stored, and is never leased.
    if (leased.length === 0 && !retriesOnly && (store.nextDue() ?? Infinity) > now()) fresh = freshBytes = 0
    let all = readable
    if (unsent.length > 0) all = retriesOnly ? [...readable, ...unsent] : [...unsent, ...readable]
    const entries = sendable(all)
    unsent = NONE
    if (entries.length > 0) {
      send(entries, closedBy)
      return
    }
    if (leased.length === 0) pausedUntil = now() + LEASE_RETRY_DELAY
    changed()
  }

  /** An outbox of the host may not keep messages whole. */
  const endUnreadable = (leased: ReadonlyArray<Entry<Message>>): ReadonlyArray<Entry<Message>> => {
    const unreadable = leased.filter((entry) => !isReadable(entry))
    fresh = Math.max(0, fresh - unreadable.length)
    const ends = unreadable.map((entry) => ({ entry, outcome: rejected(entry.item, 0, UNREADABLE) }))
    store.ack(ends, () => {
      for (const { id } of unreadable) corrupt(id)
    })
    return leased.filter(isReadable)
  }

  /** A message is leased for its first batch. */
  const removeNew = ({ byteLength }: Message): void => {
    fresh = Math.max(0, fresh - 1)
    freshBytes = fresh === 0 ? 0 : freshBytes - byteLength
  }

  const sendable = (entries: ReadonlyArray<Entry<Message>>): ReadonlyArray<Entry<Message>> => {
    const at = now()
    if (entries.every((entry) => lateOutcome(entry, window, at) === undefined)) return entries
    const over: Ended[] = []
    const rest = entries.filter((entry) => {
      const outcome = lateOutcome(entry, window, at)
      if (outcome !== undefined) over.push({ entry, outcome })
      return outcome === undefined
    })
    if (over.length > 0) store.ack(over, ended)
    for (const { entry } of over) retries.delete(entry.id)
    return rest
  }

  const send = (all: ReadonlyArray<Entry<Message>>, closedBy: ClosedBy): void => {
    const startedAt = now()
    const count = countThatFits(all, size, maxBatch)
    const entries = count === all.length ? all : all.slice(0, count)
    if (count < all.length) unsent = all.slice(count)
    for (const { id } of entries) if (!(retries.size > 0 && retries.delete(id)) && flushing > 0) flushing--
    const { batch, attempts, firstAttemptAt } = batchOf(entries, closedBy, startedAt)
    const number = attempts + 1
    const status = { hasVerdict: false, cancel: nothingToCancel }
    const delivery: Delivery = { batch, entries, startedAt, number, ...status }
    deliveries.add(delivery)
    sent()
    const finish = (): void => {
      deliveries.delete(delivery)
      poll()
      changed()
    }
    const cancel = subscribe(
      batch,
      { number, until: firstAttemptAt + window, lastFailure: undefined },
      {
        next: (verdict) => settle(delivery, verdict),
        complete: finish,
        error: (error) => {
          const failure = retryable('defect', { detail: messageOf(error) })
          if (!delivery.hasVerdict) settle(delivery, left(failure))
          finish()
        },
      },
    )
    if (deliveries.has(delivery)) delivery.cancel = cancel
  }

  const settle = (delivery: Delivery, verdict: Verdict): void => {
    delivery.hasVerdict = true
    const { entries, batch, number, startedAt } = delivery
    const at = now()
    const { over, again, wait } = settled(entries, verdict, retry, startedAt, at, random)
    if (over.length > 0) store.ack(over, ended)
    if (wait === undefined) return
    const { due, delay, because, progress } = wait
    const attempts = again.some((entry) => entry.progress !== undefined) ? number : number - 1
    onEvent({ _tag: 'Waiting', at, item: batch, attempts, failure: progress.lastFailure, delay, because })
    for (const { id } of again) retries.add(id)
    nacks++
    store.nack(again, due, () => {
      nacks--
      poll()
    })
  }

  return {
    added: (count, bytes) => {
      fresh += count
      freshBytes += bytes
    },
    poll,
    pollNew: () => {
      // The timer is set, and nothing else is due before.
      const isSet = deliveries.size >= concurrency || timerAt === lastSent + flushAfter
      if (!isSet || (deliveries.size < concurrency && (flushing > 0 || fullBy() !== undefined))) poll()
    },
    flush: (closedBy, unstored) => {
      flushing = fresh + unsent.length + unstored
      flushedBy = closedBy
      poll()
    },
    lookAgain: () => {
      wasChangedByOthers = true
      pausedUntil = -Infinity
      poll()
    },
    takeOldest: () => {
      const take = (limits: {
        readonly retries: number
        readonly retriesOnly?: boolean
      }): Entry<Message> | undefined => {
        const leased = store.lease(Number.MAX_SAFE_INTEGER, { count: 1, ...limits })
        return isPromiseLike(leased) ? undefined : leased[0]
      }
      const retried = take({ retries: 1, retriesOnly: true })
      if (retried !== undefined) {
        retries.delete(retried.id)
        return retried
      }
      const [first, ...others] = unsent
      unsent = others
      const oldest = first ?? take({ retries: 0 })
      if (oldest === undefined) return undefined
      if (first === undefined) removeNew(oldest.item)
      if (!retries.delete(oldest.id) && flushing > 0) flushing--
      return oldest
    },
    hasWorkBefore: (instant) => {
      if (deliveries.size > 0 || isLeasing || nacks > 0) return true
      if (isStopped) return false
      const retryDue = store.nextDue(true)
      if (retryDue !== undefined && (concurrency === 1 || retryDue < instant)) return retryDue < instant
      return unsent.length > 0 || (store.nextDue() ?? Infinity) < instant
    },
    isIdle: () => deliveries.size === 0 && retries.size === 0 && !isLeasing,
    inFlight: () => deliveries.size,
    stopStarting: () => {
      isStopped = true
      cancelTimer()
    },
    cut: () => {
      const open = [...deliveries]
      deliveries.clear()
      for (const { cancel } of open) cancel()
      const left = unsent
      unsent = []
      return [...open.filter(({ hasVerdict }) => !hasVerdict).flatMap(({ entries }) => entries), ...left]
    },
  }
}
