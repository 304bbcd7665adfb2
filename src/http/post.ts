import type { Observer } from 'rxjs'
import type { Client as UndiciClient, Dispatcher } from 'undici'
import { left } from '../core/either.ts'
import { byteBuffer, type ByteBuffer } from '../core/byteBuffer.ts'
import { backgroundClock, nextTurn, type Cancel } from '../core/clock.ts'
import { ownContext } from '../core/ownContext.ts'
import { messageOf, refused, retryable, sinkClosed, type Failure, type Verdict } from '../core/failure.ts'
import { kindOf } from '../core/json.ts'
import { bytesOf, isChangedAfterSign, isPayload, type Payload, type Signer } from '../event/payload.ts'
import { MAX_DRAINED } from '../sink/fromFunction.ts'
import { answer, makeSink } from '../sink/layer.ts'
import { clockOf, nowOf, partOf, SHARED, type Attempt, type Sink } from '../sink/sink.ts'
import { statusTable, verdictOf } from '../sink/status.ts'
import { dialer, skipInterimAnswers } from './dialer.ts'
import { guardedLookup, guardOf } from './egress.ts'
import { failureOf } from './networkError.ts'
import { addedHeaders, urlName, type RequestOptions } from './httpOptions.ts'

export interface Posting {
  readonly payload: Payload<unknown>
  /** Receives the body of the answer before the end, if it came whole and has at most `maxBody` bytes. */
  readonly onBody?: (body: Buffer) => unknown
  readonly maxBody?: number
}

/** Options of `postTo`. They are not checked here. */
export interface PostOptions extends RequestOptions {
  /** Headers of one request: name, value, name, value. */
  readonly headersOf?: (sent: Payload<unknown>, attempt: Attempt, body: Uint8Array) => ReadonlyArray<string>
  /** Asked at each attempt. It signs the body in place of the payload's own signature. */
  readonly signer?: (() => Signer) | undefined
  /** Milliseconds to look up the name, connect and agree on TLS. Default 5,000. */
  readonly connectWithin?: number
  /** Whether requests keep the process alive. Default true; false for one that drains before its end. */
  readonly holds?: boolean
}

interface PostJob {
  /** Name, value, name, value. */
  readonly headers: string[]
  readonly body: Uint8Array
  readonly maxBody: number
  readonly onBody: Posting['onBody']
  readonly attempt: Attempt
  readonly observer: Observer<Verdict>
  slot: Slot | undefined
}

/** A payload's bytes, shared by the sinks of an attempt: writing and signing are 15 to 30 % of five URLs. */
interface Wire {
  readonly payload: Payload<unknown>
  readonly bytes: Uint8Array
  /** One for each secret, because a URL may have its own. A list: a `Map` of one takes 570 bytes. */
  readonly signatures: Array<{ readonly signer: Signer; readonly signature: string }>
}

/** A connection and the job on it. Without a job, undici's reports are ignored. */
interface Slot {
  /** Undefined until undici is loaded. */
  client: Dispatcher | undefined
  readonly connect: (Client: typeof UndiciClient) => Dispatcher
  readonly handler: Dispatcher.DispatchHandler
  readonly destroy: () => void
  job: PostJob | undefined
  isSent: boolean
  /** Bytes of the answer's body, and the body itself while it is wanted. */
  received: number
  body: ByteBuffer | undefined
}

/** Answers are read this far even if nothing needs them: then the connection can be used again. */
const MAX_HEADERS = 16_384

const CUT_BY_CLOSE = retryable('network', { detail: 'the close of the sink cut its request' })
const CHANGED = refused('changedAfterSign', { detail: 'its text was changed after sign: sign last' })
const TOO_LATE_TO_SEND = retryable('late', { detail: 'the deadline came before the request could start' })

let LoadedClient: typeof UndiciClient | undefined

/** At the first request of the process, because undici takes 26 ms of CPU. */
const loadClient = async (): Promise<typeof UndiciClient> => {
  // From its own file: Bun puts a module of its own in the place of `undici`, whose client never answers.
  // @ts-expect-error That file has no types. Its default export is the class that undici exports by name.
  const loaded = (await import('undici/lib/dispatcher/client.js')) as { default: typeof UndiciClient }
  return (LoadedClient = loaded.default)
}

const signatureOf = ({ bytes, signatures }: Wire, signer: Signer): string => {
  for (const known of signatures) if (known.signer === signer) return known.signature
  const signature = signer(bytes)
  signatures.push({ signer, signature })
  return signature
}

/** Of the sinks that share the slot of their attempt, the first one makes it. */
const wireOf = (payload: Payload<unknown>, attempt: Attempt): Wire => {
  const slot = attempt[SHARED]
  // Nothing else writes into the slot.
  const known = slot?.work as Wire | undefined
  if (known?.payload === payload) return known
  const wire = { payload, bytes: bytesOf(payload, clockOf(attempt).now()), signatures: [] }
  if (slot !== undefined) slot.work = wire
  return wire
}

/**
 * A sink that posts to one URL, on connections of its own, so that a URL that hangs delays no other: without
 * queue, without limit of time. The verdict comes at the status line, the end when the body of the answer is
 * read or dropped; a cancel destroys the socket in any phase. It connects at the first request and keeps idle
 * connections for some seconds. `fixed` are headers of every request beside the Content-Type.
 */
export const postTo = <A>(
  url: URL,
  fixed: ReadonlyArray<string>,
  options: PostOptions,
  postingOf: (item: A) => Posting,
): Sink<A> => {
  const { statuses = statusTable, tls = {}, dispatcher, headersOf } = options
  const { connectWithin = 5_000, holds = true } = options
  const name = urlName(url)
  const { origin } = url
  const path = url.pathname + url.search
  const guard = guardOf(options.egress)
  // A connection outlives its first attempt, so it has the time of the machine. It holds the process itself.
  const dial = dialer(url, guard, guardedLookup(guard), tls, connectWithin, backgroundClock, holds)
  const allFixed = [...fixed, ...Object.entries(options.headers ?? {}).flat()]

  const own = ownContext()
  const idle: Slot[] = []
  const busy = new Set<Slot>()
  const closers = new Set<() => void>()
  /** Destroyed connections whose socket is not closed yet. */
  let closing = 0
  let isClosed = false
  /** Equal verdicts are one object: all events that wait for a dead receiver share it. */
  const verdicts = new Map<number, Verdict>()

  /** The end of a job runs its teardown, which destroys its connection. */
  const fail = ({ observer }: PostJob, failure: Failure): Cancel => answer(observer, left(failure))

  /** Takes the job from its connection, which may carry another one from here on. */
  const release = (slot: Slot, isReusable: boolean): void => {
    if (slot.job !== undefined) slot.job.slot = undefined
    slot.job = undefined
    busy.delete(slot)
    if (isReusable) idle.push(slot)
    else slot.destroy()
  }

  /**
   * A connection with one request at a time. It is an undici client of its own: in undici's pool a cancelled
   * request leaves its connection behind, and here a cancel knows its socket. Measured: as fast as the pool's
   * `dispatch`.
   */
  const openSlot = (): Slot => {
    let cancelDial: Cancel = () => undefined
    let awaitAnswer: () => void = () => undefined
    /** Of the request that runs, for a dispatcher of the host. */
    let controller: Dispatcher.DispatchController | undefined

    const connect = (Client: typeof UndiciClient): Dispatcher =>
      new Client(origin, {
        // Events of a socket run in the context in which it was made, and it outlives its first request.
        connect: (_options, done) =>
          own(() => {
            cancelDial = dial((error, socket) => {
              if (socket === null) return done(error, null)
              awaitAnswer = skipInterimAnswers(socket)
              done(null, socket)
            })
          }),
        pipelining: 1,
        maxHeaderSize: MAX_HEADERS,
        // The clock of the attempt keeps the time: undici's own timers are half a second coarse.
        headersTimeout: 0,
        bodyTimeout: 0,
      })

    const slot: Slot = {
      client: dispatcher ?? (LoadedClient && connect(LoadedClient)),
      connect,
      job: undefined,
      isSent: false,
      received: 0,
      body: undefined,
      handler: {
        onRequestStart: (started) => {
          // It was cancelled while it waited in the host's dispatcher.
          if (slot.job === undefined) return started.abort(new Error('cancelled'))
          slot.isSent = true
          awaitAnswer()
          controller = started
        },
        onResponseStart: (_controller, status, headers) => {
          // A 1xx only announces an answer.
          if (slot.job === undefined || status < 200) return
          const retryAfter = headers['retry-after']
          const known = retryAfter === undefined ? verdicts.get(status) : undefined
          const { attempt, observer } = slot.job
          const clock = clockOf(attempt)
          const told = known ?? verdictOf(statuses, name, { status, retryAfter }, clock.now(), nowOf(attempt))
          if (retryAfter === undefined) verdicts.set(status, told)
          observer.next(told)
        },
        onResponseData: (_controller, chunk) => {
          const { job } = slot
          if (job === undefined) return
          slot.received += chunk.length
          if (slot.received <= job.maxBody) slot.body?.add(chunk)
          if (slot.received > Math.max(job.maxBody, MAX_DRAINED)) job.observer.complete()
        },
        onResponseEnd: () => {
          const { job, received, body } = slot
          if (job === undefined) return
          release(slot, true)
          if (body !== undefined && received <= job.maxBody) job.onBody?.(body.bytes())
          job.observer.complete()
          checkClosed()
        },
        onResponseError: (_controller, error) => {
          if (slot.job !== undefined) fail(slot.job, failureOf(error, slot.isSent))
        },
      },
      destroy: () => {
        if (dispatcher !== undefined) controller?.abort(new Error('cancelled'))
        // Without a client it is cancelled before undici is loaded.
        if (dispatcher !== undefined || slot.client === undefined) return checkClosed()
        closing++
        cancelDial()
        slot.client.destroy(null, () => {
          closing--
          checkClosed()
        })
      },
    }
    return slot
  }

  const start = (job: PostJob): void => {
    const reused = idle.pop()
    const slot = reused ?? openSlot()
    slot.job = job
    job.slot = slot
    busy.add(slot)
    slot.isSent = false
    slot.received = 0
    slot.body = job.onBody && byteBuffer()
    // A server may end a connection after an answer without a word: that is read first.
    if (reused !== undefined) return void nextTurn(() => dispatch(slot, job))
    if (slot.client !== undefined) return dispatch(slot, job)
    loadClient().then(
      (Client) => {
        slot.client = slot.connect(Client)
        dispatch(slot, job)
      },
      (error: unknown) => lose(slot, job, `the package undici could not be loaded: ${messageOf(error)}`),
    )
  }

  const dispatch = (slot: Slot, job: PostJob): void => {
    // Cancelled meanwhile.
    if (slot.job !== job) return
    const { headers, body } = job
    try {
      slot.client?.dispatch({ origin, path, method: 'POST', headers, body }, slot.handler)
    } catch (error) {
      lose(slot, job, messageOf(error))
    }
  }

  const lose = (slot: Slot, job: PostJob, detail: string): void => {
    if (slot.job === job) fail(job, retryable('network', { detail }))
  }

  const checkClosed = (): void => {
    if (!isClosed || busy.size > 0) return
    for (const slot of idle.splice(0)) slot.destroy()
    if (closing === 0) for (const closed of closers) closed()
  }

  const abortAll = (): void => {
    for (const { job } of busy) if (job !== undefined) fail(job, CUT_BY_CLOSE)
  }

  return makeSink<A>(
    name,
    (item, attempt, observer) => {
      const { payload, onBody, maxBody = 0 } = postingOf(item)
      if (!isPayload(payload)) {
        const detail = `got ${kindOf(payload)}: put encode() before it`
        return answer(observer, left(refused('notAPayload', { detail })))
      }
      const now = nowOf(attempt)
      const signer = options.signer?.()
      const wire = wireOf(payload, attempt)
      const headers = ['Content-Type', payload.contentType ?? 'application/json', ...allFixed]
      if (headersOf !== undefined) headers.push(...headersOf(payload, attempt, wire.bytes))
      const signature = signer === undefined ? payload.signature : signatureOf(wire, signer)
      if (signature !== undefined) headers.push('X-Signature', signature)
      if (attempt.headers !== undefined) {
        const { report } = attempt
        const told = { _tag: 'Defect', at: now, from: partOf(attempt), where: name } as const
        const leftOut = (fault: string): void => report?.({ ...told, error: new TypeError(fault) })
        headers.push(...addedHeaders(attempt.headers, headers, leftOut))
      }
      const job: PostJob = { headers, body: wire.bytes, maxBody, onBody, attempt, observer, slot: undefined }
      if (isClosed) fail(job, sinkClosed(name, now))
      else if (now >= attempt.until) fail(job, TOO_LATE_TO_SEND)
      else if (signer === undefined && isChangedAfterSign(payload)) fail(job, CHANGED)
      else start(job)
      return () => {
        if (job.slot !== undefined) release(job.slot, false)
      }
    },
    (timeout, clock) =>
      new Promise((resolve) => {
        isClosed = true
        const cancelTimer = clock.schedule(timeout, abortAll)
        closers.add(() => {
          cancelTimer()
          resolve()
        })
        checkClosed()
      }),
  )
}
