// One host with everything in it: a client with a folder, a collector with a folder, and two receivers that fail. `soakProcess.js FOLDER EVENTS
// SEED`. The wall clock steps. It prints the accounts of all three, and what is left open at the end, as JSON.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createClient } from '../../dist/client/index.js'
import { createCollector } from '../../dist/collector/index.js'
import { systemClock } from '../../dist/index.js'
import { exponential } from '../../dist/policy/index.js'
import { loopbackReceiver, seededRandom } from '../../dist/testing/index.js'

const [path, count, seed] = process.argv.slice(2)
const random = seededRandom(Number(seed))

let shift = 0
const clock = { ...systemClock, now: () => Date.now() + shift }
const stepping = setInterval(() => {
  shift = Math.floor((random() - 0.5) * 7_200_000)
}, 50)

const listeners = () => process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0)
const listenersBefore = listeners()

const seen = new Map()
const faults = [
  { do: 'status', code: 503 },
  { do: 'status', code: 429, headers: { 'Retry-After': '0' } },
  { do: 'reset' },
  { do: 'hangUp' },
  { do: 'truncate', code: 503, at: 10 },
]
const receiver = await loopbackReceiver((request) => {
  if (random() < 0.05) return faults[Math.floor(random() * faults.length)]
  const { messageId } = JSON.parse(String(request.body))
  seen.set(messageId, (seen.get(messageId) ?? 0) + 1)
  return { do: 'status', code: 200 }
})

const retry = exponential({ base: 5, factor: 1 })
const collector = createCollector(
  {
    sources: [{ id: 'web', writeKey: 'wk' }],
    destinations: [
      {
        name: 'hook',
        sources: ['web'],
        sharedSecret: 'correct horse',
        webhooks: [{ url: receiver.url }],
        outbox: { path: `${path}/hook` },
      },
    ],
  },
  { logger: false, clock, retry },
)
/** Some batches are answered 503, after or before the collector has taken them. */
const server = createServer((request, response) => {
  const chance = random()
  if (chance < 0.03) request.resume().on('end', () => response.writeHead(503).end())
  else if (chance < 0.05) request.socket.destroy()
  else collector.listener(request, response)
}).listen(0, '127.0.0.1')
await once(server, 'listening')

const endpoint = `http://127.0.0.1:${server.address().port}/v1/batch`
const outbox = { path: `${path}/client` }
const client = createClient('wk', { endpoint, outbox, logger: false, clock, retry })
const outcomes = {}
client.outcomes$.subscribe(({ _tag }) => (outcomes[_tag] = (outcomes[_tag] ?? 0) + 1))

for (let at = 0; at < Number(count); at++) {
  const call = {
    userId: `u${at % 97}`,
    event: 'Ordered',
    messageId: `m${at}`,
    properties: { at, note: 'é'.repeat(at % 50) },
  }
  while (client.track(call)._tag === 'Left') await client.ready()
}
await client.flush()
const ofClient = (await client.close()).totals
await collector.idle()
const ofHook = collector.stats().destinations.hook
await collector.close()
server.close()
await receiver.close()
clearInterval(stepping)
await new Promise((resolve) => setTimeout(resolve, 200))
globalThis.gc()
const isOurs = (name) => !['PipeWrap', 'TTYWrap', 'FSReqPromise'].includes(name)
const account = {
  ...{ client: ofClient, outcomes, hook: ofHook, unique: seen.size },
  received: [...seen.values()].reduce((a, b) => a + b, 0),
  open: process.getActiveResourcesInfo().filter(isOurs),
  listeners: listeners() - listenersBefore,
  heap: Math.round(process.memoryUsage().heapUsed / 1e6),
}
console.log(JSON.stringify(account))
