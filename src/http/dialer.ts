import { connect as connectPlain, isIP } from 'node:net'
import type { LookupFunction, Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { SecureContext } from 'node:tls'
import type { Cancel, Clock } from '../core/clock.ts'
import type { Guard } from './egress.ts'
import { blockedAddress, notConnected } from './networkError.ts'
import { secureContextOf } from './tls.ts'
import type { TlsOptions } from './tls.ts'

/** Connects, and answers once: an error, or a socket that is ready. A cancel destroys the socket, and there is no answer. */
export type Dial = (done: (...answer: [Error, null] | [null, Socket]) => void) => Cancel

const KEEP_ALIVE_PROBE_MS = 60_000

const openerOf = (url: URL, host: string, lookup: LookupFunction, tls: TlsOptions): (() => Socket) => {
  const port = Number(url.port)
  if (url.protocol !== 'https:') return () => connectPlain({ host, port: port || 80, lookup })
  let secureContext: SecureContext | undefined
  let session: Buffer | undefined
  return () => {
    secureContext ??= secureContextOf(tls)
    return connectTls({
      host,
      port: port || 443,
      lookup,
      secureContext,
      // Explicit, because the environment may hold NODE_TLS_REJECT_UNAUTHORIZED=0.
      rejectUnauthorized: true,
      ALPNProtocols: ['http/1.1'],
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(session === undefined ? {} : { session }),
    }).on('session', (latest: Buffer) => {
      session = latest
    })
  }
}

/** undici keeps the process alive by `ref` during a request: on this socket it does nothing. */
const unheld = (socket: Socket): Socket => Object.assign(socket.unref(), { ref: () => socket })

/**
 * Connections are made here and not by undici, for three reasons: each address is checked before it is dialled, the time limit is exact
 * and comes from our clock, and a cancelled request takes its socket along. `timeout` is milliseconds for name look-up, connection and TLS
 * together; `holds`: an open connection keeps the process alive.
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
