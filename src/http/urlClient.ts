import { left } from 'fp-ts/lib/Either.js'
import type { Task } from 'fp-ts/lib/Task.js'
import { steady, systemClock } from '../core/clock.ts'
import type { Cancel, Clock } from '../core/clock.ts'
import { retryable } from '../core/failure.ts'
import type { Failure, Refused, Retryable, Verdict } from '../core/failure.ts'
import { linkedList } from '../core/linkedList.ts'
import type { Link } from '../core/linkedList.ts'
import { statusTable, verdictOf } from '../sink/status.ts'
import type { Answer, StatusTable } from '../sink/status.ts'
import { openConnection } from './connection.ts'
import type { Connection, Post } from './connection.ts'
import { dialer } from './dialer.ts'
import { guardedLookup, guardOf } from './egress.ts'
import type { Egress, Lookup } from './egress.ts'
import { secureContextOf } from './tls.ts'
import type { TlsOptions } from './tls.ts'

/** Where requests go, and how. Nothing is checked here: the sinks check their options. */
export interface UrlClientOptions {
  /** The name of the sink in its receipts. */
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
  /** Whether requests keep the process alive, default true. A connection that is being made does so in any case. */
  readonly holds?: boolean
  /** Finds the addresses of a name. Default: the operating system's look-up. */
  readonly lookup?: Lookup
}

/** A POST that starts before `until` (milliseconds since 1970) or not at all. */
export interface TimedPost extends Post {
  readonly until: number
}

/** Is told of a POST: the verdict at the status line, and the end when nothing of the request is left. */
export interface PostObserver {
  readonly next: (verdict: Verdict) => void
  /** The answer's body, before the end, if `maxBody` asked for it and it came whole. */
  readonly body?: (body: Buffer) => void
  readonly complete: () => void
}

/** Sends POSTs to one URL on connections of its own, so that a URL that hangs delays no other. */
export interface UrlClient {
  /** Sends, or waits for a free connection. A cancel destroys the socket of the request, in any phase. */
  readonly post: (post: TimedPost, observer: PostObserver) => Cancel
  /** Accepts nothing more, lets requests end for this many milliseconds, then aborts them. Afterwards no socket is left. */
  readonly close: (timeout: number) => Task<void>
}

interface Job extends Link<Job> {
  readonly post: TimedPost
  readonly observer: PostObserver
  slot: Slot | undefined
  hasVerdict: boolean
  isOver: boolean
}

/** A connection and the job on it. */
interface Slot extends Link<Slot> {
  readonly connection: Connection
  job: Job | undefined
}

const CLOSED = retryable('network', { detail: 'the sink was closed' })
const LATE = retryable('late', { detail: 'the deadline came before the request could start' })

const decide = (job: Job, verdict: Verdict): void => {
  if (job.hasVerdict || job.isOver) return
  job.hasVerdict = true
  job.observer.next(verdict)
}

const finish = (job: Job): void => {
  if (job.isOver) return
  job.isOver = true
  job.slot = undefined
  job.observer.complete()
}

const fail = (job: Job, failure: Failure): void => {
  decide(job, left(failure))
  finish(job)
}

/** Connects at the first request, and keeps idle connections for some seconds. */
export const openUrlClient = (options: UrlClientOptions): UrlClient => {
  const { name, url, connections = 16, connectWithin = 5_000, clock = systemClock, holds = true } = options
  const statuses = options.statuses ?? statusTable
  const guard = guardOf(options.egress)
  const now = steady(clock)
  let secureContext: ReturnType<typeof secureContextOf> | undefined
  const dial = dialer({
    url,
    guard,
    lookup: guardedLookup(guard, options.lookup),
    secureContext: () => (secureContext ??= secureContextOf(options.tls ?? {})),
    timeout: connectWithin,
    clock,
    holds,
  })

  const idle: Slot[] = []
  const busy = linkedList<Slot>()
  const waiting = linkedList<Job>()
  /** Destroyed connections whose socket is not closed yet. */
  const closing = new Set<Slot>()
  const closers = new Set<() => void>()
  let isStarting = false
  let isClosed = false

  // Equal verdicts are one object: all events that wait for a dead receiver share it (480 to 170 bytes an event).
  const verdicts = new Map<number, Verdict>()
  let lastFailure: Refused | Retryable | undefined

  const verdictOn = (answer: Answer): Verdict => {
    if (answer.retryAfter !== undefined) return verdictOf(statuses, name, answer, clock.now(), now())
    let verdict = verdicts.get(answer.status)
    if (verdict === undefined) {
      verdict = verdictOf(statuses, name, answer, 0, 0)
      verdicts.set(answer.status, verdict)
    }
    return verdict
  }

  const shared = (failure: Refused | Retryable): Refused | Retryable => {
    const { _tag, reason, detail } = failure
    if (lastFailure?._tag !== _tag || lastFailure.reason !== reason || lastFailure.detail !== detail)
      lastFailure = failure
    return lastFailure
  }

  const drop = (slot: Slot): void => {
    slot.job = undefined
    busy.remove(slot)
    closing.add(slot)
    slot.connection.destroy(() => {
      closing.delete(slot)
      checkClosed()
    })
  }

  const openSlot = (): Slot => {
    const slot: Slot = {
      older: undefined,
      newer: undefined,
      job: undefined,
      connection: openConnection(url, dial, {
        onAnswer: (answer) => {
          if (slot.job !== undefined) decide(slot.job, verdictOn(answer))
        },
        onEnd: (failure, isReusable, body) => {
          const { job } = slot
          if (job === undefined) return
          slot.job = undefined
          // The connection may carry another request from here on, which a cancel of this one must not abort.
          job.slot = undefined
          busy.remove(slot)
          if (isReusable) idle.push(slot)
          else drop(slot)
          startWaiting()
          if (body !== undefined && !job.isOver) job.observer.body?.(body)
          if (failure === undefined) finish(job)
          else fail(job, shared(failure))
          checkClosed()
        },
      }),
    }
    return slot
  }

  const start = (job: Job): void => {
    if (now() >= job.post.until) {
      fail(job, LATE)
      return
    }
    const slot = idle.pop() ?? openSlot()
    slot.job = job
    job.slot = slot
    busy.push(slot)
    slot.connection.send(job.post)
  }

  const startWaiting = (): void => {
    // A request that fails while it starts comes back here: the loop below goes on anyway.
    if (isStarting) return
    isStarting = true
    for (let job = waiting.oldest(); job !== undefined && busy.size() < connections; job = waiting.oldest()) {
      waiting.remove(job)
      start(job)
    }
    isStarting = false
  }

  const cancel = (job: Job): void => {
    if (job.isOver) return
    job.isOver = true
    waiting.remove(job)
    const { slot } = job
    job.slot = undefined
    if (slot === undefined) return
    drop(slot)
    startWaiting()
  }

  const checkClosed = (): void => {
    if (!isClosed || busy.size() + waiting.size() > 0) return
    for (const slot of idle.splice(0)) drop(slot)
    if (closing.size > 0) return
    for (const closed of closers) closed()
    closers.clear()
  }

  const abortAll = (): void => {
    const slots = busy.drain()
    const jobs = [...waiting.drain(), ...slots.flatMap(({ job }) => job ?? [])]
    for (const slot of slots) drop(slot)
    for (const job of jobs) fail(job, CLOSED)
    checkClosed()
  }

  return {
    post: (post, observer) => {
      const job: Job = {
        older: undefined,
        newer: undefined,
        post,
        observer,
        slot: undefined,
        hasVerdict: false,
        isOver: false,
      }
      if (isClosed) fail(job, CLOSED)
      else if (busy.size() < connections) start(job)
      else waiting.push(job)
      return () => cancel(job)
    },
    close: (timeout) => () =>
      new Promise((resolve) => {
        isClosed = true
        const cancelTimer = clock.schedule(timeout, abortAll)
        closers.add(() => {
          cancelTimer()
          resolve()
        })
        checkClosed()
      }),
  }
}
