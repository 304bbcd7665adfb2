import { Writable } from 'node:stream'
import { describe, it } from 'vitest'
import { memory } from '../../src/sink/memory.ts'
import { ndjson } from '../../src/sink/ndjson.ts'
import { networkSink, type MakeSink } from '../../src/testing/laws/sinkWorld.ts'
import { registerLaws, sinkLaws, type SinkItem } from '../../src/testing/laws/index.ts'

/** A stream that takes its time, and fails at one of its writes. */
const slowLines: MakeSink<SinkItem> = ({ clock, random }) => {
  const failsAt = Math.floor(random() * 20)
  let writes = 0
  const stream = new Writable({
    highWaterMark: 16,
    decodeStrings: false,
    write: (_line, _encoding, done) => {
      const failed = writes++ === failsAt
      const error = Object.assign(new Error('ENOSPC: the text of the system'), { code: 'ENOSPC' })
      clock.schedule(Math.floor(random() * 30), () => done(failed ? error : null))
    },
  })
  return ndjson<SinkItem>(stream)
}

describe('sink', () => registerLaws({ test: it }, sinkLaws(networkSink, { retryAfter: true })))

const inMemory = () => memory<SinkItem>({ maxCount: 5 })
describe('memory', () => registerLaws({ test: it }, sinkLaws(inMemory, { answers: false })))

describe('ndjson to a stream', () => registerLaws({ test: it }, sinkLaws(slowLines, { answers: false })))
