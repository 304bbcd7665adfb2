// What it costs to build batches of at most 500,000 bytes, against `JSON.stringify` of every event and nothing else: `encode`, `batch`
// and `bytesOf`, up to the bytes that are sent, each batch checked. Beside it the same work by hand in the plainest loop.
// The source is a plain loop for all of them: a Subject costs a tenth of a microsecond.
import { batch, bytesOf, encode } from 'headrace'
import { right } from 'fp-ts/lib/Either.js'
import { Observable } from 'rxjs'
import { calls } from './events.js'

const MOST_BYTES = 500_000
const itself = (call) => call
let built = 0

const byStringify = ({ size }) => {
  const inputs = calls(size)
  return (units) => {
    for (let i = 0; i < units; i++) built += JSON.stringify(inputs[i % inputs.length]).length
  }
}

const COMMA = 44

/** An object an event, kept until the batch closes, and then one buffer of the size that is known. */
const byPlainLoop = ({ size }) => {
  const inputs = calls(size)
  return (units) => {
    let members = []
    let bytes = 2
    const close = () => {
      const body = Buffer.allocUnsafe(bytes)
      let at = body.write('[')
      for (const { text, byteLength } of members) {
        if (at > 1) body[at++] = COMMA
        at += body.write(text, at, byteLength === text.length ? 'latin1' : 'utf8')
      }
      at += body.write(']', at)
      if (at !== bytes) throw new Error('a batch has not the bytes that it says')
      built += at
      members = []
      bytes = 2
    }
    for (let i = 0; i < units; i++) {
      const item = inputs[i % inputs.length]
      const text = JSON.stringify(item)
      const byteLength = Buffer.byteLength(text)
      if (bytes + 1 + byteLength > MOST_BYTES) close()
      bytes += members.length === 0 ? byteLength : 1 + byteLength
      members.push({ id: item.messageId, items: [item], text, byteLength })
    }
    close()
  }
}

const byBatch = (maxCount) => (given) => {
  const inputs = calls(given.size).map((call) => right(call))
  return (units) => {
    const batches = new Observable((subscriber) => {
      for (let i = 0; i < units; i++) subscriber.next(inputs[i % inputs.length])
      subscriber.complete()
    }).pipe(encode(itself), batch({ maxBytes: MOST_BYTES, maxCount, maxDelay: Infinity }))
    batches.subscribe((each) => {
      const { length } = bytesOf(each.right, 0)
      if (length !== each.right.byteLength) throw new Error('a batch has not the bytes that it says')
      built += length
    })
  }
}

const counts = { '500 KB a batch': Infinity, '1,000 a batch': 1_000, '20 a batch': 20 }
const ours = Object.fromEntries(
  Object.entries(counts).map(([what, count]) => [`headrace, ${what}, bytes`, byBatch(count)]),
)

export const cases = {
  'JSON.stringify alone': byStringify,
  ...ours,
  'by hand, the same work, bytes': byPlainLoop,
}

export const plans = Object.entries({ small: 40_000, middle: 10_000, big: 3_000 }).map(([size, units]) => ({
  what: `${size}: `,
  cases: Object.keys(cases),
  given: { size },
  units,
  rounds: 25,
  warmUp: 60,
  limits: size === 'middle' ? Object.fromEntries(Object.keys(ours).map((name) => [name, 1.4])) : {},
  // What one leaves behind, the next would clear away.
  apart: true,
}))
