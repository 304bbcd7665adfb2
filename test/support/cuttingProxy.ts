import { connect, createServer } from 'node:net'
import { listen } from './http.ts'

/**
 * A proxy on loopback before a server, which cuts connections in the middle of an answer.
 *
 * @param lifeOf bytes of answers that a new connection gets before its cut; Infinity for no cut
 */
export const cuttingProxy = async (port: number, lifeOf: () => number) => {
  let cuts = 0
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    let left = lifeOf()
    client.on('data', (chunk) => upstream.write(chunk))
    upstream.on('data', (chunk: Buffer) => {
      if (client.writableEnded) return
      client.write(chunk.subarray(0, left))
      left -= chunk.length
      if (left > 0) return
      cuts++
      client.end(() => client.destroy())
      upstream.destroy()
    })
    upstream.on('error', () => client.destroy())
    upstream.on('close', () => client.end())
    client.on('close', () => upstream.destroy())
  })
  const { port: own, sockets, close } = await listen(server)
  return {
    port: own,
    cutAll: (): void => sockets.forEach((socket) => socket.destroy()),
    cuts: () => cuts,
    close,
  }
}
