/**
 * The way to one receiver: its contract. `openLane` keeps it.
 *
 * @module
 */

import { left } from 'fp-ts/lib/Either.js'
import type { Task } from 'fp-ts/lib/Task.js'
import { steady, systemClock } from '../core/clock.ts'
import type { Cancel, Clock } from '../core/clock.ts'
import { retryable } from '../core/failure.ts'
import type { Verdict, Refused, Retryable, Failure } from '../core/failure.ts'
import { linkedList } from '../core/linkedList.ts'
import type { Link } from '../core/linkedList.ts'
import { verdictOf, statusTable } from '../sink/status.ts'
import type { StatusTable, Answer } from '../sink/status.ts'
import { openConnection } from './connection.ts'
import type { Post, Connection } from './connection.ts'
import { dialer } from './dialer.ts'
import { guardOf, guardedLookup } from './egress.ts'
import type { Egress, Lookup } from './egress.ts'
import { secureContextOf } from './tls.ts'
import type { TlsOptions } from './tls.ts'

/** Where a lane leads, and what it obeys. Nothing of it is checked here: see `targetFaults` and its siblings. */
export interface LaneOptions {
  /** Stands in the receipts. */
  readonly name: string
  readonly url: URL
  /** Requests at a time, each on a connection of its own. Default 16. */
  readonly connections?: number
  /** Milliseconds to connect: name look-up, TCP and TLS. Default 5,000. */
  readonly connectWithin?: number
  readonly tls?: TlsOptions
  readonly statuses?: StatusTable
  readonly egress?: Egress
  readonly clock?: Clock
  /** Whether requests keep the process alive, default true. While it is connecting one does in any case. */
  readonly holds?: boolean
  /** Finds the addresses of a name. Default: what the operating system finds. */
  readonly lookup?: Lookup
}

/** A POST, and until when it may start: milliseconds since 1970 (DE4). */
export interface LanePost extends Post {
  readonly until: number
}

/** Who hears of a POST: the verdict at the status line, then the end, when nothing of it is left running. */
export interface LaneReceiver {
  readonly next: (verdict: Verdict) => void
  /** The answer's body, before the end, if `mostBody` asked for it and it came whole within so many bytes. */
  readonly body?: (body: Buffer) => void
  readonly complete: () => void
}

/** The way to one receiver, with connections of its own, so that a receiver that hangs holds back no other (DE8). */
export interface Lane {
  /** Sends. Cancelled, it tells nothing more, and its socket is destroyed in whatever phase it is. */
  readonly post: (post: LanePost, receiver: LaneReceiver) => Cancel
  /** Takes nothing more, lets what runs end within so many milliseconds, then cuts it off. Afterwards no socket is left. */
  readonly close: (within: number) => Task<void>
}

/** What becomes of answers and failures in one lane. */
export interface Verdicts {
  readonly ofAnswer: (answer: Answer) => Verdict
  /** Of a failure of the network, which has no status and names no moment. */
  readonly ofFailure: (failure: Refused | Retryable) => Refused | Retryable
}

/**
 * The verdicts of one lane. Answers that say no more than their status share one verdict, and a failure that says the same as the
 * last one is the last one: a receiver that is down says the same to all that waits for it, and what waits is kept in great
 * numbers (170 bytes an event beside its payload, where it was 480).
 */
export const verdictsOf = (sink: string, table: StatusTable, clock: Clock): Verdicts => {
  const now = steady(clock)
  const known = new Map<number, Verdict>()
  let last: Refused | Retryable | undefined

  return {
    ofAnswer: (answer) => {
      const { status, retryAfter } = answer
      if (retryAfter !== undefined) return verdictOf(table, sink, answer, clock.now(), now())
      const shared = known.get(status) ?? verdictOf(table, sink, answer, 0, 0)
      known.set(status, shared)
      return shared
    },
    ofFailure: (failure) => {
      const { _tag, reason, detail } = failure
      if (last?._tag !== _tag || last.reason !== reason || last.detail !== detail) last = failure
      return last
    },
  }
}

interface Job extends Link<Job> {
  readonly post: LanePost
  readonly receiver: LaneReceiver
  seat: Seat | undefined
  told: boolean
  over: boolean
}

/** A connection, and the job on it. */
interface Seat extends Link<Seat> {
  readonly connection: Connection
  job: Job | undefined
}

const CLOSED = retryable('network', { detail: 'the sink was closed' })
const LATE = retryable('late', { detail: 'the deadline came before the request could start' })

/** A receiver that throws is reported as RxJS reports a subscriber that throws: out of line, where it can harm nobody here. */
const outOfLine = (defect: unknown): void => {
  queueMicrotask(() => {
    throw defect
  })
}

const onEvent = (job: Job, verdict: Verdict): void => {
  if (job.told || job.over) return
  job.told = true
  try {
    job.receiver.next(verdict)
  } catch (defect) {
    outOfLine(defect)
  }
}

const tellBody = (job: Job, body: Buffer): void => {
  try {
    if (!job.over) job.receiver.body?.(body)
  } catch (defect) {
    outOfLine(defect)
  }
}

const finish = (job: Job): void => {
  if (job.over) return
  job.over = true
  job.seat = undefined
  try {
    job.receiver.complete()
  } catch (defect) {
    outOfLine(defect)
  }
}

const fail = (job: Job, failure: Failure): void => {
  onEvent(job, left(failure))
  finish(job)
}

/** Opens a lane. It connects when the first request comes, and keeps idle connections for some seconds. */
export const openLane = (options: LaneOptions): Lane => {
  const { name, url, connections = 16, connectWithin = 5_000, clock = systemClock, holds = true } = options
  const verdicts = verdictsOf(name, options.statuses ?? statusTable, clock)
  const guard = guardOf(options.egress)
  const now = steady(clock)
  let context: ReturnType<typeof secureContextOf> | undefined
  const dial = dialer({
    url,
    guard,
    lookup: guardedLookup(guard, options.lookup),
    secureContext: () => (context ??= secureContextOf(options.tls ?? {})),
    within: connectWithin,
    clock,
    holds,
  })

  const idle: Seat[] = []
  const busy = linkedList<Seat>()
  const waiting = linkedList<Job>()
  const leaving = new Set<Seat>()
  const quietListeners = new Set<() => void>()
  let starting = false
  let closed = false

  const drop = (seat: Seat): void => {
    seat.job = undefined
    busy.remove(seat)
    leaving.add(seat)
    seat.connection.destroy(() => {
      leaving.delete(seat)
      whenQuiet()
    })
  }

  const openSeat = (): Seat => {
    const seat: Seat = {
      older: undefined,
      newer: undefined,
      job: undefined,
      connection: openConnection(url, dial, {
        answered: (answer) => {
          if (seat.job !== undefined) onEvent(seat.job, verdicts.ofAnswer(answer))
        },
        ended: (failure, reusable, body) => {
          const { job } = seat
          if (job === undefined) return
          seat.job = undefined
          // The connection may carry another one from here on: a cancel of this one must not take it along.
          job.seat = undefined
          busy.remove(seat)
          if (reusable) idle.push(seat)
          else drop(seat)
          startWaiting()
          if (body !== undefined) tellBody(job, body)
          if (failure === undefined) finish(job)
          else fail(job, verdicts.ofFailure(failure))
          whenQuiet()
        },
      }),
    }
    return seat
  }

  const start = (job: Job): void => {
    if (now() >= job.post.until) {
      fail(job, LATE)
      return
    }
    const seat = idle.pop() ?? openSeat()
    seat.job = job
    job.seat = seat
    busy.push(seat)
    seat.connection.send(job.post)
  }

  /** A request can fail while it starts and so come back here: the loop that runs already takes its place. */
  const startWaiting = (): void => {
    if (starting) return
    starting = true
    for (let job = waiting.oldest(); job !== undefined && busy.size() < connections; job = waiting.oldest()) {
      waiting.remove(job)
      start(job)
    }
    starting = false
  }

  const cancel = (job: Job): void => {
    if (job.over) return
    job.over = true
    waiting.remove(job)
    const { seat } = job
    job.seat = undefined
    if (seat === undefined) return
    drop(seat)
    startWaiting()
  }

  const whenQuiet = (): void => {
    if (!closed || busy.size() + waiting.size() > 0) return
    for (const seat of idle.splice(0)) drop(seat)
    if (leaving.size > 0) return
    for (const listener of quietListeners) listener()
    quietListeners.clear()
  }

  const cutOff = (): void => {
    const seats = busy.drain()
    const jobs = [...waiting.drain(), ...seats.flatMap(({ job }) => job ?? [])]
    for (const seat of seats) drop(seat)
    for (const job of jobs) fail(job, CLOSED)
    whenQuiet()
  }

  return {
    post: (post, receiver) => {
      const job: Job = {
        older: undefined,
        newer: undefined,
        post,
        receiver,
        seat: undefined,
        told: false,
        over: false,
      }
      if (closed) fail(job, CLOSED)
      else if (busy.size() < connections) start(job)
      else waiting.push(job)
      return () => {
        cancel(job)
      }
    },
    close: (within) => () =>
      new Promise((resolve) => {
        closed = true
        const stop = clock.schedule(within, cutOff)
        quietListeners.add(() => {
          stop()
          resolve()
        })
        whenQuiet()
      }),
  }
}
