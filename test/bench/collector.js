// What a request costs a collector, its messages checked, encoded and given to a sink that takes them at once; against the least that a
// collector by hand does: it parses, checks each message, writes it as JSON once, keeps it, and answers 200.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import fastify from 'fastify'
import { sink } from 'headrace'
import { createCollector } from 'headrace/collector'
import { z } from 'zod'
import { here } from './measure.js'

/** A case: a server, and a process that posts to it. Its listener tells how many messages it takes. */
const served =
  (listenerOf) =>
  async ({ size, count }) => {
    let taken = 0
    const server = createServer(listenerOf((messages) => (taken += messages))).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const sender = fork(here('./sender.js'), [size, String(count)])
    let expected = 0
    return async (requests) => {
      sender.send({ port: server.address().port, requests })
      const [wrong] = await once(sender, 'message')
      expected += requests * count
      if (wrong > 0) throw new Error(`${wrong} requests were not answered 200`)
      // The sink may have them a turn after the answer.
      for (let turn = 0; taken < expected && turn < 10_000; turn++) await new Promise(setImmediate)
      if (taken !== expected) throw new Error(`${taken} messages were taken, and not ${expected}`)
    }
  }

const [FLOOR, COLLECTOR] = ['by hand: parse, check, stringify', 'collector']
const [DEEP, TOP] = ['Fastify, zod of each value, stringify', 'Fastify, zod of the top, stringify']

const isText = (value) => typeof value === 'string' && value !== ''
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
const isMessage = ({ type, messageId, timestamp, userId, event, properties, context }) =>
  type === 'track' &&
  [messageId, userId, event].every(isText) &&
  (context === undefined || isObject(context)) &&
  isObject(properties) &&
  !Number.isNaN(Date.parse(timestamp))

const batchOf = (value) => {
  const record = z.record(z.string(), value)
  return z.object({
    batch: z.array(
      z.object({
        type: z.literal('track'),
        messageId: z.string().min(1),
        timestamp: z.iso.datetime(),
        userId: z.string().min(1),
        anonymousId: z.string().optional(),
        event: z.string().min(1),
        properties: record,
        context: record.optional(),
      }),
    ),
  })
}

let kept = []

const byFastify = (schema) =>
  served((take) => {
    const app = fastify({ bodyLimit: 1e6 })
    app.post('/v1/batch', ({ body }) => {
      kept = schema.parse(body).batch.map((message) => JSON.stringify(message))
      take(kept.length)
      return { ok: true }
    })
    const ready = app.ready()
    return (request, response) => void ready.then(() => app.routing(request, response))
  })

const byHand = (use) =>
  served((take) => (request, response) => {
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const { batch } = JSON.parse(Buffer.concat(chunks).toString())
      use(batch)
      take(batch.length)
      const body = '{"ok":true}'
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length })
      response.end(body)
    })
  })

export const cases = {
  'bare node:http, JSON.parse': byHand(() => undefined),
  [FLOOR]: byHand((batch) => {
    kept = batch.map((message) => {
      if (!isMessage(message)) throw new TypeError('a message of the bench is none')
      const text = JSON.stringify(message)
      return { id: message.messageId, text, byteLength: Buffer.byteLength(text) }
    })
  }),
  // The collector checks each value of the data too.
  [DEEP]: byFastify(batchOf(z.json())),
  [TOP]: byFastify(batchOf(z.unknown())),
  [COLLECTOR]: served((take) => {
    const taking = sink('taking', () => {
      take(1)
      return { _tag: 'Right', right: { sink: 'taking' } }
    })
    return createCollector({
      sources: [{ id: 'web', writeKey: 'wk' }],
      destinations: [{ name: 'Own', sources: ['web'], sink: taking }],
    }).listener
  }),
}

const planOf = (size, count, cases, limits = {}) => ({
  what: `${count} ${size}: `,
  ...{ cases, given: { size, count }, unit: 'µs CPU a request' },
  ...{ units: count === 20 ? 200 : 50, rounds: 60, warmUp: 60, limits },
})

export const plans = [
  planOf('small', 20, [FLOOR, COLLECTOR, 'bare node:http, JSON.parse'], { [COLLECTOR]: 1.8 }),
  planOf('small', 200, [FLOOR, COLLECTOR]),
  planOf('middle', 20, [FLOOR, COLLECTOR]),
  planOf('middle', 200, [FLOOR, COLLECTOR, 'bare node:http, JSON.parse'], { [COLLECTOR]: 1.3 }),
  planOf('middle', 200, [DEEP, COLLECTOR, TOP], { [COLLECTOR]: 0.7 }),
]
