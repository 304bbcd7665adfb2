import { take, takeLast, type Observable } from 'rxjs'
import type { Verdict } from '../../core/failure.ts'
import { failover, firstSuccess, toAll } from '../../sink/combine.ts'
import { clockOf } from '../../sink/sink.ts'
import type { Attempt } from '../../sink/sink.ts'
import { withDelivery } from './brokenSinks.ts'
import type { MakeCombination } from './combinatorLaws.ts'
import type { Broken } from './law.ts'

const first: MakeCombination = (sinks) => firstSuccess(sinks)
const inTurn: MakeCombination = (sinks) => failover(sinks)
const all: MakeCombination = (sinks) => toAll(sinks)

const attempting =
  (make: MakeCombination, change: (attempt: Attempt) => Partial<Attempt>): MakeCombination =>
  (sinks) => {
    const { name, deliver, close } = make(sinks)
    return { name, deliver: (item, attempt) => deliver(item, { ...attempt, ...change(attempt) }), close }
  }

const telling =
  (make: MakeCombination, change: (delivery: Observable<Verdict>) => Observable<Verdict>): MakeCombination =>
  (sinks) =>
    withDelivery(make(sinks), change)

type BrokenCombinations = Readonly<Record<string, Broken<MakeCombination>>>

/** Faults that each combination may have. */
const faultsOf = (room: string, make: MakeCombination): BrokenCombinations => ({
  [`as ${room}, forgets what failed before`]: {
    breaks: `${room}/asks`,
    make: attempting(make, () => ({ lastFailure: undefined })),
  },
  [`as ${room}, tells its verdict at the end`]: {
    breaks: `${room}/verdict`,
    make: telling(make, takeLast(1)),
  },
  [`as ${room}, aborts the others at its verdict`]: {
    breaks: `${room}/completes`,
    make: telling(make, take(1)),
  },
  [`as ${room}, does not close its sinks`]: {
    breaks: `${room}/closes`,
    make: (sinks) => ({ ...make(sinks), close: () => Promise.resolve() }),
  },
})

/** Combinations with one fault each. */
export const brokenCombinators: BrokenCombinations = {
  ...faultsOf('first-success', first),
  ...faultsOf('failover', inTurn),
  ...faultsOf('to-all', all),
  'as first-success, asks in turn': { breaks: 'first-success/asks', make: inTurn },
  'as first-success, does not obey Retry-After': {
    breaks: 'first-success/asks',
    make: attempting(first, (attempt) => {
      const clock = clockOf(attempt)
      return { clock: { ...clock, now: () => clock.now() + 1_000_000 } }
    }),
  },
  'as failover, asks all at the same time': { breaks: 'failover/asks', make: first },
  'as failover, knows no deadline': {
    breaks: 'failover/asks',
    make: attempting(inTurn, () => ({ until: Infinity })),
  },
  'as to-all, is content with one success': { breaks: 'to-all/verdict', make: first },
}
