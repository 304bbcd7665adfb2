import { virtualClock, type VirtualClock } from '../../src/testing/virtualClock.ts'
import { virtualClockLaws, type MakeClock } from '../laws/virtualClock.laws.ts'
import { itCatches } from '../support/mutants.ts'

/** The real clock with one fault. */
const changed =
  (change: (clock: VirtualClock) => Partial<VirtualClock>): MakeClock =>
  (start) => {
    const clock = virtualClock({ start })
    return { ...clock, ...change(clock) }
  }

itCatches<MakeClock>('virtualClock', virtualClockLaws, {
  'a cancel does nothing': [
    'C1',
    changed((clock) => ({
      schedule: (delay, task) => {
        clock.schedule(delay, task)
        return () => undefined
      },
    })),
  ],
  'pending counts cancelled timers': [
    'C2',
    changed((clock) => {
      let cancelled = 0
      return {
        schedule: (delay, task) => {
          const cancel = clock.schedule(delay, task)
          return () => {
            cancelled++
            cancel()
          }
        },
        pending: () => clock.pending() + cancelled,
      }
    }),
  ],
  'the wall clock does not shift': ['C3', changed(() => ({ wall: () => undefined }))],
  'advance moves by one millisecond less': [
    'C4',
    changed((clock) => ({ advance: (ms) => clock.advance(Math.max(0, ms - 1)) })),
  ],
  'advance runs no promise job between timers': [
    'C5',
    changed((clock) => ({
      advance: (ms) => {
        clock.tick(ms)
        return Promise.resolve()
      },
    })),
  ],
  'runAll runs only what is due now': ['C6', changed((clock) => ({ runAll: () => clock.advance(0) }))],
})
