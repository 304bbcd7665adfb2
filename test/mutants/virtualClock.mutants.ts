import { virtualClock } from '../../src/testing/virtualClock.ts'
import { virtualClockLaws, type MakeClock } from '../laws/virtualClock.laws.ts'
import { altering, itCatches } from '../support/mutants.ts'

const changed = altering((start: number) => virtualClock({ start }))

itCatches<MakeClock>('virtualClock', virtualClockLaws, {
  'C1: a cancel does nothing': changed((clock) => ({
    schedule: (delay, task) => (clock.schedule(delay, task), () => undefined),
  })),
  'C2: pending counts cancelled timers': changed((clock) => {
    let cancelled = 0
    const schedule: typeof clock.schedule = (delay, task) => {
      const cancel = clock.schedule(delay, task)
      return () => {
        cancelled++
        cancel()
      }
    }
    return { schedule, pending: () => clock.pending() + cancelled }
  }),
  'C3: the wall clock does not shift': changed(() => ({ wall: () => undefined })),
  'C4: advance moves by one millisecond less': changed((clock) => ({
    advance: (ms) => clock.advance(Math.max(0, ms - 1)),
  })),
  'C5: advance runs no promise job between timers': changed((clock) => ({
    advance: async (ms) => clock.tick(ms),
  })),
  'C6: runAll runs only what is due now': changed((clock) => ({ runAll: () => clock.advance(0) })),
})
