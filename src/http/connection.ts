/**
 * One connection to a receiver, and at most one request on it.
 *
 * @module
 */

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
  /** The answer's body is wanted if it has at most so many bytes. Default: it is not, and only drained. */
  readonly mostBody?: number
}

/** What a connection tells of the request that it carries. */
export interface Events {
  /** The status line and the headers are there. At most once a request. */
  readonly answered: (answer: Answer) => void
  /**
   * The request is over: the answer was read to its end, or there is a failure. Then, or when the answer had more than
   * anybody would read, the connection is of no more use. `body` is there if it was wanted and came whole.
   */
  readonly ended: (failure: Refused | Retryable | undefined, reusable: boolean, body?: Buffer) => void
}

/** One connection; it connects when it must. */
export interface Connection {
  /** Sends a request; only when the last one is over. */
  readonly send: (post: Post) => void
  /** Gives up at once, in whatever phase; tells nothing more of the request. `gone` is called when no socket is left. */
  readonly destroy: (gone?: () => void) => void
}

type Headers = Readonly<Record<string, string | string[] | undefined>>

/** As much of an answer's body is read in any case, so that the connection can be used again (DE3). */
const MOST_DRAINED = 16_384
const MOST_HEADERS = 16_384
/** Nothing is ever put into it: who wants no body shares it. */
const NO_CHUNKS: Uint8Array[] = []

/**
 * A connection to an origin, made by `dial`. undici has a pool, but there a request waits for some connection and a cancelled one
 * leaves its connection behind; with one client each, a cancel knows which socket to destroy. It costs as much as the pool's
 * `dispatch`, and 0.84 of its `request`.
 */
export const openConnection = (url: URL, dial: Dial, events: Events): Connection => {
  let cancelDial: Cancel = () => undefined
  let destroyed = false
  let sent = false
  let drained = 0
  let wanted = 0
  let chunks: Uint8Array[] = NO_CHUNKS

  const client = new Client(url.origin, {
    connect: (_options, done) => {
      cancelDial = dial(done)
    },
    // One request at a time on a connection: a slow answer holds back nobody (DE8).
    pipelining: 1,
    maxHeaderSize: MOST_HEADERS,
    // Time is kept by our clock. undici's own timers are half a second coarse.
    headersTimeout: 0,
    bodyTimeout: 0,
  })

  const destroy = (gone: () => void = () => undefined): void => {
    destroyed = true
    cancelDial()
    client.destroy(null, gone)
  }

  const handler = {
    onRequestStart: () => {
      sent = true
    },
    onResponseStart: (_controller: unknown, status: number, headers: Headers) => {
      // 1xx only announces an answer.
      if (destroyed || status < 200) return
      events.answered({ status, retryAfter: headers['retry-after'] })
    },
    onResponseData: (_controller: unknown, chunk: Uint8Array) => {
      drained += chunk.length
      if (destroyed) return
      if (wanted > 0 && drained <= wanted) chunks.push(chunk)
      else chunks = NO_CHUNKS
      if (drained <= Math.max(wanted, MOST_DRAINED)) return
      destroy(() => {
        events.ended(undefined, false)
      })
    },
    onResponseEnd: () => {
      if (destroyed) return
      const body = wanted > 0 && drained <= wanted ? Buffer.concat(chunks) : undefined
      chunks = NO_CHUNKS
      events.ended(undefined, true, body)
    },
    onResponseError: (_controller: unknown, error: Error) => {
      if (!destroyed) events.ended(failureOf(error, sent), false)
    },
  }

  const { pathname, search } = url
  const path = pathname + search
  return {
    send: ({ headers, body, mostBody = 0 }) => {
      sent = false
      drained = 0
      wanted = mostBody
      chunks = wanted > 0 ? [] : NO_CHUNKS
      // undici copies the list and changes nothing in it, though its type does not say so.
      client.dispatch({ path, method: 'POST', headers: headers as string[], body }, handler)
    },
    destroy,
  }
}
