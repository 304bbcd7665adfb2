import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Random } from '../../../src/core/clock.ts'
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
  /**
   * Is not answered until the receiver is healed, so nothing comes to its end before; and some others are not either. Without it all are
   * answered, for whom one request without an answer would hold up all.
   */
  readonly stubborn?: string
}

/** At most so many are left without an answer at a time beside the stubborn one: a lane has 16 places. */
const MOST_HELD = 6

interface Posted {
  readonly event: string
  readonly messageId: string
}

/** One message, or those of a batch. Their text is a fixed point of parse and stringify (BY1), so their bytes can be compared. */
const arrivalsOf = (path: string, body: string): ReadonlyArray<Arrival> => {
  const place = path.slice(1)
  // Only the pipeline under test posts here, and what it posts is an event or a batch of messages.
  const posted = JSON.parse(body) as Posted | { readonly batch: ReadonlyArray<Posted> }
  if (!('batch' in posted)) return [{ place, name: posted.event, id: posted.messageId, body }]
  return posted.batch.map((each) => ({
    place,
    name: each.event,
    id: each.messageId,
    body: JSON.stringify(each),
  }))
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

  const isHeld = (arrivals: ReadonlyArray<Arrival>, chance: number): boolean =>
    stubborn !== undefined &&
    (arrivals.some(({ name }) => name === stubborn) || (chance < 0.02 && held.size < MOST_HELD))

  const answer = (arrivals: ReadonlyArray<Arrival>, response: ServerResponse): void => {
    const key = arrivals.map(({ place, name }) => `${place} ${name}`).join()
    const chance = random()
    for (const arrival of arrivals) account.arrived(arrival)
    if (!healed && isHeld(arrivals, chance)) hold(response)
    else if (!healed && chance > 0.96 && !refused.has(key)) {
      // Once each, so that no backoff grows long.
      refused.add(key)
      response.writeHead(503).end()
    } else {
      for (const arrival of arrivals) account.taken(arrival)
      response.writeHead(200).end()
      look()
    }
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      answer(arrivalsOf(request.url ?? '', Buffer.concat(chunks).toString()), response)
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
