import { subscribe } from 'node:diagnostics_channel'
import { createServer as createHttp, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { afterEach, onTestFinished } from 'vitest'
import { frameBytes, type BatchPayload, type EventPayload, type Payload } from '../../src/event/payload.ts'
import { trackingFrame } from '../../src/event/trackingMessage.ts'
import { verifyRequest } from '../../src/signing/request.ts'
import type { Misbehaviour, FaultScript, Received } from '../../src/testing/index.ts'
import { type Receiver, type ReceiverOptions, loopbackReceiver } from '../../src/testing/index.ts'

/** Turns the event loop until it is so; vitest's time limit ends a wait without end. */
export const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
}

export const openSockets = (): number =>
  process.getActiveResourcesInfo().filter((kind) => /^(TCP(Socket|Connect)|TLS)Wrap$/.test(kind)).length

type Script = FaultScript | ((received: Received) => Misbehaviour)

/** Things to close after each test of a file, the last one first; then no socket of it may be left. Call it once a file. */
export const closedAfterEach = () => {
  const closers: Array<() => Promise<unknown>> = []
  const before = openSockets()
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close()
    await until(() => openSockets() <= before)
  })
  const use = <T>(thing: T, close: () => Promise<unknown>): T => (closers.push(close), thing)
  return {
    use,
    receive: async (script?: Script, options: ReceiverOptions = {}): Promise<Receiver> => {
      const receiver = await loopbackReceiver(script, options)
      return use(receiver, receiver.close)
    },
    serve: async (reply: (request: BatchRequest, index: number) => Reply = () => ({})) => {
      const server = await batchServer(reply)
      return use(server, server.close)
    },
  }
}

export const receiverOf = async (...args: Parameters<typeof loopbackReceiver>): Promise<Receiver> => {
  const receiver = await loopbackReceiver(...args)
  onTestFinished(() => receiver.close())
  return receiver
}

export const listen = async (server: Server) => {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // It listens, so it has an address and a port.
  const { port } = server.address() as AddressInfo
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
  return { port, sockets: sockets as ReadonlySet<Socket>, close }
}

export const verifying =
  (secret: string): RequestListener =>
  (request, response) =>
    void verifyRequest(secret, request).then(({ _tag }) => {
      response.writeHead(_tag === 'Right' ? 204 : 401).end()
    })

export const muteServer = () => listen(createServer((socket) => socket.resume()))

export interface BatchRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export interface Reply {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly announced?: boolean
  readonly stalls?: boolean
}

const batchServer = async (reply: (request: BatchRequest, index: number) => Reply) => {
  const requests: BatchRequest[] = []
  const server = createHttp((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('error', () => undefined)
    incoming.on('end', () => {
      const { method = '', url: path = '', headers } = incoming
      const request = { method, path, headers, text: String(Buffer.concat(chunks)) }
      requests.push(request)
      const answer = reply(request, requests.length - 1)
      const { status = 200, headers: more, body = '', announced = false, stalls = false } = answer
      if (announced) response.writeContinue()
      if (announced) response.writeEarlyHints({ link: '</style.css>; rel=preload' })
      response.writeHead(status, more)
      if (stalls) response.write(`${body} `)
      else if (!announced) response.end(body)
      else response.write(body.slice(0, -1), () => setTimeout(() => response.end(body.slice(-1)), 5))
    })
  })
  const { port, close } = await listen(server)
  return { origin: `http://127.0.0.1:${port}`, requests: requests as ReadonlyArray<BatchRequest>, close }
}

let answers = 0
subscribe('undici:request:headers', () => answers++)

export const answered = (): Promise<void> => {
  const before = answers
  return until(() => answers > before)
}

export const member = (id: string): EventPayload<string> => {
  const text = JSON.stringify({ type: 'track', messageId: id, userId: 'u', event: 'É' })
  return { id, items: [id], text, byteLength: Buffer.byteLength(text) }
}

export const batch = (...ids: ReadonlyArray<string>): BatchPayload<string> & Payload<unknown> => {
  const members = (ids.length === 0 ? ['m-0'] : ids).map((id) => member(id))
  const commas = members.length - 1
  const byteLength = members.reduce((sum, each) => sum + each.byteLength, frameBytes(trackingFrame) + commas)
  const items = members.flatMap((each) => each.items)
  return { id: 'b-1', items, members, byteLength, frame: trackingFrame, closedBy: 'count' }
}
