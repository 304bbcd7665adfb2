import { Buffer } from 'node:buffer'
import { ndjsonLines } from '../../src/sources/ndjson.ts'
import { ndjsonLaws, type Chunk, type ReadNdjson } from '../laws/ndjson.laws.ts'
import { itCatches } from '../support/mutants.ts'

const chunksChanged =
  (change: (chunk: Chunk, index: number) => Chunk): ReadNdjson =>
  (readable, options) => {
    const changed = async function* (): AsyncIterable<Chunk> {
      let index = 0
      for await (const chunk of readable) yield change(chunk, index++)
    }
    return ndjsonLines(changed(), options)
  }

type Result = ReturnType<ReadNdjson> extends AsyncIterable<infer R> ? R : never

const resultsChanged = (change: (result: Result) => Result): ReadNdjson =>
  async function* (readable, options) {
    for await (const result of ndjsonLines(readable, options)) yield change(result)
  }

const stopping: ReadNdjson = async function* (readable, options) {
  for await (const result of ndjsonLines(readable, options)) {
    yield result
    if (result._tag === 'Left') return
  }
}

itCatches<ReadNdjson>('ndjson', ndjsonLaws, {
  'N1: each chunk is decoded alone': chunksChanged((chunk) =>
    typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString(),
  ),
  'N2: it ends at a bad line': stopping,
  'N2: a fault quotes its line': resultsChanged((result) =>
    result._tag === 'Left' ? { ...result, left: { ...result.left, detail: 'zqSECRETqz' } } : result,
  ),
  'N3: takes one byte more': (readable, { maxBytes }) => ndjsonLines(readable, { maxBytes: maxBytes + 1 }),
})
