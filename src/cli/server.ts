import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import { isIPv6 } from 'node:net'
import { UsageError } from './options.ts'
import { whyNot } from './report.ts'

export interface Server {
  /** `http://127.0.0.1:7412` */
  readonly origin: string
  /** Accepts no more connections; requests in flight go on. */
  readonly stop: () => void
  /** Closes every connection. */
  readonly close: () => void
}

/** Opens an HTTP server; port 0 is any free port. Rejects with a UsageError. */
export const serve = (host: string, port: number, listener: RequestListener): Promise<Server> =>
  new Promise((resolve, reject) => {
    const server = createServer(listener)
    server.once('error', (error) => {
      const place = `port ${String(port)} at ${host}`
      reject(new UsageError(`${place} cannot be used: ${whyNot(error)}; give another PORT, or 0 for any`))
    })
    server.listen(port, host, () => {
      const address = server.address()
      const bound = typeof address === 'object' && address !== null ? address.port : port
      resolve({
        origin: `http://${isIPv6(host) ? `[${host}]` : host}:${String(bound)}`,
        stop: () => {
          server.close()
          server.closeIdleConnections()
        },
        close: () => {
          server.close()
          server.closeAllConnections()
        },
      })
    })
  })
