// Heap for each byte that `stats().bytes` counts: events of six shapes wait in a destination and in a client whose receiver is down.
// And the heap of a small event beside its text, while the receiver does not answer.
import { fork } from 'node:child_process'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { createClient } from 'headrace/client'
import { webhookDestination } from 'headrace/destination'
import { answerOf } from './measure.js'

const MOST = 1.5
/** Bytes of an event beside its text. */
const MOST_BESIDE = { destination: 160, client: 128 }
/** What `stats().bytes` counts beside the text of an event. */
const COUNTED = 256
const order = { sku: 'sku-12', name: 'A woollen hat', price: 12.5, tags: ['sale', 'winter'] }

/** What is sent beside the user and the id. Made anew for each event, as the parser of a server does. */
const shapes = {
  'small event': { plan: 'pro' },
  'order of 400 B': { orderId: 'o-1', total: 37.5, products: [order, order, order] },
  'note of 1 KB': { note: 'all is well '.repeat(85) },
  'note of 20 KB with an emoji': { note: `${'all is well '.repeat(1_666)}\u{1F600}` },
  'note of 3 KB, Greek': { note: '\u03B1\u03B2\u03B3\u03B4 '.repeat(333) },
  'array of 8,000 empty objects': { a: Array.from({ length: 8_000 }, () => ({})) },
}

const closedPort = 'http://127.0.0.1:9/'
const options = { logger: false, maxCount: 1e6, maxBytes: 1e9, timeout: 3_600_000 }
const rooms = {
  destination: (url) => webhookDestination({ webhooks: [{ url }] }, options),
  client: (url) => createClient('a key', { endpoint: url, ...options }),
}

const settled = async () => {
  for (let i = 0; i < 4; i++) {
    globalThis.gc()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** Heap for each counted byte, and for each event beside its text. */
const heapFor = async (room, shape, maxBytes, url) => {
  const text = JSON.stringify(shapes[shape])
  const fill = async (target, limit) => {
    for (let at = 0; target.stats().bytes < limit; at++) {
      const call = { type: 'track', userId: `user-${at}`, event: 'Seen', messageId: `message-${at}` }
      await target.send({ ...call, properties: JSON.parse(text) })
      if (at % 100 === 0) await new Promise(setImmediate)
    }
  }
  const warm = rooms[room](url)
  await fill(warm, maxBytes / 20)
  await warm.close({ timeout: 0 })
  const target = rooms[room](url)
  const before = await settled()
  await fill(target, maxBytes)
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  const after = await settled()
  const { bytes, waiting } = target.stats()
  return { aByte: (after - before) / bytes, beside: (after - before - bytes) / waiting + COUNTED }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [room, shape, maxBytes, isSilent] = process.argv.slice(2)
  const silent = createServer((socket) => socket.on('error', () => undefined)).listen(0)
  const url = isSilent === 'true' ? `http://127.0.0.1:${silent.address().port}/` : closedPort
  process.send(await heapFor(room, shape, Number(maxBytes), url))
  process.disconnect()
  process.exit()
}

const measured = (...given) => {
  const execArgv = ['--expose-gc', '--max-old-space-size=1500']
  return answerOf(fork(fileURLToPath(import.meta.url), given.map(String), { execArgv }))
}
const row = (what, figure, unit, most) => ({ what, figure, unit, target: `<= ${most}`, met: figure <= most })

/** One row for each shape and room, and one for each room. */
export const run = async ({ maxBytes = 32_000_000 } = {}) => {
  const rows = []
  for (const [room, most] of Object.entries(MOST_BESIDE)) {
    for (const shape of Object.keys(shapes)) {
      const { aByte } = await measured(room, shape, maxBytes, false)
      rows.push(row(`${room}: ${shape}`, aByte, 'heap a byte', MOST))
    }
    const { beside } = await measured(room, 'small event', maxBytes, true)
    rows.push(row(`${room}: an event without an attempt, beside its text`, beside, 'bytes', most))
  }
  return rows
}
