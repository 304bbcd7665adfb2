import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import type { Clock } from '../core/clock.ts'
import { hugeHeader, redirectTarget } from './faults.ts'
import type { Fault } from './faults.ts'

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

const later = ({ clock, socket }: Stage, delay = 0, act: () => void): void => {
  if (delay <= 0) {
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

const answer = (stage: Stage, code: number, after?: number, headers: OutgoingHttpHeaders = {}): void =>
  later(stage, after, () => void stage.response.writeHead(code, headers).end())

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
      answer(stage, fault.code, fault.after, fault.headers)
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
    case 'interim':
      for (const code of fault.codes ?? [103]) socket.write(`HTTP/1.1 ${String(code)} Interim\r\n\r\n`)
      if (fault.code !== undefined) answer(stage, fault.code, fault.after)
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
      answer(stage, 200, 0, hugeHeader(fault.bytes))
      return
    case 'garbage':
      socket.end('!"#$%&/()=? this is not HTTP\r\n\r\n')
      return
    case 'redirect':
      answer(stage, fault.code ?? 307, 0, { Location: redirectTarget(fault.to, url) })
      return
    // Before a request they are played by the receiver; at a request it is too late for them.
    case 'tls':
    case 'dns':
      response.writeHead(500).end(`a receiver cannot play ${fault.do} at a request`)
  }
}
