// What an event costs that goes to five URLs at once: the whole pipeline with a first success over five webhooks, against five
// `dispatch` calls that share one string and one signature. 32 events in flight, so up to 160 requests.
import { createHmac, createSecretKey } from 'node:crypto'
import { flow } from 'fp-ts/lib/function.js'
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
import { webhook } from 'headrace/sinks/webhook'
import { Subject } from 'rxjs'
import { Pool } from 'undici'
import { calls } from './events.js'
import { checkArrived, rowsOf, startReceiver, takeTurns } from './measure.js'

const SECRET = 'correct horse'
const IN_FLIGHT = 32
const guarded = flow(webhook, withTimeout(5_000), withConcurrency({ concurrency: 16 }))
const key = createSecretKey(SECRET, 'utf8')

/** Five `dispatch` calls with one string: the next event starts when all five of one are answered. */
const byDispatch = ({ urls }) => {
  const bodies = calls('middle').map((call) => toWebhookBody(Event.decode(call).right))
  const { pathname: path } = new URL(urls[0])
  const pools = urls.map((url) => new Pool(new URL(url).origin, { connections: 16, pipelining: 1 }))
  const post = (body, done) => {
    const headers = [
      ...['content-type', 'application/json', 'user-agent', 'headrace/1.0'],
      ...['x-signature', createHmac('sha1', key).update(body).digest('hex')],
    ]
    let open = pools.length
    const handler = {
      onRequestStart: () => undefined,
      onResponseStart: () => undefined,
      onResponseData: () => undefined,
      onResponseEnd: () => --open === 0 && done(),
      onResponseError: (_controller, error) => {
        throw error
      },
    }
    for (const pool of pools) pool.dispatch({ path, method: 'POST', headers, body }, handler)
  }
  return (units) =>
    new Promise((resolve) => {
      let sent = 0
      let ended = 0
      const next = () => {
        if (sent < units) post(JSON.stringify(bodies[sent++ % bodies.length]), done)
      }
      const done = () => {
        if (++ended === units) resolve()
        else next()
      }
      for (let i = 0; i < IN_FLIGHT; i++) next()
    })
}

/** The next event starts when one has its outcome; a round ends when every request of it has ended, siblings included. */
const byPipeline =
  (codec) =>
  ({ urls }) => {
    const inputs = calls('middle')
    const sink = firstSuccess(urls.map((url) => guarded(url)))
    return (units) =>
      new Promise((resolve, reject) => {
        const events = new Subject()
        let sent = 0
        const next = () => {
          if (sent < units) events.next(inputs[sent++ % inputs.length])
          else if (sent++ === units) events.complete()
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

export const cases = {
  'five dispatch calls with one string': byDispatch,
  'headrace, validate(Event)': byPipeline(Event),
  'headrace, validate(ParsedEvent)': byPipeline(ParsedEvent),
}

export const run = async ({ rounds = 120 }) => {
  const receiver = await startReceiver({ ports: 5 })
  try {
    const results = await takeTurns(import.meta.url, {
      cases: Object.keys(cases),
      given: { urls: receiver.urls },
      units: 200,
      rounds,
      warmUp: 30,
    })
    await checkArrived(receiver, results, receiver.urls.length)
    return rowsOf(results, 'µs CPU an event', {
      'headrace, validate(Event)': 1.1,
      'headrace, validate(ParsedEvent)': 1.1,
    })
  } finally {
    receiver.stop()
  }
}
