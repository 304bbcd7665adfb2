import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { Clock } from '../core/clock.ts'

/** What a receiver does with a request, as plain data. Times are milliseconds. */
export type Fault =
  /** An answer; 200 at once is a healthy receiver. */
  | {
      readonly do: 'status'
      readonly code: number
      readonly after?: number
      readonly headers?: Readonly<Record<string, string>>
    }
  /** Takes the request and never answers. */
  | { readonly do: 'silence' }
  /** A TCP reset, in place of an answer. */
  | { readonly do: 'reset'; readonly after?: number }
  /** Closes the connection without an answer. */
  | { readonly do: 'hangUp' }
  /** Refuses connections for `lasting` milliseconds (default 50). The rest of the script is for later connections. */
  | { readonly do: 'refuse'; readonly lasting?: number }
  /** Announces an answer (103) that never comes. */
  | { readonly do: 'early' }
  /** The status and the headers, and then nothing of the body. */
  | { readonly do: 'headersOnly'; readonly code: number }
  /** The body comes one byte at a time and does not end. */
  | { readonly do: 'slowBody'; readonly code: number; readonly bytesPerSecond: number }
  /** Promises 1,000 bytes of body, sends `at` of them, and resets. */
  | { readonly do: 'truncate'; readonly code: number; readonly at: number }
  /** A body of `bytes` bytes (default 1 GB), made as fast as it is read. */
  | { readonly do: 'hugeBody'; readonly code: number; readonly bytes?: number }
  /** Some kilobytes that inflate to 50 MB. */
  | { readonly do: 'gzipBomb'; readonly code: number }
  /** One header of `bytes` bytes (default 100,000). */
  | { readonly do: 'hugeHeader'; readonly bytes?: number }
  /** An answer that is not HTTP. */
  | { readonly do: 'garbage' }
  /** Redirects to the receiver itself, or elsewhere. */
  | { readonly do: 'redirect'; readonly to: 'self' | 'other'; readonly code?: number }

/** One fault for each request, in the order of arrival. Afterwards the answer is 200 at once. */
export type FaultScript = ReadonlyArray<Fault>

/** What a healthy receiver does. */
export const healthy: Fault = { do: 'status', code: 200 }

/** Where a fault is played: an answer, its socket, and the receiver around them. */
export interface Stage {
  readonly response: ServerResponse
  readonly socket: Socket
  readonly clock: Clock
  /** The receiver's own URL. */
  readonly url: string
}

const CHUNK = Buffer.alloc(65_536, 'x')
const PROMISED = 1_000

let bomb: Buffer | undefined
const gzipBomb = (): Buffer => (bomb ??= gzipSync(Buffer.alloc(50_000_000)))

const later = ({ clock, socket }: Stage, delay: number | undefined, act: () => void): void => {
  if (delay === undefined || delay <= 0) {
    act()
    return
  }
  const cancel = clock.schedule(delay, () => {
    socket.off('close', cancel)
    act()
  })
  socket.once('close', cancel)
}

const drip = (stage: Stage, every: number): void =>
  later(stage, every, () => {
    stage.response.write('.')
    drip(stage, every)
  })

const pour = (stage: Stage, bytes: number): void => {
  const { response } = stage
  if (bytes <= 0) response.end()
  else response.write(CHUNK.subarray(0, bytes), () => pour(stage, bytes - CHUNK.length))
}

/** TLS has no reset of its own; there the connection just breaks. */
const reset = (socket: Socket): void => {
  if ('encrypted' in socket) socket.destroy()
  else socket.resetAndDestroy()
}

/** Plays a fault. A `refuse` is played by the receiver itself: here it only resets the connection. */
export const playFault = (fault: Fault, stage: Stage): void => {
  const { response, socket, url } = stage
  switch (fault.do) {
    case 'status':
      later(stage, fault.after, () => void response.writeHead(fault.code, fault.headers).end())
      return
    case 'silence':
      return
    case 'reset':
      later(stage, fault.after, () => reset(socket))
      return
    case 'refuse':
      reset(socket)
      return
    case 'hangUp':
      socket.end()
      return
    case 'early':
      socket.write('HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n')
      return
    case 'headersOnly':
      response.writeHead(fault.code, { 'Content-Length': PROMISED }).flushHeaders()
      return
    case 'slowBody':
      response.writeHead(fault.code).flushHeaders()
      drip(stage, 1_000 / fault.bytesPerSecond)
      return
    case 'truncate':
      response.writeHead(fault.code, { 'Content-Length': PROMISED })
      response.write(CHUNK.subarray(0, Math.min(fault.at, PROMISED - 1)), () => void socket.destroy())
      return
    case 'hugeBody':
      response.writeHead(fault.code)
      pour(stage, fault.bytes ?? 1_000_000_000)
      return
    case 'gzipBomb':
      response.writeHead(fault.code, { 'Content-Encoding': 'gzip' }).end(gzipBomb())
      return
    case 'hugeHeader':
      response.writeHead(200, { 'X-Huge': 'x'.repeat(fault.bytes ?? 100_000) }).end()
      return
    case 'garbage':
      socket.end('!"#$%&/()=? this is not HTTP\r\n\r\n')
      return
    case 'redirect': {
      const Location = new URL('/redirected', fault.to === 'self' ? url : 'http://127.0.0.1:9/').href
      response.writeHead(fault.code ?? 307, { Location }).end()
    }
  }
}
