// Gives hostile inputs to one target: `fuzzProcess.js TARGET INPUTS SEED`. It prints what the worst input cost, as JSON. It ends with 1, and
// the number of the input, when an input is answered wrongly or costs more than its budget.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { createCollector } from '../../dist/collector/index.js'
import { decodeSettings } from '../../dist/destination/index.js'
import { signatureOf, verifyParsed, verifyRaw, verifyRequest } from '../../dist/signing/index.js'
import { sink } from '../../dist/index.js'
import { ndjsonLines } from '../../dist/sources/ndjson.js'
import { seededRandom } from '../../dist/testing/index.js'

const [target, inputs, seed] = process.argv.slice(2)
let random = seededRandom(Number(seed))
const below = (count) => Math.floor(random() * count)
const pick = (list) => list[below(list.length)]

/** Milliseconds of CPU that an input may cost at least, and for each of its bytes. */
const BUDGET = { base: 150, byte: 0.02 }
const MAX_LENGTH = 65_536
const SECRET = 'correct horse'

const TOKENS = [
  ...['{', '}', '[', ']', '"', ':', ',', 'null', 'true', '-0', '1e400', '0', '\\', '\r\n', '\n', '\0', '%'],
  ...['"__proto__":', '"constructor":{"prototype":{', '"toJSON":', '\\ud800', '\\u0000', '\u202e', 'é', '😀'],
  ...['[', '{"a":', '0'].map((each) => each.repeat(400)),
  ...[' '.repeat(1_000), '"a":{},'.repeat(500), '[],'.repeat(2_000)],
]

/** A few edits of a good input: most of it stays, so that it gets far. */
const mutated = (good) => {
  let text = good
  for (let edits = below(7); edits > 0; edits--) {
    const at = below(text.length + 1)
    const length = below(pick([2, 20, 400]))
    const twice = text.slice(at, at + length).repeat(2)
    const part = pick(['', pick(TOKENS), twice, String.fromCharCode(below(300))])
    text = text.slice(0, at) + part + text.slice(at + below(2) * length)
  }
  return text.slice(0, MAX_LENGTH)
}

const valueOf = (text) => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

const wrong = (what) => {
  throw new Error(what)
}

const batch = JSON.stringify({
  batch: [
    { type: 'track', userId: 'u1', event: 'Ordered', properties: { total: 9.5, items: [{ id: 'é' }] } },
    { type: 'identify', anonymousId: 'a', traits: { plan: 'pro' }, timestamp: '2026-01-01T00:00:00.000Z' },
    { type: 'page', userId: 'u1', context: { ip: '::1' }, integrations: { All: false, crm: { a: 1 } } },
  ],
  context: { app: { name: 'x' } },
  sentAt: '2026-01-01T00:00:00.000Z',
  writeKey: 'wk',
})
const settings = JSON.stringify({
  sharedSecret: SECRET,
  webhooks: [{ url: 'https://a.example/hook?x=1', headers: { 'X-Team': 'blue' }, tls: { ca: 'x' } }],
  enabled: true,
  egress: { to: 'public', allow: ['10.0.0.0/8'] },
})
const post = [
  'POST /v1/batch HTTP/1.1',
  'Host: a',
  'Content-Type: application/json',
  `Content-Length: ${Buffer.byteLength(batch)}`,
]
const raw = [...post, 'Authorization: Basic d2s6', 'Connection: close', '', batch].join('\r\n')

const collector = () =>
  createCollector(
    {
      sources: [{ id: 'web', writeKey: 'wk', deletions: true }],
      destinations: [{ name: 'crm', sources: ['web'], sink: sink('crm', async () => undefined) }],
    },
    { logger: false },
  )

const chunksOf = (text) => {
  const bytes = Buffer.from(text)
  const size = pick([1, 7, 1_000, MAX_LENGTH])
  const chunks = []
  for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size))
  return size === 1 && chunks.length > 4_000 ? [bytes] : chunks
}

const streamOf = (text) => ReadableStream.from(chunksOf(text))

const posted = (url, text, headers) =>
  new Request(url, { method: 'POST', body: streamOf(text), duplex: 'half', headers })

/** For each target: opens it, and answers how to give it an input, and its last check. `give` answers the bytes of the input. */
const targets = {
  collector: async () => {
    const open = collector()
    return {
      give: async () => {
        const text = mutated(batch)
        const Authorization = pick(['Basic d2s6', 'Basic x', ''])
        const headers = { 'Content-Type': 'application/json', Authorization }
        const name = pick(['batch', 'batch', 'track', 'page', mutated('import')])
        const path = encodeURIComponent(name.toWellFormed())
        const answer = await open.handle(posted(`http://a/v1/${path}`, text, headers))
        if (answer.status >= 500 && answer.status !== 503) wrong(`status ${answer.status}`)
        await answer.json()
        return text.length
      },
      end: () => open.close(),
    }
  },
  sockets: async () => {
    const open = collector()
    const server = createServer(open.listener).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address()
    const send = async (text) => {
      const socket = connect(port, '127.0.0.1')
      let answer = ''
      socket.on('data', (data) => (answer += data)).on('error', () => undefined)
      for (const chunk of chunksOf(text)) socket.write(chunk)
      socket.end()
      await once(socket, 'close')
      return answer
    }
    return {
      give: async () => {
        const text = mutated(raw)
        const answer = await send(text)
        if (/^HTTP\/1.1 50[^3]/.test(answer)) wrong(answer.slice(0, 40))
        return text.length
      },
      end: async () => {
        const answer = await send(raw)
        if (!answer.startsWith('HTTP/1.1 200')) wrong(`a sound request is answered ${answer.slice(0, 40)}`)
        server.close()
        await open.close()
      },
    }
  },
  settings: async () => ({
    give: async () => {
      const text = mutated(settings)
      if (JSON.stringify(decodeSettings(valueOf(text))).includes(SECRET)) wrong('it shows the secret')
      return text.length
    },
  }),
  verify: async () => ({
    give: async () => {
      const text = mutated(batch)
      const signature = signatureOf(SECRET, text)
      const header = pick([signature, 'a'.repeat(40), mutated(signatureOf('other', text)), undefined])
      const headers = header === undefined ? {} : { 'X-Signature': encodeURIComponent(header.toWellFormed()) }
      const request = posted('http://a/', text, headers)
      const verified = [verifyRaw(SECRET, text, header), await verifyRequest(SECRET, request)]
      if (verified.some(({ _tag }) => (_tag === 'Right') !== (header === signature)))
        wrong(`verified: ${JSON.stringify(verified)}`)
      verifyParsed(SECRET, valueOf(text), header)
      return text.length
    },
  }),
  ndjson: async () => ({
    give: async () => {
      const text = mutated(`${batch}\n${settings}\r\n\n${batch.slice(1)}\n`)
      for await (const line of ndjsonLines(chunksOf(text), { maxBytes: 10_000 }))
        if (line._tag === 'Right') JSON.parse(line.right.text)
      return text.length
    },
  }),
}

const { give, end } = await targets[target]()
const cpu = () => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
const heapNow = () => {
  globalThis.gc()
  return process.memoryUsage().heapUsed / 1e6
}
let worst = { ms: 0, microsPerByte: 0 }
let heap
for (let at = 0; at < Number(inputs); at++) {
  if (at === Math.min(1_000, inputs >> 1)) heap = heapNow()
  let [bytes, ms] = [0, Infinity]
  try {
    // A machine that stands still may count that time too: an input that is dear is given again.
    for (let tries = 0; tries < 3 && ms > BUDGET.base + BUDGET.byte * bytes; tries++) {
      random = seededRandom(Number(seed) * 1_000_003 + at)
      const before = cpu()
      bytes = await give()
      ms = Math.min(ms, cpu() - before)
    }
    if (ms > BUDGET.base + BUDGET.byte * bytes) wrong(`${bytes} bytes took ${ms} ms of CPU`)
  } catch (error) {
    console.error(`input ${at} of seed ${seed}: ${error.stack}`)
    process.exit(1)
  }
  // The first inputs pay for the compiler.
  if (at > 500 && ms > worst.ms) worst = { ...worst, ms, bytes, input: at }
  if (at > 500 && bytes > 1_000) worst.microsPerByte = Math.max(worst.microsPerByte, (1_000 * ms) / bytes)
}
await end?.()
const growth = heapNow() - heap
// Over all inputs, in MB.
if (growth > 48) {
  console.error(`the heap grew by ${growth} MB`)
  process.exit(1)
}
console.log(JSON.stringify({ target, inputs: Number(inputs), worst, growth }))
process.exit(0)
