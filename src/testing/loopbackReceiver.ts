import { createServer as createPlain } from 'node:http'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { createServer as createSecure } from 'node:https'
import type { Socket } from 'node:net'
import { type Cancel, type Clock, systemClock } from '../core/clock.ts'
import { type Fault, type FaultScript, healthy, REFUSAL_MS } from './faults.ts'
import { playFault } from './playFault.ts'

/** One request as it arrived. */
export interface Received {
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Name, value, name, value: in their order and spelling. */
  readonly rawHeaders: ReadonlyArray<string>
  readonly body: Buffer
  /** When it had arrived completely, milliseconds since 1970. */
  readonly at: number
}

/** The certificate of a TLS receiver, in PEM form. */
export interface TestCertificate {
  readonly cert: string | Buffer
  readonly key: string | Buffer
  /** Requires a client certificate of this authority. */
  readonly clientCa?: string | Buffer
}

/** How a receiver is opened. */
export interface ReceiverOptions {
  /** Speaks TLS with this certificate. */
  readonly tls?: TestCertificate
  /** Times the delays of faults. */
  readonly clock?: Clock
}

/** A real server on loopback, for one test. */
export interface Receiver {
  /** `http://127.0.0.1:PORT/`, or `https://localhost:PORT/`. */
  readonly url: string
  /** Requests so far, in the order of their arrival. */
  readonly received: ReadonlyArray<Received>
  /** Resolves when `count` requests have arrived. */
  readonly arrived: (count: number) => Promise<void>
  /** TCP connections that are open now. */
  readonly connections: () => number
  /** TCP connections accepted so far. */
  readonly accepted: () => number
  /** Closes every connection and stops listening. */
  readonly close: () => Promise<void>
}

const serverOf = (listener: RequestListener, tls: TestCertificate | undefined): Server => {
  if (tls === undefined) return createPlain(listener)
  const { cert, key, clientCa } = tls
  const client = clientCa === undefined ? {} : { ca: clientCa, requestCert: true }
  return createSecure({ cert, key, ...client }, listener)
}

const listen = (server: Server, port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : port)
    })
  })

const bodyOf = (request: IncomingMessage, use: (body: Buffer) => void): void => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => use(Buffer.concat(chunks)))
  // A request that breaks off was not received.
  request.on('error', () => undefined)
}

/**
 * Opens a receiver on loopback that records every request and answers by the script: one fault for each request in the order of arrival,
 * or the fault that a function gives for it. After the script it answers 200 at once, so no script is a healthy receiver.
 *
 * @example
 * import { loopbackReceiver } from 'headrace/testing'
 * const receiver = await loopbackReceiver([{ do: 'status', code: 503 }])
 * const first = await fetch(receiver.url, { method: 'POST', body: '{}' })
 * const second = await fetch(receiver.url, { method: 'POST', body: '{}' })
 * console.log(first.status, second.status, receiver.received.length) // => 503 200 2
 * await receiver.close()
 */
export const loopbackReceiver = async (
  script: FaultScript | ((received: Received) => Fault) = [],
  { tls, clock = systemClock }: ReceiverOptions = {},
): Promise<Receiver> => {
  const received: Received[] = []
  const sockets = new Set<Socket>()
  const waiting = new Set<{ readonly count: number; readonly resolve: () => void }>()
  let step = 0
  let accepted = 0
  let closed = false
  let stopRefusing: Cancel = () => undefined

  const peek = (): Fault | undefined => (typeof script === 'function' ? undefined : script[step])

  const faultFor = (request: Received): Fault => {
    if (typeof script === 'function') return script(request)
    const fault = script[step] ?? healthy
    step++
    return fault
  }

  const take = (request: IncomingMessage, response: ServerResponse, body: Buffer): void => {
    const { method = '', url: path = '', headers, rawHeaders, socket } = request
    const one: Received = { method, path, headers, rawHeaders, body, at: clock.now() }
    received.push(one)
    for (const each of waiting) {
      if (received.length < each.count) continue
      waiting.delete(each)
      each.resolve()
    }
    const fault = faultFor(one)
    if (peek()?.do === 'refuse') {
      response.setHeader('Connection', 'close')
      shut()
    }
    playFault(fault, { response, socket, clock, url })
  }

  const server = serverOf(
    (request, response) => bodyOf(request, (body) => take(request, response, body)),
    tls,
  )
  server.on('connection', (socket: Socket) => {
    accepted++
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('clientError', (_error, socket) => void socket.destroy())

  const port = await listen(server, 0)
  const url = tls === undefined ? `http://127.0.0.1:${String(port)}/` : `https://localhost:${String(port)}/`

  /** Stops listening for the time of the script's next `refuse`. */
  const shut = (): void => {
    const fault = peek()
    if (fault?.do !== 'refuse') return
    step++
    server.close()
    stopRefusing = clock.schedule(fault.lasting ?? REFUSAL_MS, () => {
      if (peek()?.do === 'refuse') shut()
      // If another process has taken the port meanwhile, it goes on refusing.
      else if (!closed) listen(server, port).catch(() => undefined)
    })
  }
  shut()

  return {
    url,
    received,
    arrived: (count) =>
      new Promise((resolve) => {
        if (received.length >= count) resolve()
        else waiting.add({ count, resolve })
      }),
    connections: () => sockets.size,
    accepted: () => accepted,
    close: () =>
      new Promise((resolve) => {
        closed = true
        stopRefusing()
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
