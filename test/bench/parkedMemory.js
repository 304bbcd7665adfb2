// What a message costs that waits for its retry, beside its payload: heap and external memory of 100,000 that failed once at
// real receivers, through the whole pipeline, against the same payloads in an array.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { flow } from 'fp-ts/lib/function.js'
import { right } from 'fp-ts/lib/Either.js'
import {
  deliver,
  encodePayload,
  Event,
  exponential,
  firstSuccess,
  withConcurrency,
  memoryOutbox,
  toWebhookBody,
  withTimeout,
} from 'headrace'
import { webhook } from 'headrace/sinks/webhook'
import { Subject } from 'rxjs'
import { calls } from './events.js'
import { answerOf, withReceiver } from './measure.js'

const PARKED = 100_000
const MOST_BYTES = 256
const AN_HOUR = 3_600_000

const settled = async () => {
  for (let i = 0; i < 4; i++) {
    globalThis.gc()
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const payloads = () => {
  const inputs = calls('small')
  return Array.from({ length: PARKED }, (_, at) => {
    const event = Event.decode({ ...inputs[at % inputs.length], messageId: `message-${at}` }).right
    return right(encodePayload(event.messageId, event, toWebhookBody(event)).right)
  })
}

/** Lets everything fail once, and answers what the waiting adds to each. */
const bytesAParkedMessage = async (urls) => {
  const guarded = flow(webhook, withTimeout(5_000), withConcurrency({ concurrency: 16 }))
  const sink = firstSuccess(urls.map((url) => guarded(url)))
  const outbox = memoryOutbox()
  const retry = exponential({ base: AN_HOUR })
  let parked = 0
  const work = { stop: new Subject(), all: [] }

  /** The same pipeline for some more; the first ones only warm it up. */
  const park = async (payloads, into) => {
    const events = new Subject()
    const allParked = new Promise((resolve) => {
      const onEvent = (event) => {
        if (event._tag === 'Waiting' && ++parked === payloads.length) resolve()
      }
      const operator = deliver(sink, { outbox: into, retry, stop: work.stop, onEvent })
      events.pipe(operator).subscribe()
    })
    parked = 0
    for (const payload of payloads) events.next(payload)
    await allParked
  }

  await park(payloads().slice(0, 2_000), memoryOutbox())
  work.stop.next()
  work.all = payloads()
  const before = await settled()
  await park(work.all, outbox)
  const after = await settled()
  if (outbox.stats().waiting !== PARKED) throw new Error('not all of them are parked')
  return (after - before) / work.all.length
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  process.send(await bytesAParkedMessage(process.argv.slice(2)))
  process.disconnect()
  process.exit()
}

const rowOf = async (what, urls, max = Infinity) => {
  const child = fork(fileURLToPath(import.meta.url), urls, { execArgv: ['--expose-gc'] })
  const figure = await answerOf(child)
  return { what, figure, unit: 'bytes a message', target: `<= ${max}`, met: figure <= max }
}

export const run = () =>
  withReceiver({ status: 503, ports: 5 }, async ({ url, urls }) => {
    const closed = await withReceiver({}, ({ url }) => url)
    return [
      await rowOf('one URL, 503', [url], MOST_BYTES),
      await rowOf('one URL, connection refused', [closed], MOST_BYTES),
      await rowOf('five URLs, 503 each', urls),
    ]
  })
