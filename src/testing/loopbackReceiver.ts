import { once } from 'node:events'
import { createServer as createPlain } from 'node:http'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { createServer as createSecure } from 'node:https'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { filter, firstValueFrom, Subject } from 'rxjs'
import { ignoreRejection, whenAnswered } from '../core/awaitable.ts'
import { type Cancel, type Clock, systemClock } from '../core/clock.ts'
import { constVoid } from '../core/either.ts'
import { messageOf } from '../core/failure.ts'
import { isRecord } from '../core/json.ts'
import { checkOptions, clockOption, decodeOptions, guarded, optional, strict } from '../core/options.ts'
import { withDefault, type WaitOptions } from '../core/options.ts'
import { testCertificates, type TestCertificate } from './certificate.ts'
import { effectOf, faultOption, healthy, HUGE_HEADER, REFUSAL_MS, scriptOption } from './faults.ts'
import type { Misbehaviour, FaultScript } from './faults.ts'

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
  /** Resolves when `count` requests have arrived; rejects if it is closed before, or its script failed. */
  readonly arrived: (count: number) => Promise<void>
  /** TCP connections that are open now. */
  readonly connections: () => number
  /** TCP connections accepted so far. */
  readonly accepted: () => number
  /** Closes every connection and stops listening. Rejects with the first error of its script. */
  readonly close: (options?: WaitOptions) => Promise<void>
}

const isCertificate = (it: unknown): it is TestCertificate => isRecord(it) && 'cert' in it && 'key' in it

const NO_DNS =
  'a receiver cannot play dns: use scriptedSink, scriptedNetwork or a URL like http://receiver.invalid/'

const receiverOptions = strict({
  tls: optional(guarded<TestCertificate>('a certificate, such as testCertificates().valid', isCertificate)),
  clock: withDefault(clockOption, systemClock),
})

const CHUNK = Buffer.alloc(65_536, 'x')
/** Bytes of a body that does not come whole. */
const PROMISED = 1_000

let gzipBomb: Buffer | undefined

const playFault = (
  fault: Misbehaviour,
  response: ServerResponse,
  socket: Socket,
  clock: Clock,
  url: string,
): void => {
  let cancelTimer: Cancel = () => undefined
  response.once('close', () => cancelTimer())

  const later = (delay: number, act: () => void): void => {
    if (delay > 0) cancelTimer = clock.schedule(delay, act)
    else act()
  }
  const drip = (every: number): void =>
    later(every, () => {
      response.write('.')
      drip(every)
    })
  const pour = (bytes: number): void => {
    if (bytes <= 0) response.end()
    else response.write(CHUNK.subarray(0, bytes), () => pour(bytes - CHUNK.length))
  }

  if (fault.do === 'interim')
    for (const code of fault.codes ?? [103]) socket.write(`HTTP/1.1 ${String(code)} Interim\r\n\r\n`)
  switch (fault.do) {
    case 'hangUp':
      return void socket.end()
    case 'garbage':
      return void socket.end('!"#$%&/()=? this is not HTTP\r\n\r\n')
    case 'headersOnly':
      return response.writeHead(fault.code, { 'Content-Length': PROMISED }).flushHeaders()
    case 'slowBody':
      response.writeHead(fault.code).flushHeaders()
      return drip(1_000 / fault.bytesPerSecond)
    case 'truncate':
      response.writeHead(fault.code, { 'Content-Length': PROMISED })
      response.write(CHUNK.subarray(0, Math.min(fault.at, PROMISED - 1)), () => void socket.destroy())
      return
    case 'hugeBody':
      response.writeHead(fault.code)
      return pour(fault.bytes ?? 1_000_000_000)
    case 'gzipBomb':
      gzipBomb ??= gzipSync(Buffer.alloc(50_000_000))
      return void response.writeHead(fault.code, { 'Content-Encoding': 'gzip' }).end(gzipBomb)
    case 'hugeHeader':
      return void response.writeHead(200, { 'x-huge': 'x'.repeat(fault.bytes ?? HUGE_HEADER) }).end()
    // Before a request they are played by the receiver; at a request it is too late for them.
    case 'tls':
    case 'dns':
      return void response.writeHead(500).end(`a receiver cannot play ${fault.do} at a request`)
    default: {
      const effect = effectOf(fault, url)
      if (effect.what === 'answer')
        later(effect.after, () => void response.writeHead(effect.status, effect.headers).end())
      // TLS has no reset of its own; there the connection just breaks.
      const reset = () => ('encrypted' in socket ? socket.destroy() : socket.resetAndDestroy())
      if (effect.what === 'error') later(effect.after, reset)
    }
  }
}

/**
 * Opens a receiver on loopback that records every request and answers by the script: one fault for each
 * request in the order of arrival, or the fault that a function gives for it. After the script it answers 200
 * at once, so no script is a healthy receiver. A `refuse` and a `tls` of a list meet the next connection. A
 * function that throws or gives no fault, an async one too, is answered 500: `arrived` and `close` reject.
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
  script: FaultScript | ((received: Received) => Misbehaviour) = [],
  options: ReceiverOptions = {},
): Promise<Receiver> => {
  const { tls, clock } = checkOptions('options of loopbackReceiver', receiverOptions, options)
  checkOptions('script of loopbackReceiver', scriptOption(), script)
  const received: Received[] = []
  const sockets = new Set<Socket>()
  const arrivals = new Subject<void>()
  let step = 0
  let accepted = 0
  let closed = false
  let mistake: Error | undefined
  let stopRefusing: Cancel = () => undefined
  const kinds = typeof script === 'function' ? [] : script.map((fault) => fault.do)
  if (kinds.includes('dns')) throw new TypeError(NO_DNS)
  if (kinds.includes('tls') && tls === undefined)
    throw new TypeError('a receiver plays tls over HTTPS only: give { tls: testCertificates().valid }')

  const peek = (): Misbehaviour | undefined => (typeof script === 'function' ? undefined : script[step])

  const take = (request: IncomingMessage, response: ServerResponse, chunks: Buffer[]): void => {
    const { method = '', url: path = '', headers, rawHeaders, socket } = request
    const body = Buffer.concat(chunks)
    const one: Received = { method, path, headers, rawHeaders, body, at: clock.now() }
    received.push(one)
    const fault = typeof script === 'function' ? script(one) : (script[step++] ?? healthy)
    // A promise is no fault; its rejection must not end the process.
    ignoreRejection(fault)
    const checked = decodeOptions(faultOption, fault)
    if (checked._tag === 'Left') {
      const [{ path, message } = { path: '', message: '' }] = checked.left
      throw new TypeError(`it gave no fault: ${path} ${message}`)
    }
    arrivals.next()
    const next = peek()?.do
    if (next === 'refuse' || next === 'tls') response.setHeader('Connection', 'close')
    prepare()
    playFault(fault, response, socket, clock, url)
  }

  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    const fail = (why: unknown): void => {
      mistake ??= new Error(`the script failed: ${messageOf(why)}`, { cause: why })
      arrivals.error(mistake)
      response.writeHead(500).end(mistake.message)
    }
    request.on('end', () => whenAnswered(() => take(request, response, chunks), constVoid, fail))
    // A request that breaks off was not received.
    request.on('error', () => undefined)
  }
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

  let port = 0
  const listen = async (): Promise<void> => {
    await once(server.listen(port, '127.0.0.1'), 'listening')
    const address = server.address()
    if (typeof address === 'object' && address !== null) port = address.port
  }
  await listen()
  const url = tls === undefined ? `http://127.0.0.1:${String(port)}/` : `https://localhost:${String(port)}/`

  /** The script's next fault may be one of the next connection: a wrong certificate, or a refusal. */
  const prepare = (): void => {
    const fault = peek()
    const pair = fault?.do === 'tls' ? testCertificates()[fault.kind] : tls
    if (typeof script !== 'function') secure?.setSecureContext({ ...pair, ...client })
    if (fault?.do === 'tls') server.closeIdleConnections()
    if (fault?.do !== 'refuse') return
    step++
    server.close()
    stopRefusing = clock.schedule(fault.lasting ?? REFUSAL_MS, () => {
      const refusesAgain = peek()?.do === 'refuse'
      prepare()
      // If another process has taken the port meanwhile, it goes on refusing.
      if (!refusesAgain && !closed) listen().catch(() => undefined)
    })
  }
  prepare()

  return {
    url,
    received,
    arrived: async (count) => {
      const enough = arrivals.pipe(filter(() => received.length >= count))
      if (received.length < count || mistake) await firstValueFrom(enough, { defaultValue: undefined })
    },
    connections: () => sockets.size,
    accepted: () => accepted,
    close: () =>
      new Promise((resolve, reject) => {
        closed = true
        arrivals.error(new Error('the receiver was closed'))
        stopRefusing()
        server.close(() => (mistake ? reject(mistake) : resolve()))
        for (const socket of sockets) socket.destroy()
      }),
  }
}
