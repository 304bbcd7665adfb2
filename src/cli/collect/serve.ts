import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import { isIPv6 } from 'node:net'

/** A server that listens. */
export interface Serving {
  /** `http://127.0.0.1:7410` */
  readonly origin: string
  /** Listens no more; what is on its way may end. */
  readonly close: () => void
  /** Cuts every connection. */
  readonly cut: () => void
}

/** Opens an HTTP server. Port 0 is any that is free. Fails as Node does when the port or the address cannot be had. */
export const serve = (host: string, port: number, listener: RequestListener): Promise<Serving> =>
  new Promise((resolve, reject) => {
    const server = createServer(listener)
    server.once('error', reject)
    server.listen(port, host, () => {
      const address = server.address()
      const bound = typeof address === 'object' && address !== null ? address.port : port
      resolve({
        origin: `http://${isIPv6(host) ? `[${host}]` : host}:${String(bound)}`,
        close: () => {
          server.close()
          server.closeIdleConnections()
        },
        cut: () => {
          server.closeAllConnections()
        },
      })
    })
  })
