import type { LookupFunction, Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import { constVoid } from '../core/either.ts'
import { timeLimit, type Cancel, type Clock, type Timed } from '../core/clock.ts'
import { isIP, type Guard } from './egress.ts'
import { blockedAddress, notConnected } from './networkError.ts'
import { secureContextOf, tlsModule, type TlsOptions } from './tls.ts'

/** Connects, and answers once: an error, or a ready socket. A cancel destroys it without an answer. */
export type Dial = (done: (...answer: [Error, null] | [null, Socket]) => void) => Cancel

interface Dialling extends Timed<Dialling> {
  readonly fail: (error: Error) => void
}

const KEEP_ALIVE_PROBE_MS = 60_000

const openerOf = (url: URL, host: string, lookup: LookupFunction, tls: TlsOptions): (() => Socket) => {
  const port = Number(url.port)
  if (url.protocol !== 'https:')
    return () => process.getBuiltinModule('node:net').connect({ host, port: port || 80, lookup })
  let secureContext: SecureContext | undefined
  let session: Buffer | undefined
  return () => {
    secureContext ??= secureContextOf(tls)
    return tlsModule()
      .connect({
        ...{ host, port: port || 443, lookup, secureContext, session },
        // Explicit, because the environment may hold NODE_TLS_REJECT_UNAUTHORIZED=0.
        rejectUnauthorized: true,
        ALPNProtocols: ['http/1.1'],
        ...(isIP(host) === 0 ? { servername: host } : {}),
      })
      .on('session', (latest: Buffer) => (session = latest))
  }
}

const STATUS_END = 'HTTP/1.1 100'.length
const INTERIM = /^HTTP\/1\.\d 1(?!01)/
const MAX_INTERIM = 16_384

/**
 * Takes interim answers (100, 102, 103) out of the bytes that undici reads, at most 16 KiB for a request: it
 * destroys the socket at `100 Continue`, which a server may send unasked (RFC 9110, 15.2). The result is to
 * be called before each request.
 */
export const skipInterimAnswers = (socket: Socket): (() => void) => {
  const read = socket.read.bind(socket)
  let isAwaited = false
  /** The beginning of an answer that is not known yet to be interim, or of which the end is missing. */
  let held: Buffer | undefined
  let skipped = 0

  socket.read = (size) => {
    // Without an encoding a socket reads buffers.
    const chunk = read(size) as Buffer | null
    if (!isAwaited || chunk === null) return chunk
    let rest = held === undefined ? chunk : Buffer.concat([held, chunk])
    held = undefined
    while (rest.length < STATUS_END || INTERIM.test(rest.toString('latin1', 0, STATUS_END))) {
      const end = rest.indexOf('\r\n\r\n')
      if (end === -1) {
        if (rest.length > MAX_INTERIM) break
        held = rest
        return null
      }
      skipped += end + 4
      // Reading them without an end would take all the time of the event loop.
      if (skipped > MAX_INTERIM) {
        socket.destroy(new Error('too many interim answers'))
        return null
      }
      rest = rest.subarray(end + 4)
    }
    isAwaited = false
    return rest
  }
  return () => {
    isAwaited = true
    held = undefined
    skipped = 0
  }
}

/** undici keeps the process alive by `ref` during a request: on this socket it does nothing. */
const unheld = (socket: Socket): Socket => Object.assign(socket.unref(), { ref: () => socket })

/**
 * Connections are made here and not by undici, for three reasons: each address is checked before it is
 * dialled, the time limit is exact and comes from our clock, and a cancelled request takes its socket along.
 * `timeout` is milliseconds for name look-up, connection and TLS together; `holds`: an open connection keeps
 * the process alive.
 */
export const dialer = (
  url: URL,
  guard: Guard,
  lookup: LookupFunction,
  tls: TlsOptions,
  timeout: number,
  clock: Clock,
  holds: boolean,
): Dial => {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const connected = url.protocol === 'https:' ? 'secureConnect' : 'connect'
  const open = openerOf(url, host, lookup, tls)
  const limit = timeLimit<Dialling>(clock, timeout, ({ fail }) => fail(notConnected()))
  return (done) => {
    const reason = guard.host(host)
    if (reason !== undefined) {
      done(blockedAddress(reason), null)
      return constVoid
    }
    const socket = holds ? open() : unheld(open())
    const ready = (): void => {
      limit.remove(dialling)
      socket.off('error', fail)
      done(null, socket)
    }
    const fail = (error: Error): void => {
      abort()
      done(error, null)
    }
    const abort = (): void => {
      limit.remove(dialling)
      // A socket may still fail while it closes: without a listener Node would end the process.
      socket.off(connected, ready).off('error', fail).on('error', constVoid).destroy()
    }
    const dialling: Dialling = { start: clock.monotonic(), clock, fail }
    limit.add(dialling)
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_PROBE_MS)
    socket.once(connected, ready).once('error', fail)
    return abort
  }
}
