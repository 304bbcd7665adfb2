// What it costs to build batches of at most 500,000 bytes, against `JSON.stringify` of every event and nothing else: `encode` and
// `batch` up to the payload, and up to the bytes that are sent. Beside it the same by hand, with a string that grows, and with one
// buffer that is written to in place, which is the best that is known (and which no payload could share).
import { batch, bodyOf, encode } from 'headrace'
import { right } from 'fp-ts/lib/Either.js'
import { Subject } from 'rxjs'
import { calls } from './events.js'
import { rowsOf, takeTurns } from './measure.js'

const MOST_BYTES = 500_000
const itself = (call) => call

/** What a batch was good for, so that no engine can find out that nobody needs it. */
let built = 0

const byStringify = ({ size }) => {
  const inputs = calls(size)
  return (units) => {
    for (let i = 0; i < units; i++) built += JSON.stringify(inputs[i % inputs.length]).length
  }
}

const byGrowingText = ({ size }) => {
  const inputs = calls(size)
  return (units) => {
    let text = ''
    let bytes = 2
    const close = () => {
      built += Buffer.from(`[${text}]`).length
      text = ''
      bytes = 2
    }
    for (let i = 0; i < units; i++) {
      const one = JSON.stringify(inputs[i % inputs.length])
      const length = Buffer.byteLength(one)
      if (bytes + 1 + length > MOST_BYTES) close()
      bytes += text === '' ? length : 1 + length
      text = text === '' ? one : `${text},${one}`
    }
    close()
  }
}

const inOneBuffer = ({ size }) => {
  const inputs = calls(size)
  const buffer = Buffer.alloc(MOST_BYTES)
  buffer.write('[')
  return (units) => {
    let end = 1
    const close = () => {
      buffer.write(']', end)
      built += Buffer.from(buffer.subarray(0, end + 1)).length
      end = 1
    }
    for (let i = 0; i < units; i++) {
      const one = JSON.stringify(inputs[i % inputs.length])
      if (end + 2 + 3 * one.length > MOST_BYTES && end + 2 + Buffer.byteLength(one) > MOST_BYTES) close()
      if (end > 1) end += buffer.latin1Write(',', end)
      end += buffer.utf8Write(one, end)
    }
    close()
  }
}

const byBatch =
  (take) =>
  ({ size }) => {
    const inputs = calls(size).map((call) => right(call))
    return (units) => {
      const events = new Subject()
      events
        .pipe(encode(itself), batch({ maxBytes: MOST_BYTES, maxCount: Infinity, maxDelay: Infinity }))
        .subscribe((each) => {
          built += take(each.right)
        })
      for (let i = 0; i < units; i++) events.next(inputs[i % inputs.length])
      events.complete()
    }
  }

const bytesOf = (payload) => {
  const { length } = Buffer.from(bodyOf(payload, 0))
  if (length !== payload.byteLength) throw new Error('a batch has not the bytes that it says')
  return length
}

export const cases = {
  'JSON.stringify alone': byStringify,
  'headrace, encode + batch': byBatch((payload) => payload.byteLength),
  'the same, up to the bytes': byBatch(bytesOf),
  'by hand, text that grows, bytes': byGrowingText,
  'by hand, one buffer, bytes': inOneBuffer,
}

export const run = async ({ rounds = 25 }) => {
  const rows = []
  for (const [size, units] of [
    ['small', 40_000],
    ['middle', 10_000],
    ['big', 3_000],
  ]) {
    const results = await takeTurns(import.meta.url, {
      cases: Object.keys(cases),
      given: { size },
      units,
      rounds,
      warmUp: 5,
    })
    const targets = { 'headrace, encode + batch': 1.5, 'the same, up to the bytes': 1.5 }
    const named = rowsOf(results, 'µs CPU an event', targets)
    rows.push(...named.map((row) => ({ ...row, what: `${size}: ${row.what}` })))
  }
  return rows
}
