import * as fc from 'fast-check'
import { describe, expect, expectTypeOf, it } from 'vitest'
import type { Verdict } from '../../src/core/failure.ts'
import { onlyAttempt } from '../../src/sink/sink.ts'
import { memory } from '../../src/sink/memory.ts'
import type { MemorySink } from '../../src/sink/memory.ts'
import { virtualClock } from '../../src/testing/virtualClock.ts'
import { sinkLaws } from '../laws/sink.ts'

describe('memory', () => {
  const open = (limit: number) => {
    const sink = memory<number>({ limit })
    const clock = virtualClock()
    return {
      sink,
      started: () => sink.items().length,
      running: () => 0,
      pass: (ms: number) => clock.advance(ms),
      settle: () => clock.settle(),
    }
  }

  it.each(sinkLaws({ worlds: fc.integer({ min: 1_000, max: 2_000 }), open }))(
    'keeps: $id',
    async ({ property }) => {
      await fc.assert(property, { numRuns: 1_000 })
    },
  )

  it('keeps what it is given, in order, up to its limit', () => {
    const sink = memory<string>({ name: 'kept', limit: 2 })
    const verdicts: Verdict[] = []
    for (const item of ['a', 'b', 'c'])
      sink.deliver(item, onlyAttempt).subscribe((verdict) => verdicts.push(verdict))
    expect(verdicts).toEqual([
      { _tag: 'Right', right: { sink: 'kept' } },
      { _tag: 'Right', right: { sink: 'kept' } },
      { _tag: 'Left', left: { _tag: 'Refused', reason: 'full', detail: 'it keeps 2 items at most' } },
    ])
    expect(sink.items()).toEqual(['a', 'b'])
  })

  it('gives a copy of its items, also after a close', async () => {
    const sink = memory<string>()
    const before = sink.items()
    sink.deliver('a', onlyAttempt).subscribe()
    await sink.close(1)()
    expect([before, sink.items(), sink.name]).toEqual([[], ['a'], 'memory'])
  })

  it('refuses a limit that is none, and is typed', () => {
    expect(() => memory({ limit: 0 })).toThrow(RangeError)
    expectTypeOf(memory<string>()).toEqualTypeOf<MemorySink<string>>()
  })
})
