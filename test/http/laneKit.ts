import { createServer, type Server, type Socket } from 'node:net'
import type { Verdict } from '../../src/core/failure.ts'
import type { Lane, LanePost } from '../../src/http/lane.ts'

/** What one POST told, in its order. */
export interface Told {
  readonly events: Array<Verdict | 'complete'>
  readonly cancel: () => void
  /** Resolves when it is complete. */
  readonly completed: Promise<void>
  /** Resolves when there is a verdict. */
  readonly decided: Promise<Verdict>
}

/** A POST that nobody minds. */
export const post = (body = '{}', until = Infinity): LanePost => ({
  headers: ['Content-Type', 'application/json'],
  body,
  until,
})

/** Posts, and writes down all that is told. */
export const onEvent = (lane: Lane, one: LanePost = post(), onVerdict: () => void = () => {}): Told => {
  const events: Array<Verdict | 'complete'> = []
  let complete = (): void => {}
  let decide: (verdict: Verdict) => void = () => {}
  const completed = new Promise<void>((resolve) => (complete = resolve))
  const decided = new Promise<Verdict>((resolve) => (decide = resolve))
  const cancel = lane.post(one, {
    next: (verdict) => {
      events.push(verdict)
      decide(verdict)
      onVerdict()
    },
    complete: () => {
      events.push('complete')
      complete()
    },
  })
  return { events, cancel, completed, decided }
}

/** A server that takes connections and never says a word: TLS never gets anywhere with it. */
export interface Mute {
  readonly port: number
  readonly sockets: ReadonlySet<Socket>
  readonly close: () => Promise<void>
}

export const mute = async (): Promise<Mute> => {
  const sockets = new Set<Socket>()
  const server: Server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    socket.resume()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('no port')
  return {
    port: address.port,
    sockets,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}

/** Lets the event loop turn until it is so; vitest's own limit ends a wait that has no end. */
export const until = async (so: () => boolean): Promise<void> => {
  while (!so()) await new Promise((resolve) => setImmediate(resolve))
}

/** Sockets that this process holds, clients' and servers' together. */
export const socketsOpen = (): number =>
  process.getActiveResourcesInfo().filter((kind) => /^(TCPSocketWrap|TLSWrap|TCPConnectWrap)$/.test(kind))
    .length
