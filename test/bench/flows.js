/** How the benches of forwarding keep events in flight: by hand, through a pipeline, and through a destination. */
import { createHmac, createSecretKey } from 'node:crypto'
import { deliver, encode, firstSuccess, sign, validate } from 'headrace'
import { Event, toWebhookBody } from 'headrace/events'
import { webhookDestination } from 'headrace/destination'
import { webhook } from 'headrace/sinks/webhook'
import { Subject } from 'rxjs'
import { Pool } from 'undici'
import { calls } from './events.js'

const SECRET = 'correct horse'
const key = createSecretKey(SECRET, 'utf8')

export const headersOf = (body) => ({
  'content-type': 'application/json',
  'user-agent': 'headrace/1.0',
  'x-signature': createHmac('sha1', key).update(body).digest('hex'),
})

/** The bodies that headrace makes of the calls, so that every case sends the same bytes. */
export const bodiesToWrite = () => calls('middle').map((call) => toWebhookBody(Event.decode(call).right))
export const poolTo = (url) => new Pool(new URL(url).origin, { connections: 16, pipelining: 1 })

export const byPromise = (inFlight, send) => {
  const bodies = bodiesToWrite()
  return async (units) => {
    let sent = 0
    const worker = async () => {
      while (sent < units) await send(JSON.stringify(bodies[sent++ % bodies.length]))
    }
    await Promise.all(Array.from({ length: inFlight }, worker))
  }
}

export const byPool = (url) => {
  const pool = poolTo(url)
  const { pathname: path } = new URL(url)
  return async (body) => {
    await (await pool.request({ path, method: 'POST', headers: headersOf(body), body })).body.dump()
  }
}

const check = ({ _tag }) => {
  if (_tag !== 'Delivered') throw new Error(`an event of the bench was not delivered: ${_tag}`)
}

/** Keeps `inFlight` events in a pipeline to these URLs: each outcome brings the next one. */
export const byPipeline = (urls, codec, inFlight) => {
  const inputs = calls('middle')
  const sink = firstSuccess(urls.map((url) => webhook(url)))
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
          check(outcome)
          next()
        },
        complete: resolve,
        error: reject,
      })
      for (let i = 0; i < inFlight; i++) next()
    })
}

/** Keeps `inFlight` events in a destination of a URL, or of several: each outcome brings the next one. `watch` gets the destination. */
export const byDestination = (urls, inFlight, options = {}, watch = () => undefined) => {
  const inputs = calls('middle')
  const webhooks = [urls].flat().map((url) => ({ url }))
  const destination = webhookDestination({ sharedSecret: SECRET, webhooks }, options)
  watch(destination)
  return (units) =>
    new Promise((resolve, reject) => {
      let sent = 0
      let ended = 0
      const next = async () => {
        if (sent >= units) return
        const answer = await destination.send(inputs[sent++ % inputs.length])
        if (answer._tag === 'Left') reject(new Error(`an event was refused: ${answer.left._tag}`))
      }
      const subscription = destination.outcomes$.subscribe((outcome) => {
        check(outcome)
        void next()
        if (++ended < units) return
        subscription.unsubscribe()
        void destination.idle().then(resolve)
      })
      for (let i = 0; i < inFlight; i++) void next()
    })
}
