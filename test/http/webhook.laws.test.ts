import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Verdict } from '../../src/core/failure.ts'
import { webhook } from '../../src/http/webhook.ts'
import { type Fault, healthy } from '../../src/testing/faults.ts'
import { loopbackReceiver, type Receiver } from '../../src/testing/loopbackReceiver.ts'
import { socketsOpen, until } from './laneKit.ts'
import { deliverOnce, payloadOf, type Seen } from '../sink/deliverOnce.ts'

/** What is to be seen of one fault. */
interface Expected {
  /** The class of the one verdict, or none. */
  readonly verdict: 'Right' | 'Refused' | 'Retryable' | undefined
  /** Whether it ends by itself; if not, the test cuts it off. */
  readonly ends: boolean
}

const byStatus = (code: number): 'Right' | 'Refused' | 'Retryable' => {
  if (code >= 200 && code < 300) return 'Right'
  return code >= 500 || [408, 425, 429].includes(code) ? 'Retryable' : 'Refused'
}

/** The table, written a second time and by fault, so that it and the source check each other. */
const expected = (fault: Fault): Expected => {
  switch (fault.do) {
    case 'status':
    case 'truncate':
    case 'hugeBody':
    case 'gzipBomb':
      return { verdict: byStatus(fault.code), ends: true }
    case 'headersOnly':
    case 'slowBody':
      return { verdict: byStatus(fault.code), ends: false }
    case 'silence':
    case 'early':
      return { verdict: undefined, ends: false }
    case 'redirect':
      return { verdict: 'Refused', ends: true }
    case 'reset':
    case 'hangUp':
    case 'refuse':
    case 'garbage':
    case 'hugeHeader':
      return { verdict: 'Retryable', ends: true }
  }
}

const code = fc.constantFrom(200, 201, 299, 400, 404, 408, 410, 425, 429, 499, 500, 503, 599)
const after = fc.constantFrom(0, 0, 1, 5)
const fault: fc.Arbitrary<Fault> = fc.oneof(
  { arbitrary: fc.record({ do: fc.constant('status'), code, after }), weight: 4 },
  fc.record({ do: fc.constant('headersOnly'), code }),
  fc.record({ do: fc.constant('slowBody'), code, bytesPerSecond: fc.constantFrom(100, 1_000) }),
  fc.record({ do: fc.constant('truncate'), code, at: fc.integer({ min: 0, max: 999 }) }),
  fc.record({ do: fc.constant('hugeBody'), code, bytes: fc.constantFrom(16_384, 16_385, 1_000_000_000) }),
  fc.record({ do: fc.constant('gzipBomb'), code }),
  fc.record({
    do: fc.constant('redirect'),
    to: fc.constantFrom('self', 'other'),
    code: fc.constantFrom(301, 302, 307),
  }),
  fc.record({ do: fc.constant('reset'), after }),
  {
    arbitrary: fc.constantFrom<Fault>(
      { do: 'silence' },
      { do: 'early' },
      { do: 'hangUp' },
      { do: 'garbage' },
      { do: 'hugeHeader' },
    ),
    weight: 4,
  },
)

const classOf = (verdict: Verdict): string => (verdict._tag === 'Right' ? 'Right' : verdict.left._tag)

let receiver: Receiver
const scripts = new Map<string, Fault[]>()

beforeAll(async () => {
  receiver = await loopbackReceiver(({ path }) => scripts.get(path)?.shift() ?? healthy)
})
afterAll(() => receiver.close())

let sinks = 0

/** One sink, one script, one delivery for each of its faults; the last is for a receiver that is well again. */
const play = async (script: ReadonlyArray<Fault>): Promise<ReadonlyArray<Seen>> => {
  const path = `/${String(sinks++)}`
  scripts.set(path, [...script])
  const sink = webhook(new URL(path, receiver.url).href)
  const seen: Seen[] = []
  for (const each of [...script, healthy]) {
    const { ends, verdict } = expected(each)
    const before = receiver.received.length
    const silent = async (): Promise<void> => {
      await until(() => receiver.received.slice(before).some((one) => one.path === path))
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    const cut = verdict === undefined ? silent() : 'after the verdict'
    seen.push(await deliverOnce(sink, payloadOf('{}'), ends ? {} : { cut }))
  }
  await sink.close(0)()
  scripts.delete(path)
  return seen
}

describe('a webhook, whatever the receiver does', () => {
  it('has exactly one verdict, of the right class, and leaves nothing open', async () => {
    const kinds = new Map<string, number>()
    const group = fc.array(fc.array(fault, { minLength: 1, maxLength: 3 }), {
      minLength: 10,
      maxLength: 10,
      size: 'max',
    })
    await fc.assert(
      fc.asyncProperty(group, async (group) => {
        const all = await Promise.all(group.map(play))
        group.forEach((script, at) => {
          const steps = [...script, healthy]
          for (const each of script) kinds.set(each.do, (kinds.get(each.do) ?? 0) + 1)
          expect(all[at]?.map(({ verdicts, end }) => ({ classes: verdicts.map(classOf), end }))).toEqual(
            steps.map((each) => {
              const { verdict, ends } = expected(each)
              return { classes: verdict === undefined ? [] : [verdict], end: ends ? 'complete' : 'cancelled' }
            }),
          )
        })
        await until(() => receiver.connections() === 0)
      }),
      // A hundred groups of ten: a thousand scripts, ten at a time.
      { numRuns: 100, endOnFailure: true },
    )
    await until(() => socketsOpen() === 0)
    expect(kinds.size).toBe(13)
    for (const count of kinds.values()) expect(count).toBeGreaterThan(40)
  }, 180_000)
})
