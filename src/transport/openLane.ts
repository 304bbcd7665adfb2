import { left } from 'fp-ts/lib/Either.js'
import { steady, systemClock } from '../clock/Clock.ts'
import { chain, type Link } from '../internal/Chain.ts'
import { type Failure, retryable } from '../outcome/Failure.ts'
import type { Verdict } from '../outcome/Verdict.ts'
import { type Connection, openConnection } from './Connection.ts'
import { dialer } from './dialer.ts'
import { guardOf } from './Egress.ts'
import { guardedLookup } from './guardedLookup.ts'
import type { Lane, LaneOptions, LanePost, LaneReceiver } from './Lane.ts'
import { statusTable } from './StatusTable.ts'
import { secureContextOf } from './Tls.ts'
import { verdictsOf } from './verdictsOf.ts'

export type { Lane, LaneOptions, LanePost, LaneReceiver } from './Lane.ts'

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

const tell = (job: Job, verdict: Verdict): void => {
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
  tell(job, left(failure))
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
  const busy = chain<Seat>()
  const waiting = chain<Job>()
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
          if (seat.job !== undefined) tell(seat.job, verdicts.ofAnswer(answer))
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
