import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { Clock } from '../clock/Clock.ts'
import type { Fault } from './Fault.ts'

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

const drip = (stage: Stage, every: number): void => {
  later(stage, every, () => {
    stage.response.write('.')
    drip(stage, every)
  })
}

const pour = ({ response, socket }: Stage, bytes: number): void => {
  let left = bytes
  const more = (): void => {
    while (left > 0 && !socket.destroyed) {
      const chunk = left < CHUNK.length ? CHUNK.subarray(0, left) : CHUNK
      left -= chunk.length
      if (!response.write(chunk)) {
        response.once('drain', more)
        return
      }
    }
    response.end()
  }
  more()
}

/** TLS has no reset of its own; there the connection just breaks. */
const reset = (socket: Socket): void => {
  if ('encrypted' in socket) socket.destroy()
  else socket.resetAndDestroy()
}

/** Does to a request what the fault says. `refuse` is for the receiver itself to play: here it only resets. */
export const playFault = (fault: Fault, stage: Stage): void => {
  const { response, socket, url } = stage
  switch (fault.do) {
    case 'status':
      later(stage, fault.after, () => {
        response.writeHead(fault.code, fault.headers).end()
      })
      return
    case 'silence':
      return
    case 'reset':
      later(stage, fault.after, () => {
        reset(socket)
      })
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
      response.write(CHUNK.subarray(0, Math.min(fault.at, PROMISED - 1)), () => {
        socket.destroy()
      })
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
      const location =
        fault.to === 'self' ? new URL('/redirected', url).href : 'http://127.0.0.1:9/redirected'
      response.writeHead(fault.code ?? 307, { Location: location }).end()
    }
  }
}
