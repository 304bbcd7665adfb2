import * as E from 'fp-ts/lib/Either.js'
import * as R from 'fp-ts/lib/Record.js'
import { EMPTY, NEVER, catchError, concat, filter, map, mergeMap, of } from 'rxjs'
import { systemClock } from '../../core/clock.ts'
import type { Clock } from '../../core/clock.ts'
import type { BatchPayload } from '../../event/payload.ts'
import { batch, type BatchOptions } from '../../operators/batch.ts'
import type { Batcher } from './batchWorld.ts'

/** Other options than those that were asked for. */
const asking =
  (change: (options: BatchOptions, clock: Clock) => BatchOptions): Batcher =>
  (options = {}) =>
    batch({ ...options, ...change(options, options.clock ?? systemClock) })

/** Each batch is changed on its way out. */
const changing =
  (change: <A>(out: BatchPayload<A>) => BatchPayload<A>): Batcher =>
  (options) =>
  (source) =>
    source.pipe(batch(options), map(E.map(change)))

const oneByteMore = asking(({ maxBytes = 500_000 }) => ({ maxBytes: maxBytes + 1 }))

/** Faults that this law finds. */
const breaks = <Name extends string>(law: string, faults: Readonly<Record<Name, Batcher>>) =>
  R.map((make: Batcher) => ({ breaks: `batch/${law}`, make }))(faults)

/** Batchers with one fault each. */
export const brokenBatchers = {
  ...breaks('nothing-lost', {
    'puts items in the wrong order': changing((out) => ({ ...out, items: [...out.items].reverse() })),
  }),
  ...breaks('nothing-stays-behind', {
    'hands nothing back at an unsubscription': asking(() => ({ abandoned: () => undefined })),
    'loses the rest on completion': (options) => (source) => concat(source, NEVER).pipe(batch(options)),
  }),
  ...breaks('size-is-exact', {
    'counts no commas': changing((out) => ({ ...out, byteLength: out.byteLength - out.members.length + 1 })),
    'takes one byte too many': oneByteMore,
    'gives every batch the same id': asking(() => ({ newId: () => 'id' })),
  }),
  ...breaks('no-needless-wait', {
    'waits for one item more than it may take': asking(({ maxCount = 20 }) => ({ maxCount: maxCount + 1 })),
    'has no timer': asking(() => ({ maxDelay: Infinity })),
  }),
  ...breaks('closes-for-its-cause', {
    'closes a little too soon': asking(({ maxDelay = 5_000 }) => ({ maxDelay: maxDelay - 1 })),
    'ignores delayFrom': asking(() => ({ delayFrom: 'firstItem' })),
  }),
  ...breaks('ends-once', {
    'completes in the place of an error': (options) => (source) =>
      batch(options)(source.pipe(catchError(() => EMPTY))),
  }),
  ...breaks('one-timer', {
    'leaves its timer behind': asking((_, clock) => {
      const schedule: Clock['schedule'] = (ms, task) => {
        clock.schedule(ms, task)
        return () => undefined
      }
      return { clock: { ...clock, schedule } }
    }),
  }),
  ...breaks('wall-clock-is-free', {
    'measures by the wall clock': asking((_, clock) => ({ clock: { ...clock, monotonic: clock.now } })),
  }),
  ...breaks('no-emission-within-another', {
    'emits within an emission': (options) => (source) =>
      source.pipe(mergeMap((each) => of(each).pipe(batch(options)))),
  }),
  ...breaks('passes-what-fits-no-batch', {
    'lets a member pass that is too large by one byte': oneByteMore,
    'drops what has ended already': (options) => (source) => batch(options)(source.pipe(filter(E.isRight))),
  }),
}
