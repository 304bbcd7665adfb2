import { Client } from 'undici'
import type { Cancel } from '../core/clock.ts'
import type { Refused, Retryable } from '../core/failure.ts'
import type { Answer } from '../sink/status.ts'
import type { Dial } from './dialer.ts'
import { failureOf } from './networkError.ts'

/** A POST, ready to be sent. The header list is flat: name, value, name, value. */
export interface Post {
  readonly headers: ReadonlyArray<string>
  readonly body: string | Uint8Array
  /** The answer's body is kept if it has at most this many bytes. Default 0: it is only drained. */
  readonly maxBody?: number
}

/** What a connection says about the request that it carries. */
export interface ConnectionEvents {
  /** The status line and the headers came. At most once a request. */
  readonly onAnswer: (answer: Answer) => void
  /**
   * The request is over: the answer was read, or there is a failure. A connection that is not reusable is of no more use. `body` is
   * there if it was wanted and came whole.
   */
  readonly onEnd: (failure: Refused | Retryable | undefined, isReusable: boolean, body?: Buffer) => void
}

/** One connection. It connects at its first request, and again when the receiver has closed it. */
export interface Connection {
  /** Sends a request. The one before must be over. */
  readonly send: (post: Post) => void
  /** Aborts at once, in any phase; there are no more events. `gone` is called when the socket is closed. */
  readonly destroy: (gone?: () => void) => void
}

/** Answers are read this far even if nothing needs them: then the connection can be used again. */
const MAX_DRAINED = 16_384
const MAX_HEADERS = 16_384

/**
 * A connection with one request at a time. It is an undici client of its own: in undici's pool a cancelled request leaves its
 * connection behind, and here a cancel knows which socket to destroy. Measured: as fast as the pool's `dispatch`.
 */
export const openConnection = (url: URL, dial: Dial, events: ConnectionEvents): Connection => {
  let cancelDial: Cancel = () => undefined
  let isDestroyed = false
  let isSent = false
  let received = 0
  let maxBody = 0
  let chunks: Uint8Array[] = []

  const client = new Client(url.origin, {
    connect: (_options, done) => {
      cancelDial = dial(done)
    },
    pipelining: 1,
    maxHeaderSize: MAX_HEADERS,
    // Our clock keeps the time: undici's own timers are half a second coarse.
    headersTimeout: 0,
    bodyTimeout: 0,
  })

  const destroy = (gone: () => void = () => undefined): void => {
    isDestroyed = true
    cancelDial()
    client.destroy(null, gone)
  }

  const handler = {
    onRequestStart: () => {
      isSent = true
    },
    onResponseStart: (
      _controller: unknown,
      status: number,
      headers: Readonly<Record<string, string | string[] | undefined>>,
    ) => {
      // A 1xx only announces an answer.
      if (isDestroyed || status < 200) return
      events.onAnswer({ status, retryAfter: headers['retry-after'] })
    },
    onResponseData: (_controller: unknown, chunk: Uint8Array) => {
      if (isDestroyed) return
      received += chunk.length
      if (received <= maxBody) chunks.push(chunk)
      else if (chunks.length > 0) chunks = []
      if (received <= Math.max(maxBody, MAX_DRAINED)) return
      destroy(() => events.onEnd(undefined, false))
    },
    onResponseEnd: () => {
      if (isDestroyed) return
      const body = maxBody > 0 && received <= maxBody ? Buffer.concat(chunks) : undefined
      if (chunks.length > 0) chunks = []
      events.onEnd(undefined, true, body)
    },
    onResponseError: (_controller: unknown, error: Error) => {
      if (!isDestroyed) events.onEnd(failureOf(error, isSent), false)
    },
  }

  const path = url.pathname + url.search
  return {
    send: (post) => {
      isSent = false
      received = 0
      maxBody = post.maxBody ?? 0
      if (chunks.length > 0) chunks = []
      // undici copies the list and changes nothing in it, though its type does not say so.
      client.dispatch({ path, method: 'POST', headers: post.headers as string[], body: post.body }, handler)
    },
    destroy,
  }
}
