import { isRight } from 'fp-ts/lib/Either.js'
import { constVoid, flow } from 'fp-ts/lib/function.js'
import { map } from 'fp-ts/lib/Record.js'
import { EMPTY, NEVER, catchError, concat, filter, mergeMap, of, skip } from 'rxjs'
import { systemClock, type Clock } from '../../core/clock.ts'
import { batch, type BatchOptions, type KeyedBatchOptions } from '../../operators/batch.ts'
import type { ObservableEither } from '../../core/outcome.ts'
import type { Frame, Payload } from '../../event/payload.ts'
import type { Batcher } from './batchWorld.ts'

/** Other options than those that were asked for. */
const asking =
  (change: (options: Omit<BatchOptions, 'by'>, clock: Clock) => Omit<BatchOptions, 'by'>): Batcher =>
  (options) =>
    batch({ ...options, ...change(options, options.clock ?? systemClock) })

/** Another source than the one that was given. */
const over =
  (change: <L, A>(source: ObservableEither<L, A>) => ObservableEither<L, A>): Batcher =>
  <A>(options: KeyedBatchOptions<Frame, A>) =>
  <L>(source: ObservableEither<L, Payload<A>>) =>
    batch(options)(change(source))

const oneByteMore = asking(({ maxBytes = 500_000 }) => ({ maxBytes: maxBytes + 1 }))

/** Faults that this law finds. */
const breaks = <Name extends string>(law: string, faults: Readonly<Record<Name, Batcher>>) =>
  map((make: Batcher) => ({ breaks: `batch/${law}`, make }))(faults)

/** Batchers with one fault each. */
export const brokenBatchers = {
  ...breaks('nothing-lost', {
    'loses the first item': over((source) => source.pipe(skip(1))),
  }),
  ...breaks('nothing-stays-behind', {
    'hands nothing back at an unsubscription': asking(() => ({ abandoned: () => undefined })),
    'loses the rest on completion': over((source) => concat(source, NEVER)),
  }),
  ...breaks('size-is-exact', {
    'leaves out the frame': asking(() => ({ frame: { prefix: '', suffix: '' } })),
    'takes one byte too many': oneByteMore,
    'gives every batch the same id': asking(() => ({ newId: () => 'id' })),
  }),
  ...breaks('no-needless-wait', {
    'waits for one item more than it may take': asking(({ maxCount = 20 }) => ({ maxCount: maxCount + 1 })),
    'has no timer': asking(() => ({ maxDelay: Infinity })),
  }),
  ...breaks('closes-for-its-cause', {
    'closes a little too soon': asking(({ maxDelay = 5_000 }) => ({ maxDelay: maxDelay - 1 })),
    'closes for a key that may be open': asking(({ maxKeys = 2 }) => ({ maxKeys: Math.max(1, maxKeys - 1) })),
    'ignores delayFrom': asking(() => ({ delayFrom: 'firstItem' })),
  }),
  ...breaks('one-key', {
    'takes all keys for one': (options) => batch({ ...options, by: () => 'one' }),
    'opens one key too many': asking(({ maxKeys = 1_000 }) => ({ maxKeys: maxKeys + 1 })),
  }),
  ...breaks('ends-once', {
    'completes in the place of an error': over((source) => source.pipe(catchError(() => EMPTY))),
  }),
  ...breaks('one-timer', {
    'leaves its timer behind': asking((_, clock) => ({
      clock: { ...clock, schedule: flow(clock.schedule, () => constVoid) },
    })),
  }),
  ...breaks('wall-clock-is-free', {
    'measures by the wall clock': asking((_, clock) => ({ clock: { ...clock, monotonic: clock.now } })),
  }),
  ...breaks('no-emission-within-another', {
    'emits within an emission':
      <A>(options: KeyedBatchOptions<Frame, A>) =>
      <L>(source: ObservableEither<L, Payload<A>>) =>
        source.pipe(mergeMap((each) => batch(options)(of(each)))),
  }),
  ...breaks('passes-what-fits-no-batch', {
    'lets a member pass that is too large by one byte': oneByteMore,
    'drops what has ended already': over((source) => source.pipe(filter(isRight))),
  }),
}
