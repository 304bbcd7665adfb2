// What a forwarded event costs: 1 KB, validated, encoded, signed, posted to one URL with 64 in flight, and accounted for; against
// bare undici `Pool.request` with `JSON.stringify` and HMAC, and beside it the clients that people reach for.
import { createHmac, createSecretKey } from 'node:crypto'
import http from 'node:http'
import axios from 'axios'
import { flow } from 'fp-ts/lib/function.js'
import got from 'got'
import {
  deliver,
  encode,
  Event,
  firstSuccess,
  withConcurrency,
  ParsedEvent,
  sign,
  withTimeout,
  toWebhookBody,
} from 'headrace'
import { validate } from 'headrace'
import { webhookDestination } from 'headrace/destination'
import { webhook } from 'headrace/sinks/webhook'
import { Subject } from 'rxjs'
import { Pool } from 'undici'
import { calls } from './events.js'
import { checkArrived, rowsOf, startReceiver, takeTurns } from './measure.js'

const SECRET = 'correct horse'
const IN_FLIGHT = 64
const guarded = flow(webhook, withTimeout(5_000), withConcurrency({ concurrency: 16 }))

const key = createSecretKey(SECRET, 'utf8')
const signatureOf = (body) => createHmac('sha1', key).update(body).digest('hex')
const headersOf = (body) => ({
  'content-type': 'application/json',
  'user-agent': 'headrace/1.0',
  'x-signature': signatureOf(body),
})

/** What is posted: the bodies that headrace makes of the same calls, so that all send the same bytes. */
const bodiesToWrite = () =>
  calls('middle').map((call) => {
    const event = Event.decode(call)
    return toWebhookBody(event.right)
  })

/** A case that keeps 64 requests in flight with a function that sends one and answers a promise. */
const byPromise = (send) => async () => {
  const bodies = bodiesToWrite()
  return async (units) => {
    let sent = 0
    const worker = async () => {
      while (sent < units) {
        const body = JSON.stringify(bodies[sent++ % bodies.length])
        await send(body, headersOf(body))
      }
    }
    await Promise.all(Array.from({ length: IN_FLIGHT }, worker))
  }
}

/** A case that lets events flow through a pipeline, the next one as soon as one has its outcome. */
const byPipeline =
  (codec) =>
  async ({ url }) => {
    const inputs = calls('middle')
    const sink = firstSuccess([guarded(url)])
    return (units) =>
      new Promise((resolve, reject) => {
        const events = new Subject()
        let sent = 0
        const next = () => {
          if (sent < units) events.next(inputs[sent++ % inputs.length])
          else if (sent === units) events.complete()
        }
        events.pipe(validate(codec), encode(toWebhookBody), sign(SECRET), deliver(sink)).subscribe({
          next: (outcome) => {
            if (outcome._tag === 'Delivered') next()
            else reject(new Error(`an event of the bench was not delivered: ${outcome._tag}`))
          },
          complete: resolve,
          error: reject,
        })
        for (let i = 0; i < IN_FLIGHT; i++) next()
      })
  }

const byFacade = async ({ url }) => {
  const inputs = calls('middle')
  const destination = webhookDestination({ sharedSecret: SECRET, webhooks: [{ url }] })
  return (units) =>
    new Promise((resolve) => {
      let sent = 0
      let ended = 0
      const next = () => {
        if (sent < units) void destination.send(inputs[sent++ % inputs.length])
      }
      const subscription = destination.outcomes$.subscribe(() => {
        next()
        if (++ended < units) return
        subscription.unsubscribe()
        void destination.idle().then(resolve)
      })
      for (let i = 0; i < IN_FLIGHT; i++) next()
    })
}

const withPool =
  (make) =>
  async ({ url }) => {
    const { origin, pathname } = new URL(url)
    return byPromise(make(new Pool(origin, { connections: 16, pipelining: 1 }), pathname))()
  }

const agent = new http.Agent({ keepAlive: true, maxSockets: 16 })

export const cases = {
  'bare Pool.request': withPool((pool, path) => async (body, headers) => {
    const answer = await pool.request({ path, method: 'POST', headers, body })
    await answer.body.dump()
  }),
  'headrace, validate(Event)': byPipeline(Event),
  'headrace, validate(ParsedEvent)': byPipeline(ParsedEvent),
  'headrace, destination.send': byFacade,
  'node fetch': ({ url }) =>
    byPromise(async (body, headers) => {
      const answer = await fetch(url, { method: 'POST', headers, body })
      await answer.text()
    })(),
  'axios, keep-alive agent': ({ url }) =>
    byPromise((body, headers) => axios.post(url, body, { headers, httpAgent: agent }))(),
  'got, keep-alive agent': ({ url }) =>
    byPromise((body, headers) =>
      got.post(url, { body, headers, agent: { http: agent }, retry: { limit: 0 } }),
    )(),
}

const BASE = 'bare Pool.request'
const OWN = Object.keys(cases).filter((name) => name.startsWith('headrace'))
const OTHERS = Object.keys(cases).filter((name) => name !== BASE && !OWN.includes(name))

export const run = async ({ rounds = 120 }) => {
  const measured = async (names, plan) => {
    const receiver = await startReceiver()
    try {
      const results = await takeTurns(import.meta.url, {
        cases: [BASE, ...names],
        given: { url: receiver.urls[0] },
        ...plan,
      })
      await checkArrived(receiver, results)
      return results
    } finally {
      receiver.stop()
    }
  }
  const results = await measured(OWN, { units: 500, rounds, warmUp: 30 })
  // Each of them alone with the base: what they leave to the garbage collector would be paid by their neighbours.
  for (const name of OTHERS) {
    const [, other] = await measured([name], { units: 500, rounds: Math.ceil(rounds / 6), warmUp: 8 })
    results.push(other)
  }
  return rowsOf(results, 'µs CPU an event', {
    'headrace, validate(Event)': 1.15,
    'headrace, validate(ParsedEvent)': 1.15,
  })
}
