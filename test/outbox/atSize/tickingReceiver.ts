import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { numberIn } from './events.js'

/** A receiver that keeps nothing of a request but a mark on a list: one for each event that there is. */
export interface TickingReceiver {
  readonly url: string
  /** From now on it takes what comes. */
  readonly heal: () => void
  /** Events that were asked for at least once, whatever the answer was. */
  readonly tried: () => number
  /** Events that were taken at least once. */
  readonly taken: () => number
  /** How often an event was taken that had been taken before. */
  readonly again: () => number
  readonly requests: () => number
  /** Resolves with the moment of the next request, milliseconds since 1970. */
  readonly next: () => Promise<number>
  /** Resolves when `isSo`. It is asked after each request. */
  readonly until: (isSo: () => boolean) => Promise<void>
  readonly close: () => void
}

const TRIED = 1
const TAKEN = 2

/** A receiver of the events 0 to `count` - 1. It is down, and says 503, until it is healed. */
export const tickingReceiver = async (count: number): Promise<TickingReceiver> => {
  const list = new Uint8Array(count)
  let [healthy, tried, taken, again, requests] = [false, 0, 0, 0, 0]
  const waiting = new Set<() => void>()

  const mark = (number: number): void => {
    const known = list[number]
    if (known === undefined) throw new Error(`there is no event ${number}`)
    if (known === 0) tried++
    if (!healthy) {
      list[number] = known | TRIED
      return
    }
    if (known & TAKEN) again++
    else taken++
    list[number] = TRIED | TAKEN
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      requests++
      mark(numberIn(Buffer.concat(chunks).toString()))
      response.writeHead(healthy ? 200 : 503).end()
      for (const look of waiting) look()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  const until = (isSo: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!isSo()) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
      look()
    })

  return {
    // The port of a server that listens on one.
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    heal: () => {
      healthy = true
    },
    tried: () => tried,
    taken: () => taken,
    again: () => again,
    requests: () => requests,
    next: async () => {
      const before = requests
      await until(() => requests > before)
      return Date.now()
    },
    until,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
