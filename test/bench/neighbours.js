// p50 and p99 of healthy URLs, in ms, alone, beside one that hangs, and beside five whose name servers are silent:
// `node test/bench/neighbours.js [SECONDS]`. Look-ups are played: those of the system two at a time, as libuv has it, and ten seconds for
// a silent server; those of c-ares all at once, and two seconds.
import dns from 'node:dns'
import dnsPromises from 'node:dns/promises'
import { createServer } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'

const seconds = Number(process.argv[2] ?? 40)
const THREADS = 2
const waiting = []
let running = 0
const startNext = () => {
  if (running >= THREADS || waiting.length === 0) return
  const [name, done] = waiting.shift()
  running++
  const isSilent = name.startsWith('silent')
  setTimeout(
    () => {
      running--
      if (isSilent) done(Object.assign(new Error('no answer'), { code: 'EAI_AGAIN' }), [])
      else done(null, [{ address: '127.0.0.1', family: 4 }])
      startNext()
    },
    isSilent ? 10_000 : 1,
  )
}
dns.lookup = (name, _options, done) => {
  waiting.push([name, done])
  startNext()
}
const noAnswer = Object.assign(new Error('no answer'), { code: 'ETIMEOUT' })
const resolved = (name, addresses) =>
  new Promise((resolve, reject) => {
    if (name.startsWith('silent')) setTimeout(() => reject(noAnswer), 2_000)
    else setTimeout(() => resolve(addresses), 1)
  })
dnsPromises.Resolver = class {
  resolve4 = (name) => resolved(name, ['127.0.0.1'])
  resolve6 = (name) => resolved(name, [])
}
syncBuiltinESMExports()
const { webhookDestination } = await import('headrace/destination')

const listening = async (answer) => {
  const server = createServer((request, response) => request.resume().on('end', () => answer(response)))
  await new Promise((resolve) => server.listen(0, resolve))
  return server
}
const healthy = await listening((response) => response.writeHead(200, { Connection: 'close' }).end())
const hanging = await listening(() => undefined)
const urlOf = (host, { port }) => `http://${host}:${port}/`

const measured = async (what, isKnown, ...neighbours) => {
  const open = (urls) => webhookDestination({ webhooks: urls.map((url) => ({ url })) }, { logger: false })
  const destination = open([urlOf('healthy.example', healthy.address())])
  const others = neighbours.map((url) => open([url]))
  const took = []
  const startedAt = new Map()
  let failed = 0
  destination.outcomes$.subscribe(({ _tag, item, attempts }) => {
    took.push(performance.now() - startedAt.get(item.id))
    if (_tag !== 'Delivered' || attempts > 1) failed++
  })
  const send = (at) => {
    const call = { type: 'track', userId: 'u', event: 'Seen', messageId: `m${at}` }
    startedAt.set(call.messageId, performance.now())
    for (const each of [...others, destination]) void each.send(call)
  }
  if (isKnown) {
    await destination.send({ type: 'track', userId: 'u', event: 'Seen', messageId: 'first' })
    await destination.idle()
  }
  took.length = 0
  const count = seconds * 10
  for (let at = 0; at < count; at++) {
    send(at)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  await Promise.all([destination, ...others].map((each) => each.close({ timeout: 1_000 })))
  took.sort((a, b) => a - b)
  const at = (share) => Math.round(took[Math.min(took.length - 1, Math.floor(took.length * share))] ?? NaN)
  console.log(
    `${what}: p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, ${failed} of ${count} not at the first attempt`,
  )
}

const silent = [1, 2, 3, 4, 5].map((at) => `http://silent${at}.example/`)
await measured('alone', true)
await measured('beside one that hangs', true, urlOf('hanging.example', hanging.address()))
await measured('beside five silent name servers', true, ...silent)
await measured('the same, and its name was never looked up before', false, ...silent)
process.exit()
