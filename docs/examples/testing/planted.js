// Five bugs to look for. PLANTED=drops-on-500 npm test
import { createHmac } from 'node:crypto'
import express from 'express'
import { left, right } from 'fp-ts/lib/Either.js'
import { refused, sink } from 'headrace'
import { Observable } from 'rxjs'
import { ourOutbox } from './outbox.js'
import { ITEMS, ourSink } from './sink.js'

const bugs = {
  /** Emits its verdict once more when the answer is complete. */
  'two-verdicts': {
    sink: (given) => {
      const inner = ourSink(given)
      const twice = (observer) => ({
        next: (verdict) => {
          observer.next(verdict)
          observer.next(verdict)
        },
        complete: () => observer.complete(),
      })
      const deliver = (item, attempt) =>
        new Observable((observer) => inner.deliver(item, attempt).subscribe(twice(observer)))
      return { name: inner.name, deliver, close: inner.close }
    },
  },

  /** It has no timeout: a receiver that is silent holds it for ever. */
  'never-completes': {
    sink: ({ fetch }) => ourSink({ fetch, timeout: Infinity }),
  },

  /** Takes every status but 2xx for a refusal, so an outage of a minute loses events. */
  'drops-on-500': {
    sink: ({ fetch }) =>
      sink(
        'ours',
        async (item, { signal }) => {
          const { status } = await fetch(ITEMS, { method: 'POST', body: JSON.stringify(item), signal })
          return status < 300 ? right({ sink: 'ours', status }) : left(refused('status', { status }))
        },
        { timeout: 5_000 },
      ),
  },

  /** Forgets an entry that was given back. */
  'loses-what-came-back': {
    outbox: (given) => {
      const inner = ourOutbox(given)
      return { ...inner, nack: (list) => inner.nack(list.slice(1)) }
    },
  },

  /** Signs what it parsed, with its keys in order, and not the bytes that came. */
  'verifies-the-parsed-body': {
    receiver: (secret) => {
      const app = express()
      app.post('/hook', express.json({ limit: '1mb' }), (request, response) => {
        const body = request.body
        const sorted = JSON.stringify(body, Object.keys(body).sort())
        const wanted = createHmac('sha1', secret).update(sorted).digest('hex')
        response.sendStatus(wanted === request.headers['x-signature'] ? 204 : 401)
      })
      return app
    },
  },
}

export const planted = bugs[process.env.PLANTED] ?? {}
