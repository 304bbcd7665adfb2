import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { systemClock } from '../../clock/Clock.ts'

/** A request that has come whole. */
export interface Arrived {
  /** Without the query, which may hold a credential. */
  readonly path: string
  /** What stands in `X-Signature`. */
  readonly signature: string | string[] | undefined
  readonly body: Buffer
}

/** What a receiver does: it answers after a while, or not at all. */
export interface Answer {
  readonly status: number | 'silence'
  /** Milliseconds. */
  readonly after: number
  /** Is called when the answer is out, or the sender has gone. */
  readonly then?: () => void
}

/** A receiver that listens. */
export interface OpenReceiver {
  /** `http://127.0.0.1:PORT/` */
  readonly url: string
  /** Cuts every connection and listens no more. */
  readonly close: () => Promise<void>
}

/** A webhook body has 64,000 bytes at most (BY2); this is for other senders. */
const LONGEST_BODY = 1_048_576

/** The whole body, or undefined if it is too long. */
const bodyOf = (request: IncomingMessage, use: (body: Buffer | undefined) => void): void => {
  const chunks: Buffer[] = []
  let size = 0
  request.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= LONGEST_BODY) chunks.push(chunk)
  })
  request.on('end', () => {
    use(size <= LONGEST_BODY ? Buffer.concat(chunks) : undefined)
  })
  // A request that breaks off was never received.
  request.on('error', () => undefined)
}

const play = (response: ServerResponse, { status, after, then }: Answer): void => {
  const cancel =
    status === 'silence'
      ? () => undefined
      : systemClock.schedule(after, () => response.writeHead(status).end())
  response.once('close', () => {
    cancel()
    then?.()
  })
}

/**
 * Opens an HTTP server on 127.0.0.1 that does with every POST what `answer` says. Port 0 is any that is free. Fails as Node does when
 * the port cannot be had.
 */
export const openReceiver = (port: number, answer: (arrived: Arrived) => Answer): Promise<OpenReceiver> =>
  new Promise((resolve, reject) => {
    const server = createServer((request, response) => {
      bodyOf(request, (body) => {
        const [path = '/'] = (request.url ?? '/').split('?')
        if (request.method !== 'POST') response.writeHead(405, { Allow: 'POST' }).end()
        else if (body === undefined) response.writeHead(413).end()
        else play(response, answer({ path, signature: request.headers['x-signature'], body }))
      })
    })
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      const address = server.address()
      const bound = typeof address === 'object' && address !== null ? address.port : port
      resolve({
        url: `http://127.0.0.1:${String(bound)}/`,
        close: () =>
          new Promise((closed) => {
            server.close(() => {
              closed()
            })
            server.closeAllConnections()
          }),
      })
    })
  })
