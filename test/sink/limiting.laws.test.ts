import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { withConcurrency } from '../../src/sink/concurrency.ts'
import { limitingLaws } from '../laws/limiting.ts'
import type { MakeLimiting, Trace } from '../laws/limitingWorld.ts'
import { limitingMutants, plainLimiting } from '../mutants/limiting.ts'

const published: MakeLimiting = (inner, { concurrency, queue, by }, clock) => ({
  sink:
    by === undefined
      ? withConcurrency({ concurrency, queue, clock })(inner)
      : withConcurrency({ concurrency, queue, by, clock })(inner),
  lanes: undefined,
})

const verdicts = (trace: Trace, said: string): Trace['seen'] =>
  trace.seen.filter((one) => one.heard.includes(said))

describe.each([{ name: 'limiting', make: published }])('$name:', ({ make }) => {
  const reached = {
    deliveries: 0,
    full: 0,
    late: 0,
    lateAtTheMoment: 0,
    startedJustInTime: 0,
    waited: 0,
    cancelled: 0,
  }
  const count = (trace: Trace): void => {
    reached.deliveries += trace.seen.length
    reached.full += verdicts(trace, 'laneFull').length
    const late = verdicts(trace, 'late')
    reached.late += late.length
    reached.lateAtTheMoment += late.filter((one) => one.verdictAt === one.until && !one.atOnce).length
    reached.startedJustInTime += trace.seen.filter((one) => one.startedAt === one.until - 1).length
    reached.waited += trace.samples.filter((sample) => sample.waiting > 0).length
    reached.cancelled += trace.seen.filter((one) => one.cancelledAt !== undefined).length
  }

  for (const { id, property, runs } of limitingLaws(make, count)) {
    test(id, async () => {
      await fc.assert(property, { numRuns: runs })
    })
  }

  test('the worlds reached the bounds', () => {
    expect(reached.deliveries).toBeGreaterThan(50_000)
    for (const [what, times] of Object.entries(reached)) expect(times, what).toBeGreaterThan(500)
  })
})

describe('the laws', () => {
  test('hold for a second, plain implementation', async () => {
    for (const { id, property, runs } of limitingLaws(plainLimiting)) {
      expect((await fc.check(property, { numRuns: runs })).failed, id).toBe(false)
    }
  })

  test.each(limitingMutants)('kill a lane that $name', async ({ make }) => {
    let killer: string | undefined
    for (const { id, property, runs } of limitingLaws(make)) {
      if (killer !== undefined) break
      if ((await fc.check(property, { numRuns: runs, endOnFailure: true })).failed) killer = id
    }
    expect(killer).toBeDefined()
  })
})
