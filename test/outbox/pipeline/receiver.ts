import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Random } from '../../../src/clock/Random.ts'
import type { Account, Arrival } from './account.ts'

/** A receiver that tells an account what comes. */
export interface CountingReceiver {
  /** With a place at its end it is the URL of that place. */
  readonly url: string
  /** Resolves when so many different messages were taken. */
  readonly delivered: (count: number) => Promise<void>
  /** Resolves when nobody is connected: then all that was sent by a process that is dead has been read. */
  readonly quiet: () => Promise<void>
  /** From now on it takes everything. */
  readonly heal: () => void
  readonly close: () => Promise<void>
}

/** What a receiver works with. */
export interface CountingReceiverOptions {
  readonly account: Account
  readonly random: Random
  /** Is not answered until the receiver is healed, so nothing comes to its end before. */
  readonly stubborn: string
}

/** At most so many are left without an answer at a time beside the stubborn one: a lane has 16 places. */
const MOST_HELD = 6

const arrivalOf = (path: string, body: string): Arrival => {
  // Only the pipeline under test posts here, and what it posts is an event.
  const { event, messageId } = JSON.parse(body) as { readonly event: string; readonly messageId: string }
  return { place: path.slice(1), name: event, id: messageId, body }
}

/** Waits that end when a condition holds; looked at after each change. */
const conditions = () => {
  const open = new Set<() => boolean>()
  return {
    look: (): void => {
      for (const each of open) if (each()) open.delete(each)
    },
    until: (holds: () => boolean): Promise<void> =>
      new Promise((resolve) => {
        const each = (): boolean => {
          if (holds()) resolve()
          return holds()
        }
        if (!each()) open.add(each)
      }),
  }
}

/** Opens a receiver that now and then answers 503 or not at all, so that something waits whenever the sender is killed. */
export const countingReceiver = async ({
  account,
  random,
  stubborn,
}: CountingReceiverOptions): Promise<CountingReceiver> => {
  const sockets = new Set<Socket>()
  const held = new Set<ServerResponse>()
  const refused = new Set<string>()
  const { look, until } = conditions()
  let healed = false

  const hold = (response: ServerResponse): void => {
    held.add(response)
    response.on('close', () => held.delete(response))
  }

  const answer = (arrival: Arrival, response: ServerResponse): void => {
    const key = `${arrival.place} ${arrival.name}`
    const chance = random()
    account.arrived(arrival)
    if (!healed && arrival.name === stubborn) hold(response)
    else if (!healed && chance < 0.02 && held.size < MOST_HELD) hold(response)
    else if (!healed && chance > 0.95 && !refused.has(key)) {
      // Once each, so that no backoff grows long.
      refused.add(key)
      response.writeHead(503).end()
    } else {
      account.taken(arrival)
      response.writeHead(200).end()
      look()
    }
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      answer(arrivalOf(request.url ?? '', Buffer.concat(chunks).toString()), response)
    })
    request.on('error', () => undefined)
    response.on('error', () => undefined)
  })
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      sockets.delete(socket)
      look()
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  // A server that listens on an address has a port.
  const { port } = server.address() as AddressInfo

  return {
    url: `http://127.0.0.1:${String(port)}/`,
    delivered: (count) => until(() => account.delivered() >= count),
    quiet: () => until(() => sockets.size === 0),
    heal: () => {
      healed = true
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve()
        })
        for (const socket of sockets) socket.destroy()
      }),
  }
}
