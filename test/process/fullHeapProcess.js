// Fills a collector, or a destination, whose receiver never answers, until it refuses. Prints the answers: `node fullHeapProcess.js ROOM SHAPE`.
import { createServer, request } from 'node:http'
import { createServer as createTcpServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import { createCollector } from 'headrace/collector'
import { webhookDestination } from 'headrace/destination'

const CONNECTIONS = 8
const call = { type: 'track', userId: 'u', event: 'Seen' }
const calls = {
  tiny: { type: 'page', userId: 'u' },
  notes: { ...call, properties: { note: 'all is well '.repeat(2_600) } },
  emoji: { ...call, properties: { note: `${'all is well '.repeat(2_600)}\u{1F600}` } },
}
const listening = async (server) => {
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server.address().port
}
const port = await listening(createTcpServer((socket) => socket.on('error', () => undefined).resume()))
const webhooks = [{ url: `http://127.0.0.1:${port}/` }]
const answers = {}
const count = (answer) => (answers[answer] = (answers[answer] ?? 0) + 1)
const [room, shape] = process.argv.slice(2)
const message = JSON.stringify(calls[shape])
if (room === 'destination') {
  const destination = webhookDestination({ webhooks }, { logger: false })
  let isFull = false
  for (let at = 0; !isFull; at++) {
    const { _tag, left } = await destination.send(JSON.parse(message))
    isFull = _tag === 'Left'
    count(isFull ? left._tag : 'accepted')
    if (at % 100 === 0) await new Promise(setImmediate)
  }
} else {
  const collector = createCollector(
    { sources: [{ id: 's', writeKey: 'k' }], destinations: [{ name: 'D', sources: ['s'], webhooks }] },
    { logger: false, whenFull: 'refuse' },
  )
  const to = await listening(createServer(collector.listener))
  const perRequest = Math.floor(511_000 / (message.length + 1))
  const body = Buffer.from(`{"writeKey":"k","batch":[${Array(perRequest).fill(message).join(',')}]}`)
  const isGzip = room === 'gzip'
  const headers = { 'Content-Type': 'application/json', ...(isGzip && { 'Content-Encoding': 'gzip' }) }
  const post = () =>
    new Promise((resolve, reject) => {
      const sent = request({ port: to, method: 'POST', path: '/v1/batch', headers }, (response) =>
        response.resume().on('end', () => resolve(response.statusCode)),
      )
      sent.on('error', reject).end(isGzip ? gzipSync(body) : body)
    })
  let refused = 0
  const keepPosting = async () => {
    for (let at = 0; refused < CONNECTIONS && at < 4_000; at++) {
      const status = await post()
      count(status)
      if (status !== 200) refused++
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, keepPosting))
}
process.stdout.write(JSON.stringify(answers))
process.exit()
