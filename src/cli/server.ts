import { createServer, type RequestListener, type Server } from 'node:http'
import { isIPv6 } from 'node:net'
import { isLeft } from 'fp-ts/lib/Either.js'
import { UsageError, count } from './options.ts'
import { whyNot } from './report.ts'

/** Opens an HTTP server; port 0 is any free one. `origin`: `http://127.0.0.1:7412`. @throws UsageError */
export const serve = async (
  host: string,
  portText: string,
  listener: RequestListener,
): Promise<{ readonly server: Server; readonly origin: string }> => {
  const parsed = count(0, 65_535)(portText, {})
  if (isLeft(parsed)) throw new UsageError(`PORT ${parsed.left}`)
  const port = parsed.right
  const server = createServer(listener)
  return new Promise((resolve, reject) => {
    server.once('error', (error) => {
      const place = `port ${String(port)} at ${host}`
      reject(new UsageError(`${place} cannot be used: ${whyNot(error)}; give another PORT, or 0 for any`))
    })
    server.listen(port, host, () => {
      const address = server.address()
      const bound = typeof address === 'object' && address !== null ? address.port : port
      resolve({ server, origin: `http://${isIPv6(host) ? `[${host}]` : host}:${String(bound)}` })
    })
  })
}
