/** A batch endpoint on loopback that answers as a test says. */
import { subscribe } from 'node:diagnostics_channel'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { EventPayload, Payload, BatchPayload } from '../../src/event/payload.ts'
import { frameBytes } from '../../src/event/payload.ts'
import { trackingFrame } from '../../src/event/trackingMessage.ts'
import { until } from './laneKit.ts'

export interface Request {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The ids in the batch, in order; none if there is no batch. */
  readonly ids: ReadonlyArray<string>
}

export interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** A 103 comes first. */
  readonly announced?: boolean
  /** Sends the status, the headers and what there is of a body, and then nothing more. */
  readonly stalls?: boolean
}

export interface BatchServer {
  /** `http://127.0.0.1:PORT`, without a slash at the end. */
  readonly origin: string
  readonly requests: ReadonlyArray<Request>
  readonly close: () => Promise<void>
}

const idsOf = (text: string): ReadonlyArray<string> => {
  const read: unknown = JSON.parse(text)
  if (typeof read !== 'object' || read === null || !('batch' in read) || !Array.isArray(read.batch)) return []
  return read.batch.map((each: { messageId: string }) => each.messageId)
}

export const batchServer = async (
  reply: (request: Request, index: number) => Reply,
): Promise<BatchServer> => {
  const requests: Request[] = []
  const sockets = new Set<Socket>()
  const server: Server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('error', () => {})
    incoming.on('end', () => {
      const text = String(Buffer.concat(chunks))
      const { method = '', url: path = '', headers } = incoming
      const request = { method, path, headers, text, ids: idsOf(text) }
      requests.push(request)
      const answer = reply(request, requests.length - 1)
      const { status = 200, headers: more, body = '', announced = false, stalls = false } = answer
      if (announced) response.writeEarlyHints({ link: '</style.css>; rel=preload' })
      response.writeHead(status, more)
      if (stalls) response.write(`${body} `)
      else response.end(body)
    })
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // It listens, so it has an address and a port.
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

let answers = 0
subscribe('undici:request:headers', () => answers++)

/** Resolves when the headers of so many more answers have come in, and who waited for them was told. */
export const answered = (count = 1): Promise<void> => {
  const wanted = answers + count
  return until(() => answers >= wanted)
}

export const member = (id: string, more: object = {}): EventPayload<string> => {
  const text = JSON.stringify({ type: 'track', messageId: id, userId: 'u', event: 'É', ...more })
  return { id, items: [id], text, byteLength: Buffer.byteLength(text) }
}

/** A batch of messages with these ids. */
export const batch = (...ids: ReadonlyArray<string>): BatchPayload<string> & Payload<unknown> => {
  const members = (ids.length === 0 ? ['m-0'] : ids).map((id) => member(id))
  const commas = members.length - 1
  const byteLength = members.reduce((sum, each) => sum + each.byteLength, frameBytes(trackingFrame) + commas)
  const items = members.flatMap((each) => each.items)
  return { id: 'b-1', items, members, byteLength, frame: trackingFrame, closedBy: 'count' }
}
