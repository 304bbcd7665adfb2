// Heap for each byte that `stats().bytes` counts: events of six shapes wait in a destination and in a client whose receiver is down.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { createClient } from 'headrace/client'
import { webhookDestination } from 'headrace/destination'
import { answerOf } from './measure.js'

const MOST = 1.5
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
const rooms = {
  destination: () =>
    webhookDestination({ webhooks: [{ url: closedPort }] }, { logger: false, maxCount: 1e6, maxBytes: 1e9 }),
  client: () => createClient('a key', { endpoint: closedPort, logger: false, maxCount: 1e6, maxBytes: 1e9 }),
}

const settled = async () => {
  for (let i = 0; i < 4; i++) {
    globalThis.gc()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

/** Heap for each counted byte. */
const heapForAByte = async (room, shape, maxBytes) => {
  const text = JSON.stringify(shapes[shape])
  const fill = async (target, limit) => {
    for (let at = 0; target.stats().bytes < limit; at++) {
      const call = { type: 'track', userId: `user-${at}`, event: 'Seen', messageId: `message-${at}` }
      await target.send({ ...call, properties: JSON.parse(text) })
      if (at % 100 === 0) await new Promise(setImmediate)
    }
  }
  const warm = rooms[room]()
  await fill(warm, maxBytes / 20)
  await warm.close({ timeout: 0 })
  const target = rooms[room]()
  const before = await settled()
  await fill(target, maxBytes)
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  const after = await settled()
  const { bytes } = target.stats()
  return (after - before) / bytes
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [room, shape, maxBytes] = process.argv.slice(2)
  process.send(await heapForAByte(room, shape, Number(maxBytes)))
  process.disconnect()
  process.exit()
}

/** One row for each shape and room. */
export const run = async ({ maxBytes = 32_000_000 } = {}) => {
  const rows = []
  for (const room of Object.keys(rooms))
    for (const shape of Object.keys(shapes)) {
      const execArgv = ['--expose-gc', '--max-old-space-size=1500']
      const child = fork(fileURLToPath(import.meta.url), [room, shape, String(maxBytes)], { execArgv })
      const figure = await answerOf(child)
      const target = `<= ${MOST}`
      rows.push({ what: `${room}: ${shape}`, figure, unit: 'heap a byte', target, met: figure <= MOST })
    }
  return rows
}
