import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** An endpoint that keeps of the messages that it takes no more than their ids. */
export interface MessageReceiver {
  readonly url: string
  /** The ids that were taken, in the order of their first time. */
  readonly taken: ReadonlySet<string>
  /** How often one was taken that had been taken before. */
  readonly again: () => number
  readonly requests: () => number
  /** Resolves when `isSo`. It is asked after each request. */
  readonly until: (isSo: () => boolean) => Promise<void>
  readonly close: () => void
}

/** Takes what `takes` says, and answers 503 to the rest. */
export const messageReceiver = async (takes: () => boolean): Promise<MessageReceiver> => {
  const taken = new Set<string>()
  const waiting = new Set<() => void>()
  let again = 0
  let requests = 0

  const take = (body: string): void => {
    const { batch } = JSON.parse(body) as { batch: ReadonlyArray<{ messageId: string }> }
    for (const { messageId } of batch) {
      if (taken.has(messageId)) again++
      taken.add(messageId)
    }
  }

  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    // What breaks off is not taken.
    request.on('error', () => undefined)
    request.on('end', () => {
      requests++
      const isTaken = takes()
      if (isTaken) take(Buffer.concat(chunks).toString())
      response.writeHead(isTaken ? 200 : 503).end()
      for (const look of waiting) look()
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')

  return {
    // The port of a server that listens on one.
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    taken,
    again: () => again,
    requests: () => requests,
    until: (isSo) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!isSo()) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
