/** The contract of a sink, for the sinks of this package. */
import { Writable } from 'node:stream'
import * as fc from 'fast-check'
import { left, right } from 'fp-ts/lib/Either.js'
import { describe, it } from 'vitest'
import { refused, type Verdict } from '../../src/core/failure.ts'
import { sink } from '../../src/sink/fromFunction.ts'
import { memory } from '../../src/sink/memory.ts'
import { ndjson } from '../../src/sink/ndjson.ts'
import type { Reply } from '../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { runs } from '../support/runs.ts'
import { sinkLaws, type Subject } from '../support/sinkLaws.ts'

const delivered = right({ sink: 'mine' })

/** A handler that plays a script on a virtual clock and honours the signal. */
interface World {
  readonly replies: ReadonlyArray<
    Pick<Reply, 'verdict' | 'after'> & { readonly throws: boolean; readonly spot: boolean }
  >
}

const world: fc.Arbitrary<World> = fc.record({
  replies: fc.array(
    fc.record({
      verdict: fc.constantFrom<Verdict>(right({ sink: 'mine' }), left(refused('gone'))),
      after: fc.nat(50),
      throws: fc.boolean(),
      spot: fc.boolean(),
    }),
    { minLength: 1, maxLength: 6 },
  ),
})

const openFunction = ({ replies }: World): Subject => {
  const clock = virtualClock()
  let started = 0
  let running = 0
  const mine = sink('mine', (_item: number, { signal }) => {
    const reply = replies[started++ % replies.length]
    const verdict = reply?.verdict ?? delivered
    if (reply?.spot === true) {
      if (reply.throws) throw new Error('planted')
      return verdict
    }
    running++
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        running--
        settle()
      }
      const cancel = clock.schedule(reply?.after ?? 0, () =>
        end(() => (reply?.throws === true ? reject(new Error('planted')) : resolve(verdict))),
      )
      signal.addEventListener('abort', () => {
        cancel()
        end(() => reject(new Error('aborted')))
      })
    })
  })
  return {
    sink: mine,
    started: () => started,
    running: () => running,
    pass: (ms) => clock.advance(ms),
    settle: () => clock.runAll(),
  }
}

/** An error as the system gives it. */
const systemError = (code: string): Error =>
  Object.assign(new Error(`${code}: the text of the system`), { code })

/** A stream that takes its time, and may fail at one of its writes. */
interface SlowWorld {
  readonly delays: ReadonlyArray<number>
  readonly failsAt: number | null
}

const slowWorld: fc.Arbitrary<SlowWorld> = fc.record({
  delays: fc.array(fc.nat({ max: 30 }), { minLength: 1, maxLength: 5 }),
  failsAt: fc.option(fc.nat({ max: 12 })),
})

const openSlow = ({ delays, failsAt }: SlowWorld) => {
  const clock = virtualClock()
  let writes = 0
  let started = 0
  const stream = new Writable({
    highWaterMark: 16,
    decodeStrings: false,
    write: (_line, _encoding, done) => {
      const n = writes++
      clock.schedule(delays[n % delays.length] ?? 0, () => done(n === failsAt ? systemError('ENOSPC') : null))
    },
  })
  const sink = ndjson<number>(stream, {
    clock,
    format: (item) => {
      started++
      return String(item)
    },
  })
  return {
    sink,
    started: () => started,
    // What was given to the stream is the stream's.
    running: () => 0,
    pass: (ms: number) => clock.advance(ms),
    settle: () => clock.advance(100_000),
  }
}

const openMemory = (limit: number): Subject => {
  const kept = memory<number>({ limit })
  const clock = virtualClock()
  return {
    sink: kept,
    started: () => kept.items().length,
    running: () => 0,
    pass: (ms) => clock.advance(ms),
    settle: () => clock.settle(),
  }
}

describe('a sink from a function', () =>
  it.each(sinkLaws({ worlds: world, open: openFunction }))('$id', ({ property }) => fc.assert(property)))

describe('memory', () => {
  const worlds = fc.integer({ min: 1_000, max: 2_000 })
  it.each(sinkLaws({ worlds, open: openMemory }))('$id', ({ property }) =>
    fc.assert(property, { numRuns: runs(0.2) }),
  )
})

describe('ndjson to a stream', () => {
  // A stream that has failed takes no more lines, so there a second subscription starts nothing.
  const laws = sinkLaws({ worlds: slowWorld, open: openSlow }).filter(({ id }) => !id.startsWith('S2'))
  it.each(laws)('$id', ({ property }) => fc.assert(property, { numRuns: runs(0.3) }))
})
