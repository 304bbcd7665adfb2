import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { contramap } from '../../src/sink/contramap.ts'
import type { Verdict } from '../../src/core/failure.ts'
import { ingestion } from '../../src/http/ingestion.ts'
import type { Sink } from '../../src/sink/sink.ts'
import { type Fault, healthy } from '../../src/testing/faults.ts'
import { loopbackReceiver, type Receiver } from '../../src/testing/loopbackReceiver.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { nothingReached, sinkLaws, type SinkWorlds } from '../laws/sink.ts'
import { socketsOpen, until } from './laneKit.ts'
import { answered, batch } from './batchServer.ts'
import { deliverOnce, type Seen } from '../sink/deliverOnce.ts'

const code = fc.constantFrom(200, 201, 299, 400, 404, 408, 413, 425, 429, 499, 500, 503, 599)
const fault: fc.Arbitrary<Fault> = fc.oneof(
  { arbitrary: fc.record({ do: fc.constant('status'), code }), weight: 3 },
  fc.record({ do: fc.constant('headersOnly'), code }),
  fc.record({ do: fc.constant('slowBody'), code, bytesPerSecond: fc.constantFrom(100, 1_000) }),
  fc.record({ do: fc.constant('truncate'), code, at: fc.integer({ min: 0, max: 999 }) }),
  fc.record({ do: fc.constant('hugeBody'), code, bytes: fc.constantFrom(16_385, 1_000_000, 1_000_000_000) }),
  fc.record({ do: fc.constant('gzipBomb'), code }),
  fc.record({
    do: fc.constant('redirect'),
    to: fc.constantFrom('self', 'other'),
    code: fc.constantFrom(301, 307),
  }),
  {
    arbitrary: fc.constantFrom<Fault>(
      { do: 'silence' },
      { do: 'early' },
      { do: 'hangUp' },
      { do: 'garbage' },
      { do: 'hugeHeader' },
      { do: 'reset' },
    ),
    weight: 4,
  },
)

const byStatus = (status: number): string => {
  if (status >= 200 && status < 300) return 'Right'
  return status >= 500 || [408, 425, 429].includes(status) ? 'Retryable' : 'Refused'
}

/** What is to be seen of a fault, written a second time; and what ends it: itself, or the time after it was seen to stall. */
const expected = (
  each: Fault,
): { readonly tag: string; readonly stalls: 'never' | 'at once' | 'after headers' } => {
  switch (each.do) {
    case 'status':
    case 'truncate':
    case 'hugeBody':
    case 'gzipBomb':
      return { tag: byStatus(each.code), stalls: 'never' }
    case 'headersOnly':
    case 'slowBody':
      return { tag: byStatus(each.code), stalls: 'after headers' }
    case 'silence':
    case 'early':
      return { tag: 'Retryable', stalls: 'at once' }
    case 'redirect':
      return { tag: 'Refused', stalls: 'never' }
    default:
      return { tag: 'Retryable', stalls: 'never' }
  }
}

const tagOf = (verdict: Verdict): string => (verdict._tag === 'Right' ? 'Right' : verdict.left._tag)

let receiver: Receiver
const scripts = new Map<string, Fault[]>()
const sinks: Array<Sink<never>> = []
let opened = 0

beforeAll(async () => {
  receiver = await loopbackReceiver(({ path }) => scripts.get(path)?.shift() ?? healthy)
})
const closeAll = async (): Promise<void> => {
  for (const sink of sinks.splice(0)) await sink.close(0)()
  scripts.clear()
  await until(() => receiver.connections() === 0)
}
afterAll(async () => {
  await closeAll()
  await receiver.close()
  await until(() => socketsOpen() === 0)
})

/** A sink to a path of its own, which answers as the script says. */
const open = (script: ReadonlyArray<Fault>) => {
  const clock = virtualClock()
  const path = `/${opened++}`
  scripts.set(path, [...script])
  const sink = ingestion(receiver.url + path.slice(1), 'key', { clock })
  sinks.push(sink)
  return { clock, sink, requests: () => receiver.received.filter((request) => request.path === path).length }
}

describe('an ingestion sink, whatever the receiver does', () => {
  it('has exactly one verdict, of the right class, and leaves nothing open', async () => {
    const kinds = new Map<string, number>()
    await fc.assert(
      fc.asyncProperty(fc.array(fault, { minLength: 1, maxLength: 3 }), async (script) => {
        const { clock, sink, requests } = open(script)
        for (const [at, each] of [...script, healthy].entries()) {
          kinds.set(each.do, (kinds.get(each.do) ?? 0) + 1)
          const { tag, stalls } = expected(each)
          const headers = stalls === 'after headers' ? answered() : undefined
          const delivery: Promise<Seen> = deliverOnce(sink, batch('a', 'b'))
          await headers
          if (stalls === 'at once') await until(() => requests() === at + 1)
          if (stalls !== 'never') clock.tick(10_000)
          const { verdicts, end } = await delivery
          expect([verdicts.map(tagOf), end, clock.pending()]).toEqual([[tag], 'complete', 0])
        }
        await closeAll()
      }),
      { numRuns: 200, endOnFailure: true },
    )
    expect(kinds.size).toBe(13)
    for (const count of kinds.values()) expect(count).toBeGreaterThan(1)
  }, 180_000)
})

describe('an ingestion sink keeps the contract of a sink:', () => {
  const quick = fault.filter((each) => expected(each).stalls !== 'after headers')
  const world = fc.array(quick, { minLength: 1, maxLength: 8, size: 'max' })
  const worlds: SinkWorlds<ReadonlyArray<Fault>> = {
    worlds: world,
    open: (script) => {
      const { clock, sink } = open(script)
      let started = 0
      const outer = contramap((item: number) => {
        started++
        return batch(`m-${item}`)
      })(sink)
      /** Each delivery that runs has its own timer; one that waits for a connection has that of the dialler too. */
      const running = clock.pending
      const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
      return {
        sink: outer,
        started: () => started,
        running,
        pass: async () => turn(),
        settle: async () => {
          // What has not ended after so many turns may be one that never answers: then its time is over.
          for (let turns = 1; running() > 0; turns++) {
            await turn()
            if (turns % 50 === 0) clock.tick(10_000)
          }
        },
      }
    },
  }
  const reached = nothingReached()

  for (const { id, property } of sinkLaws(worlds, reached)) {
    it(
      id,
      async () => {
        await fc.assert(property, { numRuns: 100 })
        await closeAll()
      },
      60_000,
    )
  }

  it('and the worlds reached every way to end', () => {
    expect(reached.deliveries).toBeGreaterThan(200)
    expect(reached.verdicts).toBeGreaterThan(100)
    expect(reached.defects).toBe(0)
    expect(reached.cancelledEarly).toBeGreaterThan(20)
    expect(reached.cancelledLate).toBeGreaterThan(20)
  })
})
