import { left, right } from 'fp-ts/lib/Either.js'
import { Observable } from 'rxjs'
import { describe, expect, it } from 'vitest'
import { firstSuccess } from '../../../src/sink/firstSuccess.ts'
import { retryable } from '../../../src/core/failure.ts'
import type { Verdict } from '../../../src/core/failure.ts'
import { deliveries } from '../../../src/outbox/deliveries.ts'
import type { Deliveries } from '../../../src/outbox/deliveries.ts'
import { fromRun } from '../../../src/sink/layer.ts'
import type { Receiver } from '../../../src/sink/layer.ts'
import type { Sink } from '../../../src/sink/sink.ts'
import type { Entry } from '../../../src/outbox/outbox.ts'
import { scriptedSink } from '../../../src/testing/scriptedSink.ts'
import { virtualClock } from '../../../src/testing/virtualClock.ts'

const yes: Verdict = right({ sink: 's' })
const nothing = () => () => Promise.resolve()
const entry = (item: string): Entry<string> => ({
  id: item,
  item,
  firstAttemptAt: undefined,
  progress: undefined,
})

const watched = (sink: Sink<string>, onSettled?: (work: Deliveries<string>, item: string) => void) => {
  const log: string[] = []
  const verdicts: Verdict[] = []
  const work: Deliveries<string> = deliveries(sink, {
    settled: ({ item }, _, verdict) => {
      log.push(`settled ${item}`)
      verdicts.push(verdict)
      onSettled?.(work, item)
    },
    rested: () => log.push('rested'),
    defect: (where) => log.push(`defect in ${where}`),
  })
  const start = (item: string): void => {
    work.start(entry(item), 0, Infinity)
  }
  return { work, log, verdicts, start }
}

describe('rounds', () => {
  it('cancels the siblings of a sink that answers at once, when it is cancelled by that very answer', () => {
    const clock = virtualClock()
    const quick = scriptedSink<string>({ name: 'quick', clock, reply: () => ({ verdict: yes }) })
    const slow = scriptedSink<string>({ name: 'slow', clock, reply: () => ({ verdict: yes, after: 1_000 }) })
    const { start, log, work } = watched(firstSuccess([quick, slow], { clock }), (self) => self.cancelAll())
    start('a')
    expect([log, slow.running(), clock.pending(), work.running()]).toEqual([['settled a'], 0, 0, 0])
  })

  it('does not listen to one that speaks because another is cancelled', () => {
    const receivers: Receiver[] = []
    const entangled = fromRun<string>(
      's',
      (_, __, receiver) => {
        receivers.push(receiver)
        return () => {
          for (const each of receivers) each.next(yes)
        }
      },
      nothing,
    )
    const { start, log, work } = watched(entangled)
    start('a')
    start('b')
    expect(work.cancelAll().map(({ item }) => item)).toEqual(['a', 'b'])
    expect([log, work.inFlight()]).toEqual([[], 0])
  })

  it('cancels the others when a cancel throws', () => {
    let cancelled = 0
    const sour: Sink<string> = {
      name: 'sour',
      deliver: () =>
        new Observable(() => () => {
          cancelled++
          throw new Error('no')
        }),
      close: nothing,
    }
    const { start, work } = watched(sour)
    start('a')
    start('b')
    expect(work.cancelAll()).toHaveLength(2)
    expect(cancelled).toBe(2)
  })

  it('a run that throws is a defect of that entry alone', () => {
    const sour = fromRun<string>(
      'sour',
      () => {
        throw new Error('no')
      },
      nothing,
    )
    const { start, log, verdicts, work } = watched(sour)
    start('a')
    expect(log).toEqual(['defect in sour', 'settled a', 'rested'])
    expect(verdicts).toEqual([left(retryable('defect', { detail: 'no' }))])
    expect([work.inFlight(), work.running()]).toEqual([0, 0])
  })
})
