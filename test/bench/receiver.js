// The receiver of the benches, in a process of its own: a bare TCP server that answers every complete request with the same
// bytes. It parses no more than it must, so that on a small machine most of the time is left to who is measured.
// Run as `receiver.js PORTS DELAY`; it tells its parent the ports, and answers `count` with how much has come.
import { createServer } from 'node:net'

const [ports, delay] = process.argv.slice(2)
const answer = Buffer.from(`HTTP/1.1 200 X\r\nContent-Length: 2\r\n\r\nok`)
/** `sockets`: how many were open at the same time, at most. */
const counts = { requests: 0, sockets: 0 }
let open = 0
const HEAD_END = Buffer.from('\r\n\r\n')

/** Where the first request in the bytes ends; undefined as long as it is not complete. */
const endOfRequest = (bytes) => {
  const head = bytes.indexOf(HEAD_END)
  if (head < 0) return undefined
  const length = /\r\ncontent-length: *(\d+)/i.exec(bytes.latin1Slice(0, head + 2))
  const end = head + HEAD_END.length + Number(length?.[1] ?? 0)
  if (bytes.length < end) return undefined
  counts.requests++
  return end
}

const serve = (socket) => {
  let rest = Buffer.alloc(0)
  const reply = () => socket.writable && socket.write(answer)
  socket.setNoDelay(true)
  counts.sockets = Math.max(counts.sockets, ++open)
  socket.on('close', () => open--)
  socket.on('error', () => undefined)
  socket.on('data', (chunk) => {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    for (let end = endOfRequest(rest); end !== undefined; end = endOfRequest(rest)) {
      rest = rest.subarray(end)
      if (delay === '0') reply()
      else setTimeout(reply, Number(delay))
    }
  })
}

const listening = Array.from(
  { length: Number(ports) },
  () =>
    new Promise((resolve) => {
      const server = createServer(serve).listen(0, '127.0.0.1', () => resolve(server.address().port))
    }),
)
process.send(await Promise.all(listening))
process.on('message', () => process.send(counts))
process.on('disconnect', () => process.exit())
