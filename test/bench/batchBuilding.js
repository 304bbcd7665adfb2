// What it costs to build batches: `encode` and `batch` up to the bytes that are sent, against `JSON.stringify` of every event and
// nothing else. The bodies have at most 500,000 bytes.
import { createHash } from 'node:crypto'
import { batch, bodyOf, encode } from 'headrace'
import { right } from 'fp-ts/lib/Either.js'
import { Subject } from 'rxjs'
import { calls } from './events.js'
import { rowsOf, takeTurns } from './measure.js'

const itself = (call) => call
let kept = 0

const byStringify = ({ size }) => {
  const inputs = calls(size)
  return (units) => {
    for (let i = 0; i < units; i++) kept += JSON.stringify(inputs[i % inputs.length]).length
  }
}

const byBatch = ({ size }) => {
  const inputs = calls(size).map((call) => right(call))
  return (units) => {
    const events = new Subject()
    events.pipe(encode(itself), batch({ maxCount: Infinity, maxDelay: Infinity })).subscribe((each) => {
      const bytes = Buffer.from(bodyOf(each.right, 0))
      if (bytes.length !== each.right.byteLength) throw new Error('a batch has not the bytes that it says')
      kept += bytes.length
    })
    for (let i = 0; i < units; i++) events.next(inputs[i % inputs.length])
    events.complete()
  }
}

/** Says what was built, so that no engine can find out that nobody needs it. */
export const fingerprint = () => createHash('sha1').update(String(kept)).digest('hex')

export const cases = { 'JSON.stringify alone': byStringify, 'headrace, encode + batch': byBatch }

export const run = async ({ rounds }) => {
  const rows = []
  for (const [size, units] of [
    ['small', 100_000],
    ['middle', 30_000],
    ['big', 10_000],
  ]) {
    const results = await takeTurns(import.meta.url, {
      cases: Object.keys(cases),
      given: { size },
      units,
      rounds,
    })
    const named = rowsOf(results, 'µs CPU an event', { 'headrace, encode + batch': 1.5 })
    rows.push(...named.map((row) => ({ ...row, what: `${size}: ${row.what}` })))
  }
  return rows
}
