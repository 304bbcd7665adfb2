import * as fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Verdict } from '../../src/core/failure.ts'
import type { Payload } from '../../src/event/payload.ts'
import { ingestion } from '../../src/http/ingestion.ts'
import { webhook } from '../../src/http/webhook.ts'
import type { Sink } from '../../src/sink/sink.ts'
import { type Fault, healthy } from '../../src/testing/faults.ts'
import { loopbackReceiver, type Receiver } from '../../src/testing/loopbackReceiver.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { deliverOnce } from '../sink/deliverOnce.ts'
import { answered, batch, openSockets, until } from '../support/http.ts'
import { runs } from '../support/runs.ts'

/** What a delivery shows of a fault, and whether its answer stalls so that only a time limit ends it. */
interface Expected {
  readonly tag: 'Right' | 'Refused' | 'Retryable' | undefined
  readonly stalls: 'never' | 'before headers' | 'after headers'
}

const byStatus = (status: number): 'Right' | 'Refused' | 'Retryable' => {
  if (status >= 200 && status < 300) return 'Right'
  return status >= 500 || [408, 425, 429].includes(status) ? 'Retryable' : 'Refused'
}

/** The table of DE2 by fault, written a second time: it and the source check each other. */
const expected = (fault: Fault): Expected => {
  switch (fault.do) {
    case 'status':
    case 'truncate':
    case 'hugeBody':
    case 'gzipBomb':
      return { tag: byStatus(fault.code), stalls: 'never' }
    case 'headersOnly':
    case 'slowBody':
      return { tag: byStatus(fault.code), stalls: 'after headers' }
    case 'silence':
      return { tag: undefined, stalls: 'before headers' }
    case 'interim':
      return fault.code === undefined
        ? { tag: undefined, stalls: 'before headers' }
        : { tag: byStatus(fault.code), stalls: 'never' }
    case 'redirect':
      return { tag: 'Refused', stalls: 'never' }
    default:
      return { tag: 'Retryable', stalls: 'never' }
  }
}

const code = fc.constantFrom(200, 201, 299, 400, 404, 408, 410, 413, 425, 429, 499, 500, 503, 599)
const after = fc.constantFrom(0, 0, 1, 5)
const fault: fc.Arbitrary<Fault> = fc.oneof(
  { arbitrary: fc.record({ do: fc.constant('status'), code, after }), weight: 4 },
  fc.record({
    do: fc.constant('interim'),
    codes: fc.array(fc.constantFrom(100, 102, 103), { maxLength: 3 }),
    code,
    after,
  }),
  fc.record({ do: fc.constant('headersOnly'), code }),
  fc.record({ do: fc.constant('slowBody'), code, bytesPerSecond: fc.constantFrom(100, 1_000) }),
  fc.record({ do: fc.constant('truncate'), code, at: fc.integer({ min: 0, max: 999 }) }),
  fc.record({ do: fc.constant('hugeBody'), code, bytes: fc.constantFrom(16_384, 16_385, 1_000_000_000) }),
  fc.record({ do: fc.constant('gzipBomb'), code }),
  fc.record({
    do: fc.constant('redirect'),
    to: fc.constantFrom('self', 'other'),
    code: fc.constantFrom(301, 307),
  }),
  fc.record({ do: fc.constant('reset'), after }),
  {
    arbitrary: fc.constantFrom<Fault>(
      ...[{ do: 'silence' } as const, { do: 'interim' } as const, { do: 'hangUp' } as const],
      ...[{ do: 'garbage' } as const, { do: 'hugeHeader' } as const],
    ),
    weight: 4,
  },
)
const script = fc.array(fault, { minLength: 1, maxLength: 3 })

const tagOf = (verdict: Verdict): string => (verdict._tag === 'Right' ? 'Right' : verdict.left._tag)

let receiver: Receiver
const scripts = new Map<string, Fault[]>()
let paths = 0

beforeAll(async () => {
  receiver = await loopbackReceiver(({ path }) => scripts.get(path)?.shift() ?? healthy)
})
afterAll(async () => {
  await receiver.close()
  await until(() => openSockets() === 0)
})

type Deliver = (
  sink: Sink<Payload<unknown>>,
  each: Expected,
  arrived: () => Promise<void>,
) => Promise<unknown>

/** One sink to a path of its own and one delivery for each fault; the last one meets a healthy receiver. */
const play = async (
  faults: ReadonlyArray<Fault>,
  open: (url: string) => Sink<Payload<unknown>>,
  deliver: Deliver,
): Promise<ReadonlyArray<unknown>> => {
  const path = `/${String(paths++)}`
  scripts.set(path, [...faults])
  const sink = open(receiver.url + path.slice(1))
  const seen: unknown[] = []
  for (const each of [...faults, healthy]) {
    const before = receiver.received.length
    const arrived = (): Promise<void> =>
      until(() => receiver.received.slice(before).some((one) => one.path === path))
    seen.push(await deliver(sink, expected(each), arrived))
  }
  await sink.close(0)()
  scripts.delete(path)
  return seen
}

describe('whatever the receiver does', () => {
  it('a webhook has at most one verdict, that of the fault, and leaves no connection', async () => {
    const deliver: Deliver = async (sink, { tag, stalls }, arrived) => {
      const silent = async (): Promise<void> => {
        await arrived()
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
      const cut = tag === undefined ? silent() : 'after the verdict'
      const { verdicts, end } = await deliverOnce(sink, batch('a'), stalls === 'never' ? {} : { cut })
      return [verdicts.map(tagOf), end]
    }
    // Ten scripts at a time.
    const group = fc.array(script, { minLength: 10, maxLength: 10, size: 'max' })
    await fc.assert(
      fc.asyncProperty(group, async (all) => {
        const seen = await Promise.all(all.map((faults) => play(faults, webhook, deliver)))
        expect(seen).toEqual(
          all.map((faults) =>
            [...faults, healthy].map((each) => {
              const { tag, stalls } = expected(each)
              return [tag === undefined ? [] : [tag], stalls === 'never' ? 'complete' : 'cancelled']
            }),
          ),
        )
        await until(() => receiver.connections() === 0)
      }),
      { numRuns: runs(0.1), endOnFailure: true },
    )
  }, 180_000)

  it('an ingestion sink has exactly one verdict, at the latest at its timeout, and leaves no timer', async () => {
    await fc.assert(
      fc.asyncProperty(script, async (faults) => {
        const clock = virtualClock()
        const deliver: Deliver = async (sink, { stalls }, arrived) => {
          const headers = stalls === 'after headers' ? answered() : undefined
          const delivery = deliverOnce(sink, batch('a', 'b'))
          await headers
          if (stalls === 'before headers') await arrived()
          if (stalls !== 'never') clock.tick(10_000)
          const { verdicts, end } = await delivery
          return [verdicts.map(tagOf), end, clock.pending()]
        }
        const seen = await play(faults, (url) => ingestion(url, 'key', { clock }), deliver)
        expect(seen).toEqual(
          [...faults, healthy].map((each) => [[expected(each).tag ?? 'Retryable'], 'complete', 0]),
        )
        await until(() => receiver.connections() === 0)
      }),
      { numRuns: runs(0.2), endOnFailure: true },
    )
  }, 180_000)
})
