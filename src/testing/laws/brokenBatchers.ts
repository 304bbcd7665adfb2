import { right } from 'fp-ts/lib/Either.js'
import { EMPTY, NEVER, catchError, concat, filter, map, mergeMap, of } from 'rxjs'
import { systemClock } from '../../core/clock.ts'
import type { Clock } from '../../core/clock.ts'
import type { ObservableEither } from '../../core/outcome.ts'
import type { BatchPayload, Payload } from '../../event/payload.ts'
import { batch, type BatchOptions } from '../../operators/batch.ts'
import type { Batcher } from './batchWorld.ts'
import { brokenVersions } from './law.ts'

/** Other options than those that were asked for. */
const asked =
  (change: (options: BatchOptions, clock: Clock) => BatchOptions): Batcher =>
  (options = {}) =>
    batch({ ...options, ...change(options, options.clock ?? systemClock) })

/** Each batch is changed on its way out. */
const changed =
  (change: <A>(out: BatchPayload<A>) => BatchPayload<A>): Batcher =>
  (options) =>
  <L, A>(source: ObservableEither<L, Payload<A>>) =>
    source.pipe(
      batch(options),
      map((each) => (each._tag === 'Right' ? right(change(each.right)) : each)),
    )

/** Batchers with one fault each. */
export const brokenBatchers = brokenVersions<Batcher>()({
  'puts items in the wrong order': {
    breaks: 'batch/nothing-lost',
    make: changed((out) => ({ ...out, items: [...out.items].reverse() })),
  },
  'hands nothing back at an unsubscription': {
    breaks: 'batch/nothing-stays-behind',
    make: asked(() => ({ abandoned: () => undefined })),
  },
  'loses the rest on completion': {
    breaks: 'batch/nothing-stays-behind',
    make: (options) => (source) => concat(source, NEVER).pipe(batch(options)),
  },
  'counts no commas': {
    breaks: 'batch/size-is-exact',
    make: changed((out) => ({ ...out, byteLength: out.byteLength - (out.members.length - 1) })),
  },
  'takes one byte too many': {
    breaks: 'batch/size-is-exact',
    make: asked(({ maxBytes = 500_000 }) => ({ maxBytes: maxBytes + 1 })),
  },
  'gives every batch the same id': {
    breaks: 'batch/size-is-exact',
    make: asked(() => ({ newId: () => 'id' })),
  },
  'waits for one item more than it may take': {
    breaks: 'batch/no-needless-wait',
    make: asked(({ maxCount = 20 }) => ({ maxCount: maxCount + 1 })),
  },
  'has no timer': { breaks: 'batch/no-needless-wait', make: asked(() => ({ maxDelay: Infinity })) },
  'closes a little too soon': {
    breaks: 'batch/closes-for-its-cause',
    make: asked(({ maxDelay = 5_000 }) => ({ maxDelay: Math.max(1, maxDelay - 1) })),
  },
  'completes in the place of an error': {
    breaks: 'batch/ends-once',
    make: (options) => (source) =>
      source.pipe(
        batch(options),
        catchError(() => EMPTY),
      ),
  },
  'leaves its timer behind': {
    breaks: 'batch/one-timer',
    make: asked((_, clock) => ({
      clock: {
        ...clock,
        schedule: (ms, task) => {
          clock.schedule(ms, task)
          return () => undefined
        },
      },
    })),
  },
  'measures by the wall clock': {
    breaks: 'batch/wall-clock-is-free',
    make: asked((_, clock) => ({ clock: { ...clock, monotonic: clock.now } })),
  },
  'emits within an emission': {
    breaks: 'batch/no-emission-within-another',
    make: (options) => (source) => source.pipe(mergeMap((each) => of(each).pipe(batch(options)))),
  },
  'drops what has ended already': {
    breaks: 'batch/passes-what-fits-no-batch',
    make: (options) => (source) =>
      source.pipe(
        batch(options),
        filter((each) => each._tag === 'Right' || typeof each.left !== 'string'),
      ),
  },
})
