// What a request costs a collector, its messages checked, encoded and given to a sink that takes them at once; against a bare
// node:http server that parses the same JSON and answers 200. Beside it the least that a collector by hand would do.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'
import { sink } from 'headrace'
import { createCollector } from 'headrace/collector'

const read = (request, use) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => use(JSON.parse(Buffer.concat(chunks).toString())))
}

const answer = (response) => {
  const body = '{"ok":true}'
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length })
  response.end(body)
}

/** A case: a server, and a process that posts to it. */
const served =
  (listenerOf) =>
  async ({ size, count }) => {
    const { listener, taken } = listenerOf()
    const server = createServer(listener).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const sender = fork(fileURLToPath(new URL('./sender.js', import.meta.url)), [size, String(count)])
    let expected = 0
    return async (requests) => {
      sender.send({ port: server.address().port, requests })
      const [wrong] = await once(sender, 'message')
      expected += requests * count
      if (wrong > 0) throw new Error(`${wrong} requests were not answered 200`)
      if (taken() !== expected) throw new Error(`${taken()} messages were taken, and not ${expected}`)
    }
  }

export const cases = {
  'bare node:http, JSON.parse': served(() => {
    let taken = 0
    return {
      listener: (request, response) =>
        read(request, ({ batch }) => {
          taken += batch.length
          answer(response)
        }),
      taken: () => taken,
    }
  }),
  'bare, and one stringify a message': served(() => {
    let taken = 0
    let bytes = 0
    return {
      listener: (request, response) =>
        read(request, ({ batch }) => {
          for (const message of batch) {
            bytes += Buffer.byteLength(JSON.stringify(message))
            taken++
          }
          answer(response)
        }),
      taken: () => (bytes > 0 ? taken : 0),
    }
  }),
  collector: served(() => {
    let taken = 0
    const taking = sink('taking', () => {
      taken++
      return { _tag: 'Right', right: { sink: 'taking' } }
    })
    const { listener } = createCollector({
      sources: [{ id: 'web', writeKey: 'wk' }],
      destinations: [{ name: 'Own', sources: ['web'], sink: taking }],
    })
    return { listener, taken: () => taken }
  }),
}

/** Of the bare server's rate; so at most the inverse of its cost. */
const limits = { collector: 1 / 0.8 }

export const plans = ['small', 'middle'].flatMap((size) =>
  [20, 200].map((count) => ({
    what: `${count} ${size}: `,
    cases: Object.keys(cases),
    given: { size, count },
    unit: 'µs CPU a request',
    units: count === 20 ? 200 : 50,
    rounds: 60,
    warmUp: 10,
    limits,
  })),
)
