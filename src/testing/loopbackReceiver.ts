import { createServer as createPlain } from 'node:http'
import type { IncomingMessage, RequestListener, Server, ServerResponse } from 'node:http'
import { createServer as createSecure } from 'node:https'
import type { Socket } from 'node:net'
import { type Cancel, type Clock, systemClock } from '../core/clock.ts'
import { testCertificates } from './certificate.ts'
import type { TestCertificate } from './certificate.ts'
import { healthy, REFUSAL_MS } from './faults.ts'
import type { Fault, FaultScript, TlsFault } from './faults.ts'
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

/** How a receiver is opened. */
export interface ReceiverOptions {
  /** Speaks TLS with this certificate, such as `testCertificates().valid`. */
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

/** What no receiver can play, with the way out. */
const checkScript = (script: FaultScript, isSecure: boolean): void => {
  for (const fault of script) {
    if (fault.do === 'dns')
      throw new TypeError(
        'a receiver cannot play dns: use scriptedSink or scriptedNetwork, or a URL such as http://receiver.invalid/',
      )
    if (fault.do === 'tls' && !isSecure)
      throw new TypeError('a receiver plays tls over HTTPS only: give { tls: testCertificates().valid }')
  }
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
 * or the fault that a function gives for it. After the script it answers 200 at once, so no script is a healthy receiver. A `refuse` and a `tls`
 * of a list are played to the next connection, in place of a request.
 *
 * @throws TypeError for a `dns`, and for a `tls` without the option `tls`: the receiver cannot play it.
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
  let presented: TlsFault | 'own' = 'own'
  if (typeof script !== 'function') checkScript(script, tls !== undefined)

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
    const next = peek()?.do
    if (next === 'refuse' || next === 'tls') response.setHeader('Connection', 'close')
    prepare()
    playFault(fault, { response, socket, clock, url })
  }

  const listener: RequestListener = (request, response) =>
    bodyOf(request, (body) => take(request, response, body))
  const client = tls?.clientCa === undefined ? {} : { ca: tls.clientCa, requestCert: true }
  const secure = tls === undefined ? undefined : createSecure({ ...tls, ...client }, listener)
  const server = secure ?? createPlain(listener)
  server.on('connection', (socket: Socket) => {
    // The certificate of this connection is chosen already.
    if (peek()?.do === 'tls') {
      step++
      prepare()
    }
    accepted++
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('clientError', (_error, socket) => void socket.destroy())

  const port = await listen(server, 0)
  const url = tls === undefined ? `http://127.0.0.1:${String(port)}/` : `https://localhost:${String(port)}/`

  /** The script's next fault may be one of the next connection: a wrong certificate, or none is accepted for a while. */
  const prepare = (): void => {
    const fault = peek()
    const certificate = fault?.do === 'tls' ? fault.kind : 'own'
    if (tls !== undefined && certificate !== presented) {
      presented = certificate
      secure?.setSecureContext({
        ...(certificate === 'own' ? tls : testCertificates()[certificate]),
        ...client,
      })
    }
    if (fault?.do === 'tls') server.closeIdleConnections()
    if (fault?.do !== 'refuse') return
    step++
    server.close()
    stopRefusing = clock.schedule(fault.lasting ?? REFUSAL_MS, () => {
      const refusesAgain = peek()?.do === 'refuse'
      prepare()
      // If another process has taken the port meanwhile, it goes on refusing.
      if (!refusesAgain && !closed) listen(server, port).catch(() => undefined)
    })
  }
  prepare()

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
