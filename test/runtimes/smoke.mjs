// Uses each part once from an installed package, and prints a line of JSON: the parts that work here.
import { mkdtempSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'

const bodies = []
const server = createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  bodies.push({ body: Buffer.concat(chunks), headers: request.headers })
  response.end()
})
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${server.address().port}/`
const call = { type: 'track', userId: 'u1', event: 'Signed Up', messageId: 'm1' }
const must = (fact) => {
  if (!fact) throw new Error('it did not do its work')
}

const sendBy = async (options) => {
  const { webhookDestination } = await import('headrace/destination')
  const settings = { sharedSecret: 's', webhooks: [{ url }] }
  const destination = webhookDestination(settings, { logger: false, ...options })
  await destination.send(call)
  must((await destination.idle()).delivered === 1)
  await destination.close()
}
const parts = {
  destination: () => sendBy({}),
  folder: () => sendBy({ outbox: { path: mkdtempSync(`${tmpdir()}/headrace-`) } }),
  client: async () => {
    const { createClient } = await import('headrace/client')
    const client = createClient('key', { endpoint: url, logger: false })
    client.send(call)
    must((await client.close()).totals.delivered === 1)
  },
  collector: async () => {
    const { createCollector } = await import('headrace/collector')
    const { memory } = await import('headrace/sinks/memory')
    const sink = memory()
    const collector = createCollector({
      sources: [{ id: 'web', writeKey: 'key' }],
      destinations: [{ name: 'own', sources: ['web'], sink }],
    })
    const headers = { 'Content-Type': 'application/json', Authorization: `Basic ${btoa('key:')}` }
    const request = { method: 'POST', headers, body: JSON.stringify({ batch: [call] }) }
    must((await collector.handle(new Request('http://host/v1/batch', request))).status === 200)
    await collector.idle()
    must(sink.items().length === 1)
    await collector.close()
  },
  verify: async () => {
    const { verifyRaw } = await import('headrace/signing')
    const signed = bodies.find(({ headers }) => headers['x-signature'])
    must(verifyRaw('s', signed.body, signed.headers['x-signature'])._tag === 'Right')
  },
}
const works = []
for (const [name, use] of Object.entries(parts))
  try {
    await use()
    works.push(name)
  } catch (error) {
    console.error(`${name}: ${error.message}`)
  }
console.log(JSON.stringify(works))
process.exit()
