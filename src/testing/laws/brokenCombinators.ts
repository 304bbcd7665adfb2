import { take, takeLast, type Observable } from 'rxjs'
import type { Verdict } from '../../core/failure.ts'
import { failover, firstSuccess, toAll } from '../../sink/combine.ts'
import type { Attempt } from '../../sink/sink.ts'
import { withDelivery } from './brokenSinks.ts'
import type { MakeCombination } from './combinatorLaws.ts'
import type { Broken } from './law.ts'

const first: MakeCombination = (sinks, clock) => firstSuccess(sinks, { clock })
const inTurn: MakeCombination = (sinks, clock) => failover(sinks, { clock })
const all: MakeCombination = (sinks, clock) => toAll(sinks, { clock })

const attempting =
  (make: MakeCombination, change: Partial<Attempt>): MakeCombination =>
  (sinks, clock) => {
    const { name, deliver, close } = make(sinks, clock)
    return { name, deliver: (item, attempt) => deliver(item, { ...attempt, ...change }), close }
  }

const telling =
  (make: MakeCombination, change: (delivery: Observable<Verdict>) => Observable<Verdict>): MakeCombination =>
  (sinks, clock) =>
    withDelivery(make(sinks, clock), change)

type BrokenCombinations = Readonly<Record<string, Broken<MakeCombination>>>

/** Faults that each combination may have. */
const faultsOf = (room: string, make: MakeCombination): BrokenCombinations => ({
  [`as ${room}, forgets what failed before`]: {
    breaks: `${room}/asks`,
    make: attempting(make, { lastFailure: undefined }),
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
    make: (sinks, clock) => ({ ...make(sinks, clock), close: () => Promise.resolve() }),
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
    make: (sinks, clock) => first(sinks, { ...clock, now: () => clock.now() + 1_000_000 }),
  },
  'as failover, asks all at the same time': { breaks: 'failover/asks', make: first },
  'as failover, knows no deadline': {
    breaks: 'failover/asks',
    make: attempting(inTurn, { until: Infinity }),
  },
  'as to-all, is content with one success': { breaks: 'to-all/verdict', make: first },
}
