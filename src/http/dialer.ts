import { connect as connectPlain, isIP } from 'node:net'
import type { LookupFunction, Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { SecureContext, TLSSocket } from 'node:tls'
import type { Cancel, Clock } from '../core/clock.ts'
import type { Guard } from './egress.ts'
import { blockedAddress, notConnected } from './networkError.ts'

/** What a dialer needs to know. */
export interface DialerOptions {
  readonly url: URL
  readonly guard: Guard
  readonly lookup: LookupFunction
  /** Made when first needed; only asked for an https URL. */
  readonly secureContext: () => SecureContext
  /** Milliseconds for name look-up, connection and TLS together. */
  readonly within: number
  readonly clock: Clock
  /** Whether an open connection keeps the process alive. Default true. */
  readonly holds?: boolean
}

/** Connects, and answers once: with an error, or with a socket that is ready. Cancelled, it destroys its socket and answers nothing. */
export type Dial = (done: (...answer: [Error, null] | [null, Socket]) => void) => Cancel

const KEEP_ALIVE_PROBE = 60_000

type Open = () => Socket

const plainOpen = ({ url, lookup }: DialerOptions, host: string): Open => {
  const port = Number(url.port === '' ? 80 : url.port)
  return () => connectPlain({ host, port, lookup })
}

const tlsOpen = ({ url, lookup, secureContext }: DialerOptions, host: string): Open => {
  const port = Number(url.port === '' ? 443 : url.port)
  let session: Buffer | undefined
  return () => {
    const socket: TLSSocket = connectTls({
      host,
      port,
      lookup,
      secureContext: secureContext(),
      // Said aloud, for the environment may hold NODE_TLS_REJECT_UNAUTHORIZED=0 (webhooks/S31).
      rejectUnauthorized: true,
      ALPNProtocols: ['http/1.1'],
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(session === undefined ? {} : { session }),
    })
    socket.on('session', (latest: Buffer) => {
      session = latest
    })
    return socket
  }
}

/** undici holds the process with each request by `ref`: on this socket that does nothing. */
const unheld = (socket: Socket): Socket => Object.assign(socket.unref(), { ref: () => socket })

/**
 * Makes connections to one receiver. Connecting is ours and not undici's, for three reasons: every address is judged before
 * it is dialled (DE13), the limit is exact and comes from our clock, and a request that is cancelled takes its socket along.
 */
export const dialer = (options: DialerOptions): Dial => {
  const { url, guard, within, clock, holds = true } = options
  const host = url.hostname.replace(/^\[|\]$/g, '')
  const secure = url.protocol === 'https:'
  const open = secure ? tlsOpen(options, host) : plainOpen(options, host)
  return (done) => {
    const why = guard.host(host)
    if (why !== undefined) {
      done(blockedAddress(why), null)
      return () => undefined
    }
    const socket = holds ? open() : unheld(open())
    const stop: Cancel = clock.schedule(within, () => {
      fail(notConnected())
    })
    const ready = (): void => {
      stop()
      socket.off('error', fail)
      done(null, socket)
    }
    const fail = (error: Error): void => {
      abandon()
      done(error, null)
    }
    const abandon = (): void => {
      stop()
      socket.off(secure ? 'secureConnect' : 'connect', ready)
      socket.off('error', fail)
      // A socket can still fail on its way out, and nobody is interested any more.
      socket.on('error', () => undefined)
      socket.destroy()
    }
    socket.setNoDelay(true).setKeepAlive(true, KEEP_ALIVE_PROBE)
    socket.once(secure ? 'secureConnect' : 'connect', ready).once('error', fail)
    return abandon
  }
}
