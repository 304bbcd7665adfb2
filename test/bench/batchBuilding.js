// What it costs to build batches of at most 500,000 bytes, against `JSON.stringify` of every event and nothing else: `encode`, `batch`
// and `bytesOf`, up to the bytes that are sent, each batch checked. Beside it, by hand: the same work in the plainest loop, a string
// that grows, and one buffer that is written to in place and copied out, which no payload could share. The source is a plain loop
// for all of them, because a Subject costs a tenth of a microsecond that is not ours.
import { batch, bytesOf, encode } from 'headrace'
import { right } from 'fp-ts/lib/Either.js'
import { Observable } from 'rxjs'
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

/** What every way must do before it can keep to a number of bytes. */
const byByteLength = ({ size }) => {
  const inputs = calls(size)
  return (units) => {
    for (let i = 0; i < units; i++) built += Buffer.byteLength(JSON.stringify(inputs[i % inputs.length]))
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
  (maxCount) =>
  ({ size }) => {
    const inputs = calls(size).map((call) => right(call))
    return (units) => {
      const events = new Observable((subscriber) => {
        for (let i = 0; i < units; i++) subscriber.next(inputs[i % inputs.length])
        subscriber.complete()
      })
      events
        .pipe(encode(itself), batch({ maxBytes: MOST_BYTES, maxCount, maxDelay: Infinity }))
        .subscribe((each) => {
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
  'by hand, and Buffer.byteLength': byByteLength,
  'by hand, the same work, bytes': byPlainLoop,
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
      warmUp: 8,
      // What one leaves behind, the next would clear away.
      apart: true,
    })
    const targets = Object.fromEntries(Object.keys(ours).map((name) => [name, 1.5]))
    const named = rowsOf(results, 'µs CPU an event', targets)
    rows.push(...named.map((row) => ({ ...row, what: `${size}: ${row.what}` })))
  }
  return rows
}
