import { createServer } from 'node:http'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { isIPv6 } from 'node:net'
import { systemClock } from '../core/clock.ts'

/** A request that has arrived whole. */
export interface Arrived {
  /** Without the query, which may hold a credential. */
  readonly path: string
  /** The value of `X-Signature`. */
  readonly signature: string | string[] | undefined
  readonly body: Buffer
}

export interface Answer {
  readonly status: number | 'silence'
  /** Milliseconds. */
  readonly after: number
  /** Called when the answer was sent, or the sender has gone. */
  readonly onClosed?: () => void
}

export interface Server {
  /** `http://127.0.0.1:7412` */
  readonly origin: string
  /** Accepts no more connections; requests in flight go on. */
  readonly stop: () => void
  /** Closes every connection. */
  readonly close: () => void
}

/** Opens an HTTP server; port 0 is any free port. Rejects as Node does when the port or address cannot be used. */
export const serve = (host: string, port: number, listener: RequestListener): Promise<Server> =>
  new Promise((resolve, reject) => {
    const server = createServer(listener)
    const stop = (): void => {
      server.close()
      server.closeIdleConnections()
    }
    server.once('error', reject)
    server.listen(port, host, () => {
      const address = server.address()
      const bound = typeof address === 'object' && address !== null ? address.port : port
      resolve({
        origin: `http://${isIPv6(host) ? `[${host}]` : host}:${String(bound)}`,
        stop,
        close: () => {
          stop()
          server.closeAllConnections()
        },
      })
    })
  })

/** Longer than any webhook body of headrace; other senders may post here, too. */
const MAX_BODY = 1_048_576

const readBody = (request: IncomingMessage, use: (body: Buffer | undefined) => void): void => {
  const chunks: Buffer[] = []
  let size = 0
  request.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= MAX_BODY) chunks.push(chunk)
  })
  request.on('end', () => use(size <= MAX_BODY ? Buffer.concat(chunks) : undefined))
  // A request that breaks off was never received.
  request.on('error', () => undefined)
}

const reply = (response: ServerResponse, { status, after, onClosed }: Answer): void => {
  const cancel =
    status === 'silence'
      ? () => undefined
      : systemClock.schedule(after, () => response.writeHead(status).end())
  response.once('close', () => {
    cancel()
    onClosed?.()
  })
}

/** Opens a webhook receiver on 127.0.0.1 that answers POST requests. */
export const openReceiver = (port: number, answer: (arrived: Arrived) => Answer): Promise<Server> =>
  serve('127.0.0.1', port, (request, response) =>
    readBody(request, (body) => {
      const [path = '/'] = (request.url ?? '/').split('?')
      if (request.method !== 'POST') response.writeHead(405, { Allow: 'POST' }).end()
      else if (body === undefined) response.writeHead(413).end()
      else reply(response, answer({ path, signature: request.headers['x-signature'], body }))
    }),
  )

/** The type and the message id in a body, if there are any. */
export const eventOf = (body: Uint8Array): { readonly type?: string; readonly id?: string } => {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(body).toString('utf8'))
    if (typeof parsed !== 'object' || parsed === null) return {}
    return {
      ...('type' in parsed && typeof parsed.type === 'string' ? { type: parsed.type } : {}),
      ...('messageId' in parsed && typeof parsed.messageId === 'string' ? { id: parsed.messageId } : {}),
    }
  } catch {
    return {}
  }
}
