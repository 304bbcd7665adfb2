// What `deliver` costs an event, by how many wait: a sink holds everything back until all are queued, then answers. It should
// cost the same at any depth. The retried ones fail once, wait together, and are delivered then.
import { left, right } from 'fp-ts/lib/Either.js'
import { deliver, retryable } from 'headrace'
import { exponential } from 'headrace/policy'
import { memoryOutbox } from 'headrace/outbox'
import { virtualClock } from 'headrace/testing'
import { Observable, Subject } from 'rxjs'

const DELIVERED = right({ sink: 'held', status: 200 })
const FAILED = left(retryable('status', { status: 503 }))
const AT_A_TIME = 1_000
const MINUTE = 60_000
const payloadOf = (at) => right({ id: `m${at}`, items: [at], text: '{"type":"track"}', byteLength: 16 })

/** A sink that answers when it is let go, then each as soon as it is asked. */
const holding = (verdictOf) => {
  const held = []
  let open = false
  return {
    letGo: () => {
      open = true
      for (const answer of held.splice(0)) answer()
    },
    sink: {
      name: 'held',
      close: () => Promise.resolve(),
      deliver: (_item, attempt) =>
        new Observable((subscriber) => {
          const answer = () => {
            subscriber.next(verdictOf(attempt))
            subscriber.complete()
          }
          if (open) queueMicrotask(answer)
          else held.push(answer)
        }),
    },
  }
}

/** Queues as many as `depth` before an operator, then lets them go. */
const through = (depth, operator, letGo) =>
  new Promise((resolve) => {
    const events = new Subject()
    events.pipe(operator).subscribe({ complete: resolve })
    for (let i = 0; i < depth; i++) events.next(payloadOf(i))
    events.complete()
    letGo()
  })

const kinds = {
  'headrace, deliver': (depth) => {
    const { sink, letGo } = holding(() => DELIVERED)
    return through(depth, deliver(sink, { outbox: memoryOutbox({ maxCount: depth }) }), letGo)
  },
  'headrace, deliver, retried once': (depth) => {
    const { sink, letGo } = holding(({ number }) => (number === 1 ? FAILED : DELIVERED))
    const clock = virtualClock()
    const outbox = memoryOutbox({ maxCount: depth })
    const passTime = () => {
      if (outbox.stats().waiting === 0) return
      clock.tick(MINUTE)
      setImmediate(passTime)
    }
    return through(depth, deliver(sink, { outbox, retry: exponential({ base: MINUTE }), clock }), () => {
      letGo()
      setImmediate(passTime)
    })
  },
}

const atDepth = (depth) => (given) => async (units) => {
  for (let done = 0; done < units; done += depth) await kinds[given.kind](depth)
}

const DEPTHS = [1_000, 10_000, 100_000, 1_000_000]
const nameOf = (depth) => `${depth.toLocaleString('en')} queued`
export const cases = Object.fromEntries(DEPTHS.map((depth) => [nameOf(depth), atDepth(depth)]))

export const plans = Object.keys(kinds).map((kind) => ({
  what: `${kind}: `,
  cases: DEPTHS.map(nameOf),
  given: { kind },
  units: { default: 200_000, [nameOf(1_000_000)]: 1_000_000 },
  rounds: 5,
  warmUp: 1,
  apart: true,
  // "Flat" has to be a number here: at most twice, at every depth and not only at the deepest.
  limits: Object.fromEntries(DEPTHS.slice(1).map((depth) => [nameOf(depth), 2])),
}))
