import { take, takeLast, type Observable } from 'rxjs'
import type { Verdict } from '../../core/failure.ts'
import { failover, firstSuccess, toAll } from '../../sink/combine.ts'
import type { Attempt, Sink } from '../../sink/sink.ts'
import type { MakeCombination } from './combinatorLaws.ts'
import type { Broken } from './law.ts'

const first: MakeCombination = (sinks, clock) => firstSuccess(sinks, { clock })
const inTurn: MakeCombination = (sinks, clock) => failover(sinks, { clock })
const all: MakeCombination = (sinks, clock) => toAll(sinks, { clock })

const changed =
  (make: MakeCombination, change: (sink: Sink<string>) => Partial<Sink<string>>): MakeCombination =>
  (sinks, clock) => {
    const { name, deliver, close } = make(sinks, clock)
    return { name, deliver, close, ...change({ name, deliver, close }) }
  }

const attempting = (make: MakeCombination, change: (attempt: Attempt) => Attempt): MakeCombination =>
  changed(make, ({ deliver }) => ({ deliver: (item, attempt) => deliver(item, change(attempt)) }))

const telling = (
  make: MakeCombination,
  change: (delivery: Observable<Verdict>) => Observable<Verdict>,
): MakeCombination =>
  changed(make, ({ deliver }) => ({ deliver: (item, attempt) => change(deliver(item, attempt)) }))

type BrokenCombinations = Readonly<Record<string, Broken<MakeCombination>>>

/** Faults that each combination may have. */
const faultsOf = (room: string, make: MakeCombination): BrokenCombinations => ({
  [`as ${room}, forgets what failed before`]: {
    breaks: `${room}/asks`,
    make: attempting(make, (attempt) => ({ ...attempt, lastFailure: undefined })),
  },
  [`as ${room}, tells its verdict at the end`]: {
    breaks: `${room}/verdict`,
    make: telling(make, (delivery) => delivery.pipe(takeLast(1))),
  },
  [`as ${room}, aborts the others at its verdict`]: {
    breaks: `${room}/completes`,
    make: telling(make, (delivery) => delivery.pipe(take(1))),
  },
  [`as ${room}, does not close its sinks`]: {
    breaks: `${room}/closes`,
    make: changed(make, () => ({ close: () => () => Promise.resolve() })),
  },
})

/** Combinations with one fault each. */
export const brokenCombinators: BrokenCombinations = {
  ...faultsOf('first-success', first),
  ...faultsOf('failover', inTurn),
  ...faultsOf('to-all', all),
  'as first-success, asks in turn': { breaks: 'first-success/asks', make: inTurn },
  'as failover, asks all at the same time': { breaks: 'failover/asks', make: first },
  'as failover, knows no deadline': {
    breaks: 'failover/asks',
    make: attempting(inTurn, (attempt) => ({ ...attempt, until: Infinity })),
  },
  'as failover, does not obey Retry-After': {
    breaks: 'failover/asks',
    make: (sinks, clock) => inTurn(sinks, { ...clock, now: () => clock.now() + 1_000_000 }),
  },
  'as to-all, is content with one success': { breaks: 'to-all/verdict', make: first },
}
