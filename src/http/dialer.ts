import { connect as connectPlain, isIP } from 'node:net'
import type { LookupFunction, Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { SecureContext } from 'node:tls'
import type { Cancel, Clock } from '../core/clock.ts'
import type { Guard } from './egress.ts'
import { blockedAddress, notConnected } from './networkError.ts'

/** How connections to one receiver are made. */
export interface DialerOptions {
  readonly url: URL
  readonly guard: Guard
  readonly lookup: LookupFunction
  /** Called at the first connection to an https URL. */
  readonly secureContext: () => SecureContext
  /** Milliseconds for name look-up, connection and TLS together. */
  readonly timeout: number
  readonly clock: Clock
  /** Whether an open connection keeps the process alive. */
  readonly holds: boolean
}

/** Connects, and answers once: an error, or a socket that is ready. A cancel destroys the socket, and there is no answer. */
export type Dial = (done: (...answer: [Error, null] | [null, Socket]) => void) => Cancel

const KEEP_ALIVE_PROBE_MS = 60_000

const openerOf = ({ url, lookup, secureContext }: DialerOptions, host: string): (() => Socket) => {
  const port = Number(url.port)
  if (url.protocol !== 'https:') return () => connectPlain({ host, port: port || 80, lookup })
  let session: Buffer | undefined
  return () =>
    connectTls({
      host,
      port: port || 443,
      lookup,
      secureContext: secureContext(),
      // Explicit, because the environment may hold NODE_TLS_REJECT_UNAUTHORIZED=0.
      rejectUnauthorized: true,
      ALPNProtocols: ['http/1.1'],
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(session === undefined ? {} : { session }),
    }).on('session', (latest: Buffer) => {
      session = latest
    })
}

/** undici keeps the process alive by `ref` during a request: on this socket it does nothing. */
const unheld = (socket: Socket): Socket => Object.assign(socket.unref(), { ref: () => socket })

/**
 * Connections are made here and not by undici, for three reasons: each address is checked before it is dialled, the time limit is exact
 * and comes from our clock, and a cancelled request takes its socket along.
 */
export const dialer = (options: DialerOptions): Dial => {
  const { url, guard, timeout, clock, holds } = options
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const connected = url.protocol === 'https:' ? 'secureConnect' : 'connect'
  const open = openerOf(options, host)
  return (done) => {
    const reason = guard.host(host)
    if (reason !== undefined) {
      done(blockedAddress(reason), null)
      return () => undefined
    }
    const socket = holds ? open() : unheld(open())
    const cancelTimer = clock.schedule(timeout, () => fail(notConnected()))
    const ready = (): void => {
      cancelTimer()
      socket.off('error', fail)
      done(null, socket)
    }
    const fail = (error: Error): void => {
      abort()
      done(error, null)
    }
    const abort = (): void => {
      cancelTimer()
      socket.off(connected, ready)
      socket.off('error', fail)
      // A socket may still fail while it closes: without a listener Node would end the process.
      socket.on('error', () => undefined)
      socket.destroy()
    }
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_PROBE_MS)
    socket.once(connected, ready).once('error', fail)
    return abort
  }
}
